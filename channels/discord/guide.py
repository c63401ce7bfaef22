"""What `geode setup` tells a person to do on Discord before the channel can be used."""

from __future__ import annotations

from typing import Final

from geode.guides import SetupGuide

# View Channels, Send Messages, Attach Files, Read Message History, Add Reactions,
# Create Public Threads, Send Messages in Threads.
PERMISSIONS: Final = 1 << 10 | 1 << 11 | 1 << 15 | 1 << 16 | 1 << 6 | 1 << 35 | 1 << 38
INVITE: Final = (
    "https://discord.com/oauth2/authorize?client_id=APPLICATION_ID"
    f"&scope=bot+applications.commands&permissions={PERMISSIONS}"
)
GUIDE: Final = SetupGuide(
    (
        "Open https://discord.com/developers/applications and create an application.",
        "Under Bot, switch on Message Content Intent (Privileged Gateway Intents); Server Members "
        "Intent is only needed to list people here. Copy the token.",
        f"Invite the bot to your server: open {INVITE} with the application's id "
        "(General Information).",
    ),
    {"token": "bot token"},
    when_nothing=(
        "The bot is in no server, or sees no channel there: open the invite link above, "
        "then look again."
    ),
)
