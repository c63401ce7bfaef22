"""Where a payload came from: which installation heard it, in which place, and whose person acted.

The workspace of a thread is the installation that hears it, never the author's: a team for an app
that is installed in a workspace, the enterprise for one that an Enterprise Grid organisation
installed as a whole. Of such an organisation every event then has the same workspace, whichever of
its teams the author works in, and channel ids are unique within it.
"""

from __future__ import annotations

from dataclasses import dataclass

from channels.fields import is_true, object_of, objects_of, text_of
from geode.messages import JsonObject, Person, Thread

PLATFORM = "slack"
NAME_CHARS_MAX = 80
_TEAM_FIELDS = ("user_team", "source_team", "team")
ENTERPRISE = "E"
"""What the ids of organisations begin with."""


@dataclass(frozen=True, slots=True)
class BotIdentity:
    """Who we are in the workspace, as `auth.test` said."""

    user_id: str
    bot_id: str
    team_id: str
    name: str = ""
    enterprise_id: str = ""
    is_org: bool = False
    """The token is of an app that a whole organisation installed."""

    @property
    def workspace(self) -> str:
        """The workspace part of every thread of this installation."""
        return self.enterprise_id if self.is_org and self.enterprise_id else self.team_id


@dataclass(frozen=True, slots=True)
class Dropped:
    """A payload that is nothing for us, and why."""

    reason: str


@dataclass(frozen=True, slots=True)
class Origin:
    """Where an event came from: the installation, the channel, and the event's own id."""

    team: str
    channel: str
    is_direct: bool
    event_id: str = ""
    ours: frozenset[str] = frozenset()
    """Teams whose people are not strangers of another organisation; empty: nobody is asked."""

    def thread(self, part: str) -> Thread:
        """A thread of the place; a direct message is one thread, whatever the part."""
        return Thread(PLATFORM, self.team, self.channel, "" if self.is_direct else part)


def is_direct_channel(channel: str, channel_type: str = "") -> bool:
    """Whether a channel is a direct message between one person and the bot; a group's is not."""
    return channel_type == "im" or (not channel_type and channel.startswith("D"))


def read_workspace(payload: JsonObject, bot: BotIdentity) -> str:
    """The installation that hears a payload; in a shared channel `team_id` may be another's."""
    installed = _installation(payload)
    if is_true(installed, "is_enterprise_install") or is_true(payload, "is_enterprise_install"):
        return _enterprise_of(payload) or bot.workspace
    return (
        text_of(installed, "team_id")
        or text_of(payload, "team_id")
        or text_of(payload, "context_team_id")
        or bot.workspace
    )


def read_ours(payload: JsonObject, bot: BotIdentity) -> frozenset[str]:
    """The teams that are ours where a payload was heard; see `Origin.ours`."""
    is_org = bot.is_org or is_true(_installation(payload), "is_enterprise_install")
    if is_org and payload.get("is_ext_shared_channel") is False:
        return frozenset()
    installed = _installation(payload)
    known = (
        *(read_workspace(payload, bot), bot.team_id, bot.enterprise_id),
        *(text_of(installed, "team_id"), text_of(installed, "enterprise_id")),
    )
    return frozenset(name for name in known if name)


def read_person(message: JsonObject, origin: Origin) -> Person:
    """The author of a message; one of another organisation is marked as external."""
    profile = object_of(message, "user_profile")
    name = text_of(profile, "display_name") or text_of(profile, "real_name")
    # A colleague of the organisation writes from a team that we cannot know.
    fields = _TEAM_FIELDS[:2] if origin.team.startswith(ENTERPRISE) else _TEAM_FIELDS
    teams = {text_of(message, field) for field in fields} - {""}
    return Person(
        text_of(message, "user"),
        clean_name(name),
        is_external=bool(origin.ours) and bool(teams - origin.ours),
    )


def read_actor(payload: JsonObject, bot: BotIdentity) -> Person:
    """Who acted on a button or a form; of an organisation's people only listed ids count then."""
    user = object_of(payload, "user")
    ours, team = read_ours(payload, bot), text_of(user, "team_id")
    return Person(
        text_of(user, "id"),
        clean_name(text_of(user, "name") or text_of(user, "username")),
        is_external=bool(team) and team not in ours,
    )


def clean_name(name: str) -> str:
    """A display name as one short line without controls; people choose it themselves."""
    return "".join(c if c.isprintable() else " " for c in name).strip()[:NAME_CHARS_MAX]


def _installation(payload: JsonObject) -> JsonObject:
    found = objects_of(payload, "authorizations")
    return found[0] if found else {}


def _enterprise_of(payload: JsonObject) -> str:
    return (
        text_of(_installation(payload), "enterprise_id")
        or text_of(object_of(payload, "enterprise"), "id")
        or text_of(payload, "enterprise_id")
    )
