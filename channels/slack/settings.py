"""What the operator sets for Slack: two secret references and where the Web API is."""

from __future__ import annotations

from geode.settings import HttpUrl, SecretRef, Section

SLACK_API_URL = "https://slack.com/api/"


class SlackSettings(Section):
    """`[channels.slack]`: the bot token, the app-level token of Socket Mode, the API address."""

    bot_token: SecretRef = SecretRef("env", "SLACK_BOT_TOKEN")
    """Begins with `xoxb-`; posts and reads."""
    app_token: SecretRef = SecretRef("env", "SLACK_APP_TOKEN")
    """Begins with `xapp-`, scope `connections:write`; opens the socket."""
    api_url: HttpUrl = SLACK_API_URL
