"""What the operator sets for Discord: one secret reference and, where it is needed, a proxy."""

from __future__ import annotations

from geode.settings import HttpUrl, SecretRef, Section


class DiscordSettings(Section):
    """`[channels.discord]`: the bot token, and the HTTP proxy through which Discord is reached.

    Certificates are checked against the system's authorities, or those of SSL_CERT_FILE.
    """

    token: SecretRef = SecretRef("env", "DISCORD_BOT_TOKEN")
    """The bot's token; receives, posts and reads."""
    proxy: HttpUrl = ""
    """Empty connects directly."""
