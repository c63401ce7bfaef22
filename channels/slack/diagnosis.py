"""What `geode doctor` asks Slack: both tokens, and the scopes that this channel needs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from channels.fields import is_true, object_of, text_of
from channels.slack.failures import PlatformRefusedError, TokenRefusedError
from channels.slack.web import SlackWeb
from geode.messages import Thread
from geode.ports import Finding

SCOPES: Final = frozenset(
    {
        *("app_mentions:read", "assistant:write", "channels:history", "channels:read"),
        *("chat:write", "commands", "files:read", "files:write", "groups:history", "groups:read"),
        *("im:history", "im:read", "metadata.message:read", "mpim:history", "reactions:write"),
        "users:read",
    }
)
"""Those of the manifest."""


async def diagnose(
    web: SlackWeb, app_token: str, names: tuple[str, str], places: Sequence[Thread]
) -> list[Finding]:
    """The bot token, its scopes, the bound places, then the app-level token.

    `names` are the tokens' places in the settings.
    """
    bot_name, app_name = names
    found: list[Finding] = []
    try:
        held = await web.read_scopes()
    except TokenRefusedError as error:
        found.append(Finding("fault", "bot token", f"{str(error)[:-1]}: check {bot_name}."))
    else:
        found += [Finding("ok", "bot token", "Slack accepts it."), _judge_scopes(held)]
        found += await _look_at_places(web, places)
    try:
        await web.open_socket_url(app_token)
    except TokenRefusedError as error:
        found.append(Finding("fault", "app token", f"{str(error)[:-1]}: check {app_name}."))
    except PlatformRefusedError as error:
        sentence = f"{error} It needs the scope connections:write: check {app_name}."
        found.append(Finding("fault", "app token", sentence))
    else:
        found.append(Finding("ok", "app token", "Slack opens a socket for it."))
    return found


async def _look_at_places(web: SlackWeb, places: Sequence[Thread]) -> list[Finding]:
    try:
        bot = await web.identify()
        return [await _look_at_place(web, bot.workspace, each) for each in places]
    except TokenRefusedError as error:
        return [Finding("warning", "places", f"They cannot be looked at: {error}")]


async def _look_at_place(web: SlackWeb, workspace: str, place: Thread) -> Finding:
    where = f"{place.workspace}/{place.channel}"
    if place.workspace != workspace and not place.workspace.startswith("E"):
        sentence = f"{where} is of another workspace than the token's, {workspace}: correct where."
        return Finding("fault", "place", sentence)
    if place.channel == "dm":
        return Finding("ok", "place", f"{where} is served")
    try:
        room = object_of(await web.read("conversations.info", channel=place.channel), "channel")
    except PlatformRefusedError as error:
        sentence = f"{where} cannot be seen ({error.code}): correct where, or invite the bot there."
        return Finding("fault", "place", sentence)
    name = text_of(room, "name") or place.channel
    if not is_true(room, "is_member") and not is_true(room, "is_im"):
        sentence = f"The bot is not in #{name} ({where}): write /invite @NAME of the bot there."
        return Finding("fault", "place", sentence)
    return Finding("ok", "place", f"{where} is #{name}, and the bot is in it")


def _judge_scopes(held: frozenset[str]) -> Finding:
    missing = sorted(SCOPES - held) if held else []
    if not missing:
        return Finding("ok", "scopes", "Nothing is missing.")
    sentence = (
        f"The bot lacks {', '.join(missing)}: add them under OAuth & Permissions, "
        "or install the app again with the manifest."
    )
    return Finding("fault", "scopes", sentence)
