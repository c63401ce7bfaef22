"""What `geode setup` tells a person to do on Telegram before the channel can be used."""

from __future__ import annotations

from typing import Final

from geode.guides import SetupGuide

GUIDE: Final = SetupGuide(
    (
        "In Telegram, write /newbot to @BotFather and copy the token that it gives.",
        "In a group the bot hears only commands, mentions and replies (privacy mode): to let it "
        "follow conversations write /setprivacy to @BotFather and choose Disable, or make the bot "
        "an administrator of the group.",
        "Add the bot to the groups that it is to serve.",
    ),
    {"token": "bot token"},
    when_nothing=(
        "Nobody wrote to the bot: open it in Telegram and write something, or write /whoami in the "
        "group, then look again."
    ),
    waits_for="Write to the bot now, or /whoami in the group",
    has_rooms_by_person=True,
)
