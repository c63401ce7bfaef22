"""What people do beyond writing, as the control interface spells it."""

from __future__ import annotations

import base64
from collections.abc import Awaitable, Callable

from channels.fields import int_of, is_true, text_of
from channels.rehearsal.slack_core import SlackCore
from channels.rehearsal.slack_socket import Envelope
from geode.messages import JsonObject, JsonValue

ANA, GENERAL = "U0ANA", "C0GENERAL"
ANSWER_S = 5.0


def people_verbs(slack: SlackCore) -> dict[str, Callable[[JsonObject], Awaitable[JsonObject]]]:
    """Buttons, forms, slash commands, files and the stop button."""

    async def press(asked: JsonObject) -> JsonObject:
        channel, user = text_of(asked, "channel") or GENERAL, text_of(asked, "user") or ANA
        ts, button = text_of(asked, "ts"), text_of(asked, "button")
        return await _answered(slack, await slack.press(channel, ts, button, user))

    async def submit(asked: JsonObject) -> JsonObject:
        view, words = text_of(asked, "view"), text_of(asked, "words")
        return await _answered(slack, await slack.interactions.submit(view, words))

    async def slash(asked: JsonObject) -> JsonObject:
        user = text_of(asked, "user") or ANA
        channel = text_of(asked, "channel") if "channel" in asked else GENERAL
        text = text_of(asked, "text")
        return await _answered(slack, await slack.slash(text, user=user, channel=channel))

    async def stop_session(asked: JsonObject) -> JsonObject:
        channel, user = text_of(asked, "channel") or GENERAL, text_of(asked, "user") or ANA
        await slack.stop_session(channel, text_of(asked, "ts"), user)
        return {}

    async def share(asked: JsonObject) -> JsonObject:
        more = {name: text_of(asked, name) for name in ("user", "channel", "media_type")}
        post = await slack.share(
            text_of(asked, "name"),
            base64.b64decode(text_of(asked, "content")),
            text=text_of(asked, "text"),
            thread_ts=text_of(asked, "thread_ts"),
            **{name: value for name, value in more.items() if name in asked},
        )
        return {"channel": post.channel, "ts": post.ts}

    async def views(asked: JsonObject) -> JsonObject:
        shown: list[JsonValue] = [
            {"id": v.id, "user": v.user, "view": v.view, "errors": v.errors, "is_open": v.is_open}
            for v in slack.interactions.views.values()
        ]
        return {"views": shown}

    async def workspace(asked: JsonObject) -> JsonObject:
        """What this workspace takes: plans, readable files, how soon an upload is shown."""
        if "takes_plans" in asked:
            slack.writes.takes_plans = is_true(asked, "takes_plans")
        if "lacks_files_read" in asked:
            slack.files.lacks_scope = is_true(asked, "lacks_files_read")
        slack.files.hides_shares = int_of(asked, "hides_shares", slack.files.hides_shares)
        return {"statuses": list[JsonValue](slack.writes.statuses)}

    return {
        "press": press,
        "submit": submit,
        "slash": slash,
        "stop_session": stop_session,
        "share": share,
        "views": views,
        "workspace": workspace,
    }


async def _answered(slack: SlackCore, envelope: Envelope) -> JsonObject:
    """Whether the app acknowledged it in time, and with what."""
    try:
        await slack.wait_for(lambda: envelope.is_acked, ANSWER_S)
    except TimeoutError:
        return {"is_acked": False}
    return {"is_acked": True, "answer": envelope.answer}
