"""Messages for other places: listed by the profile, signed, queued in the place's own session."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Sequence

from geode.errors import MessageRefusedError
from geode.messages import SessionId, Thread
from geode.reply.sentences import sign_message
from geode.session.services import SharedServices
from geode.settings import Binding
from geode.settings_ids import split_where
from geode.steps import ToolContext
from geode.store.database import Tx
from geode.store.sent import NewSent, count_sent, has_sent, insert_sent, read_askers
from geode.tools.send_message import MESSAGES_MAX

Wake = Callable[[SessionId], None]


class MessageOutlet:
    """What `send_message` does; the services it works on are known once they are built."""

    def __init__(self, wake: Wake) -> None:
        self._wake = wake
        self._services: SharedServices | None = None

    def bind(self, services: SharedServices) -> None:
        """Work on these services from now on."""
        self._services = services

    def list_places(self, context: ToolContext) -> Sequence[str]:
        """The destinations that the call's profile lists now."""
        services = self._bound()
        binding = services.find_binding(context.binding)
        if binding is None or not services.settings.has_profile(binding.profile):
            return ()
        return services.settings.profile(binding.profile).send_to

    async def store(self, context: ToolContext, to: str, text: str) -> None:
        """Queue the message under the call's operation, once."""
        services = self._bound()
        place = read_place(to)
        fresh_id = SessionId("s" + secrets.token_hex(8))

        def unit(tx: Tx) -> SessionId:
            if count_sent(tx, context.turn_id) >= MESSAGES_MAX:
                raise MessageRefusedError(
                    f"Nothing was sent: one request may send {MESSAGES_MAX} messages."
                )
            name = services.settings.agent.name
            signed = sign_message(name, read_askers(tx, context.turn_id), text)
            new = NewSent(
                operation_id=context.operation_id,
                session_id=context.session_id,
                turn_id=context.turn_id,
                epoch=context.epoch,
                place=place,
                binding=key_of_place(services.settings.bindings, place),
                text=signed,
            )
            return insert_sent(tx, new, fresh_id, services.clock.now_us())

        self._wake(await services.store.write("message.send", unit))

    async def has(self, context: ToolContext) -> bool:
        """Whether the call's message is stored."""
        store = self._bound().store
        return await store.read(lambda tx: has_sent(tx, context.turn_id, context.operation_id))

    def _bound(self) -> SharedServices:
        assert self._services is not None, "bound before the first turn"
        return self._services


def read_place(to: str) -> Thread:
    """A checked destination as the thread that a message goes to; a channel's top has no part."""
    platform, _, where = to.partition(":")
    place = split_where(where)
    return Thread(platform, place.workspace, place.channel, place.thread)


def key_of_place(bindings: Sequence[Binding], place: Thread) -> str:
    """The binding that serves the place, the nearest one; empty where none does."""
    here = (place.platform, place.workspace, place.channel)
    named = [
        each
        for each in bindings
        if (each.channel, each.place.workspace, each.place.channel) == here
        and each.place.thread in ("", place.thread)
    ]
    return max(named, key=lambda each: bool(each.place.thread)).key if named else ""
