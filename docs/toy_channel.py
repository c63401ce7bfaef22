"""A whole channel in one file: a small chat server, reached over HTTP with long polling."""

from typing import Any

import aiohttp

from channels.text import split_markdown
from geode import errors, messages, ports
from geode.settings import HttpUrl, SecretRef, Section
from geode.spoken import parse_command

LIMITS = ports.ChannelLimits(text_units_max=4_000, file_bytes_max=0)
MENTION, POLL_S, CALL_S, RETRY_S = "@geode", 1.0, 10.0, 0.3


class ToySettings(Section):
    """`[channels.toy]`; a secret is only ever a reference."""

    url: HttpUrl = "http://127.0.0.1:8090"
    token: SecretRef = SecretRef("env", "TOY_TOKEN")


def parse_event(event: dict[str, Any], *, is_late: bool) -> messages.Inbound:
    """What happened on the server, in the port's words."""
    seq, text, room = str(event["seq"]), event["text"], event["room"]
    person, is_direct = messages.Person(event["author"]), room.startswith("dm-")
    thread = messages.Thread("toy", "town", room, "" if is_direct else event["thread"] or seq)
    if choice := event.get("choice"):
        return messages.ButtonPress(thread, event["on"], person, choice, seq, text, is_direct)
    said, is_addressed = text.replace(MENTION, "").strip(), is_direct or MENTION in text
    shared: Any = {"thread": thread, "sender": person, "is_direct": is_direct, "dedupe_key": seq}
    shared |= {"message_id": seq, "order_key": f"{event['seq']:020}"}
    shared |= {"sent_at_us": event["at_us"], "is_catch_up": is_late}
    if command := parse_command(said, is_mention=is_addressed):
        return messages.ChatCommand(verb=command[0], argument=command[1], **shared)
    return messages.InboundMessage(text=said, is_addressed=is_addressed, **shared)


class ToyChannel(ports.Channel):
    """What it does not define (files, reactions, status lines) says that there is none."""

    name, limits = "toy", LIMITS  # pyright: ignore[reportAssignmentType, reportIncompatibleMethodOverride]

    def __init__(self, settings: ToySettings, context: ports.ChannelContext) -> None:
        self._url, self._clock = settings.url, context.clock
        login = {"Authorization": f"Bearer {context.secrets['token']}"}
        self._options: Any = {"headers": login, "timeout": aiohttp.ClientTimeout(CALL_S)}
        self._status, self._is_stopped = ports.ChannelStatus("starting"), False

    def status(self) -> ports.ChannelStatus:
        return self._status

    async def start(self, intake: ports.Intake) -> None:
        after = -1  # from now on: what was said before belongs to the catch-up
        while not self._is_stopped:
            try:
                found = await self._call("events", after=after, wait_s=POLL_S)
                self._status = ports.ChannelStatus("up")
                for event in found["events"]:
                    await self._take(event, intake)
                    after = event["seq"]  # the acknowledgement: only after the commit
                if after < 0:
                    intake.mark_catch_up_due("toy")
                after = found["seq"]
            except (errors.ChannelError, errors.StoreError) as error:
                self._status = ports.ChannelStatus("down", str(error))
                await self._clock.sleep(RETRY_S)

    async def stop(self) -> None:
        self._is_stopped = True

    async def _take(self, event: Any, intake: ports.Intake, *, is_late: bool = False) -> None:
        accepted = await intake.accept(parse_event(event, is_late=is_late))
        if accepted.answer:
            await self._call("whisper", to=event["seq"], text=accepted.answer)

    async def catch_up(self, plan: ports.CatchUpPlan, intake: ports.Intake) -> None:
        starts = [(r.workspace, r.channel, int(r.after or 0), r.since_us) for r in plan.roots]
        starts += [(d.workspace, f"dm-{p}", 0, d.since_us) for d in plan.directs for p in d.people]
        for workspace, room, seq, since_us in starts:
            place, after = messages.Thread("toy", workspace, room, ""), seq
            while found := (await self._call("events", room=room, after=after))["events"]:
                for event in (each for each in found if each["at_us"] >= since_us):
                    await self._take(event, intake, is_late=True)
                after = found[-1]["seq"]
                await intake.confirm_read(place, f"{after:020}", str(after))

    def plan(self, body: messages.OutboundBody) -> tuple[messages.Part, ...]:
        lines, card = [body.markdown], body.card or messages.Card("")
        if body.card:
            lines = [card.title, card.body, *(f"{name}: {value}" for name, value in card.fields)]
        texts = split_markdown("\n".join(lines), LIMITS.text_units_max) or ["(no text)"]
        parts = [messages.Part({"text": text}, text) for text in texts]
        buttons: Any = [{"label": b.label, "choice": b.nonce, "asks": b.asks} for b in card.buttons]
        parts[-1].payload["buttons"] = buttons
        return tuple(parts)

    async def send(self, place: messages.Place, part: messages.Part, key: str) -> str:
        spot = {"room": place.thread.channel, "thread": place.thread.thread, "key": key}
        return (await self._call("say", **spot, **(part.payload or {"text": part.plain})))["id"]

    async def edit(self, place: messages.Place, message_id: str, part: messages.Part) -> None:
        await self._call("edit", id=message_id, **(part.payload or {"text": part.plain}))

    async def find_sent(
        self, place: messages.Place, key: str, since_us: int, part: messages.Part | None = None
    ) -> str | None:
        return (await self._call("find", key=key))["id"]

    async def _call(self, path: str, **fields: object) -> dict[str, Any]:
        asking = aiohttp.request("POST", f"{self._url}/{path}", json=fields, **self._options)
        try:
            async with asking as answer:
                found = await answer.json()
        except aiohttp.ClientConnectorError as error:
            raise errors.ChannelDownError("The toy server cannot be reached.") from error
        except (aiohttp.ClientError, TimeoutError) as error:
            raise errors.SendUnknownError("The toy server gave no answer.") from error
        if "wait_s" in found:
            raise errors.SendRateLimitedError(found["wait_s"])
        if "error" in found:
            raise errors.SendRefusedError(found["error"])
        return found
