"""What `geode setup` tells a person to do on Slack before the channel can be used."""

from __future__ import annotations

from importlib.resources import files

from geode.guides import SetupGuide

STEPS = (
    "Open https://api.slack.com/apps and choose Create New App, From a manifest; paste what "
    "`geode setup --print-manifest` prints in another terminal.",
    "Under Basic Information, App-Level Tokens, generate a token with the scope connections:write.",
    "Under Install App, install it in your workspace and copy the bot token.",
    "In Slack, write /invite @Geode in each channel that it is to serve.",
)
NOTHING = (
    "The bot is in no channel: write /invite @Geode in the channel that it is to serve, "
    "then look again."
)


def make_guide() -> SetupGuide:
    """The steps, the tokens' names and the packaged manifest."""
    manifest = files("channels.slack").joinpath("manifest.yaml").read_text(encoding="utf-8")
    return SetupGuide(
        STEPS,
        {"bot_token": "bot token (xoxb-…)", "app_token": "app-level token (xapp-…)"},
        when_nothing=NOTHING,
        manifest=manifest,
    )
