"""What `geode doctor` asks Slack: both tokens, and the scopes that this channel needs."""

from __future__ import annotations

from typing import Final

from channels.slack.failures import PlatformRefusedError, TokenRefusedError
from channels.slack.web import SlackWeb
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


async def diagnose(web: SlackWeb, app_token: str, names: tuple[str, str]) -> list[Finding]:
    """The bot token, its scopes, then the app-level token; `names` are the tokens' places."""
    bot_name, app_name = names
    found: list[Finding] = []
    try:
        held = await web.read_scopes()
    except TokenRefusedError as error:
        found.append(Finding("fault", "bot token", f"{str(error)[:-1]}: check {bot_name}."))
    else:
        found += [Finding("ok", "bot token", "Slack accepts it."), _judge_scopes(held)]
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


def _judge_scopes(held: frozenset[str]) -> Finding:
    missing = sorted(SCOPES - held) if held else []
    if not missing:
        return Finding("ok", "scopes", "Nothing is missing.")
    sentence = (
        f"The bot lacks {', '.join(missing)}: add them under OAuth & Permissions, "
        "or install the app again with the manifest."
    )
    return Finding("fault", "scopes", sentence)
