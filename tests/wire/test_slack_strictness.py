"""The stand-in is as strict with buttons, forms, states and files as it is with messages."""

import aiohttp
import pytest
from slack_sdk.errors import SlackApiError
from slack_sdk.web.async_client import AsyncWebClient

from channels.rehearsal.slack import RehearsalSlack
from channels.rehearsal.slack_remote import RemoteSlack, spawn_slack
from channels.rehearsal.slack_state import Posted


def client_of(slack: RehearsalSlack) -> AsyncWebClient:
    return AsyncWebClient(slack.bot_token, base_url=slack.base_url, retry_handlers=[])


def plain(text: str) -> dict[str, object]:
    return {"type": "plain_text", "text": text}


def button(**fields: object) -> dict[str, object]:
    return {"type": "button", "action_id": "press:a", "text": plain("Yes"), **fields}


def actions(*elements: dict[str, object]) -> dict[str, object]:
    return {"type": "actions", "elements": list(elements)}


def task(**fields: object) -> dict[str, object]:
    return {"type": "task_card", "task_id": "1", "title": "t", "status": "complete", **fields}


REFUSED_BLOCKS = {
    "no buttons": actions(),
    "26 buttons": actions(*[button(action_id=f"press:{n}") for n in range(26)]),
    "one action id twice": actions(button(), button()),
    "an action id of 256": actions(button(action_id="x" * 256)),
    "no action id": actions(button(action_id="")),
    "a label of 76": actions(button(text=plain("x" * 76))),
    "a label in mrkdwn": actions(button(text={"type": "mrkdwn", "text": "x"})),
    "a style of ours": actions(button(style="plain")),
    "an empty value": actions(button(value="")),
    "a value of 2,001": actions(button(value="x" * 2_001)),
    "an input in a message": {"type": "input", "label": plain("x"), "element": {}},
    "a plan without a title": {"type": "plan", "tasks": [task()]},
    "a task in an unknown state": {"type": "plan", "title": "t", "tasks": [task(status="done")]},
    "one task id twice": {"type": "plan", "title": "t", "tasks": [task(), task()]},
    "11 fields": {"type": "section", "fields": [plain("x")] * 11},
    "a header in mrkdwn": {"type": "header", "text": {"type": "mrkdwn", "text": "x"}},
}


@pytest.mark.foreign_requests
@pytest.mark.parametrize("block", REFUSED_BLOCKS.values(), ids=REFUSED_BLOCKS.keys())
async def test_block_is_refused(block: dict[str, object]) -> None:
    async with RehearsalSlack() as slack:
        with pytest.raises(SlackApiError) as raised:
            await client_of(slack).chat_postMessage(channel="C0GENERAL", text="x", blocks=[block])

        assert raised.value.response["error"] == "invalid_blocks"


async def pressed(slack: RehearsalSlack) -> str:
    """A trigger, as a press of a button gives one."""
    post = Posted("C0GENERAL", slack.workspace.next_ts(), "UBOT", "x", bot_id="BBOT")
    post.blocks = [actions(button())]  # type: ignore[list-item]
    slack.workspace.add_post(post)
    envelope = await slack.press("C0GENERAL", post.ts, "Yes")
    return str(envelope.payload["trigger_id"])


def form(**fields: object) -> dict[str, object]:
    element = {"type": "plain_text_input", "action_id": "words"}
    block = {"type": "input", "block_id": "b", "label": plain("Why?"), "element": element}
    shown = {"type": "modal", "title": plain("Why"), "submit": plain("Send"), "blocks": [block]}
    return {**shown, **fields}


async def test_trigger_opens_one_form_and_lives_for_three_seconds() -> None:
    async with RehearsalSlack() as slack:
        client, trigger = client_of(slack), await pressed(slack)
        assert slack.interactions.trigger_s == 3.0

        await client.views_open(trigger_id=trigger, view=form())
        with pytest.raises(SlackApiError, match="invalid_trigger_id"):
            await client.views_open(trigger_id=trigger, view=form())
        slack.interactions.trigger_s = 0.0
        late = await pressed(slack)
        with pytest.raises(SlackApiError, match="expired_trigger_id"):
            await client.views_open(trigger_id=late, view=form())

        assert len(slack.interactions.views) == 1


@pytest.mark.foreign_requests
@pytest.mark.parametrize(
    "fields",
    [
        {"title": plain("x" * 25)},
        {"submit": None},
        {"private_metadata": "x" * 3_001},
        {"type": "home"},
        {"blocks": []},
        {"blocks": [{"type": "input", "label": plain("x" * 2_001), "element": {}}]},
    ],
)
async def test_form_is_refused(fields: dict[str, object]) -> None:
    async with RehearsalSlack() as slack:
        trigger = await pressed(slack)

        with pytest.raises(SlackApiError, match="invalid_arguments"):
            await client_of(slack).views_open(trigger_id=trigger, view=form(**fields))


