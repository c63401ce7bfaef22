"""The names people go by, kept for a while and looked up beside the work that needs them."""

from __future__ import annotations

import asyncio
import logging
from collections import OrderedDict
from collections.abc import Iterable
from dataclasses import replace

from channels.errands import Errands
from channels.fields import object_of, text_of
from channels.slack.failures import PlatformRefusedError, TokenRefusedError
from channels.slack.history import Reads
from channels.slack.origin import clean_name
from geode.errors import ChannelError
from geode.messages import JsonObject, Person

log = logging.getLogger(__name__)

NAMES_MAX = 2_000
RESOLVE_S = 3.0
RESOLVED_MAX = 20
"""People of one thread that are asked for at once."""


class Names:
    """Display names by user id; a name is for show and grants nothing, so it may be old."""

    def __init__(self, web: Reads, errands: Errands) -> None:
        self._web = web
        self._errands = errands
        self._known: OrderedDict[str, str] = OrderedDict()
        self._asked: set[str] = set()
        self._is_refused = False
        """The app may not ask for people; it is not asked again until a restart."""

    def fill(self, person: Person) -> Person:
        """The person under the known name; an unknown one stays without, at once."""
        if person.name:
            self._learn(person.id, person.name)
            return person
        known = self._known.get(person.id, "")
        return replace(person, name=known) if known else person

    def look_up_later(self, user: str) -> None:
        """Ask for a name that is not known yet, so that the next message has it."""
        if user and user not in self._known and user not in self._asked and not self._is_refused:
            self._asked.add(user)
            if not self._errands.begin("look_up_name", self._look_up(user)):
                self._asked.discard(user)

    async def resolve(self, users: Iterable[str]) -> None:
        """Ask for the names that are missing, within a short while; a failure leaves them out."""
        missing = [user for user in dict.fromkeys(users) if user not in self._known]
        try:
            async with asyncio.timeout(RESOLVE_S):
                for user in missing[:RESOLVED_MAX]:
                    await self._look_up(user)
        except TimeoutError:
            log.debug("slack_names_late")

    async def _look_up(self, user: str) -> None:
        try:
            if not self._is_refused:
                answer = await self._web.read("users.info", user=user)
                self._learn(user, name_of(object_of(answer, "user")) or user)
        except TokenRefusedError as error:
            self._is_refused = True
            log.warning("slack_names_refused code=%s scope=users:read", error.code)
        except PlatformRefusedError:
            self._learn(user, user)
        except ChannelError as error:
            log.debug("slack_name_unknown reason=%s", error)
        finally:
            self._asked.discard(user)

    def _learn(self, user: str, name: str) -> None:
        self._known[user] = name
        self._known.move_to_end(user)
        if len(self._known) > NAMES_MAX:
            self._known.popitem(last=False)


def name_of(user: JsonObject) -> str:
    """The name a person goes by, of Slack's object."""
    profile = object_of(user, "profile")
    shown = text_of(profile, "display_name") or text_of(profile, "real_name")
    return clean_name(shown or text_of(user, "real_name") or text_of(user, "name"))
