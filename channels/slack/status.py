"""Slack's own working state of a thread, by the method that the workspace accepts."""

from __future__ import annotations

import logging
from collections import OrderedDict
from dataclasses import dataclass

from channels.errands import Errands
from channels.slack.failures import PlatformRefusedError, TokenRefusedError
from channels.slack.history import root_of
from channels.slack.web import SlackWeb
from geode.errors import ChannelError, SendRateLimitedError
from geode.messages import Place
from geode.ports import Clock

log = logging.getLogger(__name__)

SESSIONS, THREADS = "agents.sessions.setStatus", "assistant.threads.setStatus"
METHODS = (SESSIONS, THREADS)
"""The agent view's method first; the older one shows a line of text."""
PROCESSING, ACTIVE = "processing", "active"
AGAIN_S = 60.0
"""An unchanged state is said again after this: Slack forgets a line after two minutes."""
SHOWN_MAX = 1_000
LINE_CHARS_MAX = 100
PLACE_CODES = frozenset(
    {
        *("channel_not_found", "not_in_channel", "is_archived", "thread_not_found"),
        *("message_not_found", "channel_type_not_supported", "invalid_thread_ts"),
    }
)
"""Refusals that say something about the place and nothing about the workspace."""
DEAD_TOKEN_CODES = frozenset(
    {"invalid_auth", "account_inactive", "token_revoked", "token_expired", "not_authed"}
)
"""Refusals of every call; the channel's own health says so."""


@dataclass(frozen=True, slots=True)
class _Shown:
    line: str
    at: float


class ThreadStatus:
    """Shows that the agent works; what a workspace refuses is remembered and logged once."""

    def __init__(self, web: SlackWeb, clock: Clock, errands: Errands) -> None:
        self._web = web
        self._clock = clock
        self._errands = errands
        self._refused: set[tuple[str, str]] = set()
        self._shown: OrderedDict[tuple[str, str], _Shown] = OrderedDict()
        self._waits_until = 0.0

    async def show(self, place: Place, line: str) -> None:
        """Show the line, or nothing when it is empty; never raises for what Slack answers."""
        root = root_of(place)
        if not root or self._clock.monotonic() < self._waits_until:
            return
        key = (place.thread.channel, root)
        for method in METHODS:
            if (place.thread.workspace, method) in self._refused:
                continue
            state = _state_of(method, line)
            if self._is_shown(key, state):
                return
            if await self._call(method, place, root, state):
                self._note(key, line, state)
                return

    def clear_later(self, place: Place) -> None:
        """Show that nothing is being done any more, whatever is thought to be shown."""
        self._shown[(place.thread.channel, root_of(place))] = _Shown("", float("-inf"))
        self._errands.begin("show_status", self.show(place, ""))

    async def _call(self, method: str, place: Place, root: str, state: str) -> bool:
        """Whether the question is settled; false: another method may be accepted."""
        try:
            await self._web.set_status(method, place.thread.channel, root, state)
        except (PlatformRefusedError, TokenRefusedError) as error:
            if error.code in PLACE_CODES or error.code in DEAD_TOKEN_CODES:
                log.debug("slack_status_not_shown method=%s reason=%s", method, error.code)
                return True
            self._refused.add((place.thread.workspace, method))
            log.warning(
                "slack_status_refused workspace=%s method=%s code=%s",
                *(place.thread.workspace, method, error.code),
            )
            return False
        except SendRateLimitedError as error:
            self._waits_until = self._clock.monotonic() + error.retry_after_s
        except ChannelError as error:
            log.debug("slack_status_not_shown method=%s reason=%s", method, error)
        return True

    def _is_shown(self, key: tuple[str, str], state: str) -> bool:
        shown = self._shown.get(key)
        if shown is None:
            return False
        return shown.line == state and self._clock.monotonic() - shown.at < AGAIN_S

    def _note(self, key: tuple[str, str], line: str, state: str) -> None:
        if not line:
            self._shown.pop(key, None)
            return
        self._shown[key] = _Shown(state, self._clock.monotonic())
        self._shown.move_to_end(key)
        if len(self._shown) > SHOWN_MAX:
            self._shown.popitem(last=False)


def _state_of(method: str, line: str) -> str:
    """The agent view takes one of its own words; free text is refused there."""
    if method == SESSIONS:
        return PROCESSING if line else ACTIVE
    return line[:LINE_CHARS_MAX]