async def test_agent_session_takes_four_words_and_no_free_text() -> None:
    async with RehearsalSlack() as slack:
        post = await slack.say("hi")
        place = {"channel_id": "C0GENERAL", "thread_ts": post.ts}
        for word in ("processing", "active", "suspended", "closed"):
            await client_of(slack).agents_sessions_setStatus(**place, status=word)
        with pytest.raises(SlackApiError, match="invalid_arguments"):
            await client_of(slack).agents_sessions_setStatus(**place, status="is reading")
        await client_of(slack).assistant_threads_setStatus(**place, status="is reading")

        assert [call["status"] for call in slack.writes.statuses][-1] == "is reading"


async def test_response_address_answers_five_times_and_no_more() -> None:
    async with RehearsalSlack() as slack, aiohttp.ClientSession() as session:
        envelope = await slack.slash("status")
        url = str(envelope.payload["response_url"])
        statuses = []
        for _ in range(6):
            async with session.post(url, json={"text": "x"}) as response:
                statuses.append(response.status)
        async with session.post(f"{slack.origin}/actions/made-up", json={"text": "x"}) as response:
            statuses.append(response.status)

        assert statuses == [200] * 5 + [404, 404]


async def test_interaction_without_an_answer_is_delivered_once() -> None:
    async with RehearsalSlack(ack_deadline_s=0.02) as slack, aiohttp.ClientSession() as session:
        answer = await client_of(slack).apps_connections_open(app_token=slack.app_token)
        socket = await session.ws_connect(answer["url"])
        await slack.slash("status")
        await slack.wait_for(lambda: slack.hub.counters["unanswered"] == 1)

        assert slack.hub.counters["redeliveries"] == 0
        await socket.close()


async def test_upload_needs_its_announced_bytes_before_it_is_shown() -> None:
    async with RehearsalSlack() as slack, aiohttp.ClientSession() as session:
        client = client_of(slack)
        asked = await client.files_getUploadURLExternal(filename="a.txt", length=3)
        files = [{"id": asked["file_id"], "title": "a"}]
        with pytest.raises(SlackApiError, match="file_not_found"):
            await client.files_completeUploadExternal(files=files, channel_id="C0GENERAL")
        async with session.post(asked["upload_url"], data=b"four") as response:
            assert response.status == 400
        async with session.post(asked["upload_url"], data=b"abc") as response:
            assert response.status == 200
        await client.files_completeUploadExternal(files=files, channel_id="C0GENERAL")
        with pytest.raises(SlackApiError, match="file_already_shared"):
            await client.files_completeUploadExternal(files=files, channel_id="C0GENERAL")

        (post,) = slack.bot_posts()
        assert post.files[0]["size"] == 3


async def test_download_without_the_token_is_the_sign_in_page() -> None:
    async with RehearsalSlack() as slack, aiohttp.ClientSession() as session:
        post = await slack.share("a.png", b"\x89PNG", media_type="image/png")
        url = str(post.files[0]["url_private_download"])
        async with session.get(url) as response:
            assert response.status == 200
            assert (await response.read()).startswith(b"<!DOCTYPE html>")
        async with session.get(url, headers={"Authorization": f"Bearer {slack.bot_token}"}) as good:
            assert await good.read() == b"\x89PNG"


async def test_people_act_over_the_control_interface_too() -> None:
    process, ready = await spawn_slack("--ack-deadline-s", "0.2")
    try:
        async with RemoteSlack(str(ready["control_url"])) as remote:
            shared = await remote.call(
                "share", name="a.txt", content="YWJj", text="look", media_type="text/plain"
            )
            slashed = await remote.call("slash", text="status")
            await remote.call("stop_session", ts=str(shared["ts"]))
            workspace = await remote.call("workspace", takes_plans=False, lacks_files_read=True)
            views = await remote.call("views")
            bot = AsyncWebClient(
                str(ready["bot_token"]), base_url=str(ready["api_url"]), retry_handlers=[]
            )
            plan = {"type": "plan", "title": "t", "tasks": [task()]}
            with pytest.raises(SlackApiError, match="invalid_blocks"):
                await bot.chat_postMessage(channel="C0GENERAL", text="x", blocks=[plan])
            messages = await remote.transcript("C0GENERAL")

        assert [message["text"] for message in messages] == ["look"]
        assert slashed == {"is_acked": False}
        assert (workspace["statuses"], views["views"]) == ([], [])
    finally:
        assert process.stdin is not None
        process.stdin.close()
        await process.wait()
