"""Enterprise Grid and Slack Connect: whose workspace a thread is in, and who is a stranger."""

import pytest

from channels.slack.origin import BotIdentity, clean_name
from channels.slack.parse import parse_payload
from geode.intake.access import may_talk
from geode.messages import ButtonPress, ChatCommand, InboundMessage, JsonObject, Person
from geode.settings import Binding

BOT = BotIdentity("UBOT", "BBOT", "T1", "geode", enterprise_id="E1")
ORG_BOT = BotIdentity("UBOT", "BBOT", "E1", "geode", enterprise_id="E1", is_org=True)


def installed(team: str | None, *, is_org: bool = False) -> list[JsonObject]:
    return [{"team_id": team, "enterprise_id": "E1", "is_enterprise_install": is_org}]


def callback(event: JsonObject, **envelope: object) -> JsonObject:
    shown = {"type": "event_callback", "event_id": "Ev1", "team_id": "T1", "event": event}
    return {**shown, "authorizations": installed("T1"), **envelope}  # type: ignore[dict-item]


def message(**fields: object) -> JsonObject:
    event = {"type": "message", "channel": "C1", "channel_type": "channel", "user": "U1"}
    event |= {"text": "hello", "ts": "1700000000.000100"}
    return {**event, **fields}  # type: ignore[dict-item]


def parsed(payload: JsonObject, bot: BotIdentity = BOT) -> InboundMessage:
    result = parse_payload(payload, bot)
    assert isinstance(result, InboundMessage), result
    return result


CONNECT = callback(
    message(
        team="T9FOREIGN",
        user="U9FOREIGN",
        user_team="T9FOREIGN",
        source_team="T9FOREIGN",
        user_profile={"display_name": "Una", "team": "T9FOREIGN"},
    ),
    team_id="T9FOREIGN",
    context_team_id="T1",
    is_ext_shared_channel=True,
)


def test_shared_channels_event_belongs_to_the_installation_that_heard_it() -> None:
    found = parsed(CONNECT)

    assert found.thread.workspace == "T1"
    assert found.dedupe_key == "T1/C1/1700000000.000100"


def test_person_of_another_organisation_is_external_under_a_name_of_their_own() -> None:
    assert parsed(CONNECT).sender == Person("U9FOREIGN", "Una", is_external=True)


@pytest.mark.parametrize("field", ["user_team", "source_team", "team"])
def test_any_foreign_team_makes_a_person_external(field: str) -> None:
    assert parsed(callback(message(**{field: "T9FOREIGN"}))).sender.is_external


@pytest.mark.parametrize(
    "teams", [{}, {"team": "T1"}, {"team": "T1", "user_team": "E1", "source_team": "T1"}]
)
def test_own_people_are_not_external(teams: dict[str, str]) -> None:
    assert not parsed(callback(message(**teams))).sender.is_external


def test_members_are_not_people_of_other_organisations() -> None:
    def binding(**fields: object) -> Binding:
        shown = {"channel": "slack", "where": "T1/C1", "operators": ["U1"], **fields}
        return Binding.model_validate(shown)

    foreign = parsed(CONNECT).sender

    assert not may_talk(binding(people="members"), foreign)
    assert may_talk(binding(people="members"), Person("U2"))
    assert may_talk(binding(people=["U9FOREIGN"]), foreign)
    assert may_talk(binding(people="members", operators=["U9FOREIGN"]), foreign)


@pytest.mark.parametrize("team_id", [None, "T1", "T2"])
def test_organisations_installation_is_one_workspace_for_all_its_teams(team_id: str | None) -> None:
    event = message(team="T2", user_team="T2")
    payload = callback(
        event,
        team_id=team_id,
        authorizations=installed(team_id, is_org=True),
        is_ext_shared_channel=False,
    )

    found = parsed(payload, ORG_BOT)

    assert found.thread.workspace == "E1"
    assert not found.sender.is_external


def test_stranger_in_an_organisations_shared_channel_is_external() -> None:
    event = message(team="T9FOREIGN", user_team="T9FOREIGN", source_team="T9FOREIGN")
    payload = callback(
        event,
        team_id=None,
        authorizations=installed(None, is_org=True),
        is_ext_shared_channel=True,
    )

    assert parsed(payload, ORG_BOT).sender.is_external


def test_team_of_the_installation_goes_before_the_context() -> None:
    bare = callback(message(), team_id=None, authorizations=[], context_team_id="T1")

    assert parsed(bare).thread.workspace == "T1"
    assert parsed(callback(message(), authorizations=[])).thread.workspace == "T1"
    assert parsed({**bare, "context_team_id": None}).thread.workspace == "T1"


def test_slash_command_of_an_organisation_names_it() -> None:
    payload: JsonObject = {
        "command": "/geode",
        "text": "status",
        "team_id": "T2",
        "enterprise_id": "E1",
        "is_enterprise_install": "true",
        "channel_id": "C1",
        "user_id": "U1",
        "trigger_id": "1.a",
    }
    org = parse_payload(payload, ORG_BOT)
    team = parse_payload({**payload, "is_enterprise_install": "false", "team_id": "T1"}, BOT)

    assert isinstance(org, ChatCommand)
    assert isinstance(team, ChatCommand)
    assert (org.thread.workspace, team.thread.workspace) == ("E1", "T1")


def test_press_by_another_organisations_person_keeps_our_workspace_and_marks_them() -> None:
    payload: JsonObject = {
        "type": "block_actions",
        "user": {"id": "U9FOREIGN", "name": "una", "team_id": "T9FOREIGN"},
        "team": {"id": "T9FOREIGN"},
        "container": {"channel_id": "C1", "message_ts": "1.000200", "thread_ts": "1.000100"},
        "actions": [{"action_id": "press:abc", "action_ts": "2.0"}],
    }

    press = parse_payload(payload, BOT)

    assert isinstance(press, ButtonPress)
    assert press.thread.workspace == "T1"
    assert press.presser.is_external


def test_display_name_is_one_short_line() -> None:
    assert clean_name("  An\na\u202e \x00 ") == "An a"
    assert len(clean_name("x" * 500)) == 80
