"""Who may talk where: deny by default, ids by equality, one decision for every event."""

from __future__ import annotations

import pytest

from geode.intake.access import Admitted, Ignored, ThreadFacts, admit
from geode.messages import ButtonPress, ChatCommand, InboundMessage, Person, Thread
from geode.settings import Binding

NEW = ThreadFacts(is_followed=False)
FOLLOWED = ThreadFacts(is_followed=True)
CHANNEL = Thread("slack", "T1", "C1", "1700000000.000100")
DIRECT = Thread("slack", "T1", "D1", "")


def binding(**values: object) -> Binding:
    return Binding.model_validate(
        {"channel": "slack", "where": "T1/C1", "people": ["U1"], "operators": ["UOP"], **values}
    )


def said(sender: str = "U1", **values: object) -> InboundMessage:
    fields: dict[str, object] = {
        "thread": CHANNEL,
        "message_id": "1.1",
        "order_key": "1.1",
        "dedupe_key": "k",
        "sender": Person(sender),
        "text": "hi",
        "is_addressed": True,
        **values,
    }
    return InboundMessage(**fields)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("event", "bindings", "facts", "rule"),
    [
        pytest.param(said(), [], NEW, "access.unbound", id="nothing-bound"),
        pytest.param(said("U2"), [binding()], NEW, "access.stranger", id="stranger"),
        pytest.param(said(), [binding(people=[])], NEW, "access.stranger", id="empty-list"),
        pytest.param(said("u1"), [binding()], NEW, "access.stranger", id="id-in-other-case"),
        pytest.param(said("U1 "), [binding()], NEW, "access.stranger", id="id-with-space"),
        pytest.param(
            said(thread=Thread("slack", "T2", "C1", "1")),
            [binding()],
            NEW,
            "access.unbound",
            id="other-workspace",
        ),
        pytest.param(
            said(thread=Thread("slack", "T1", "C2", "1")),
            [binding()],
            NEW,
            "access.unbound",
            id="other-channel",
        ),
        pytest.param(
            said(thread=DIRECT, is_direct=True),
            [binding()],
            NEW,
            "access.unbound",
            id="direct-message-of-a-channel-binding",
        ),
        pytest.param(
            said(sender="B1"),
            [binding(people="members")],
            NEW,
            None,
            id="member",
        ),
        pytest.param(
            said(is_addressed=False), [binding()], NEW, "access.not_addressed", id="not-mentioned"
        ),
        pytest.param(said(is_addressed=False), [binding()], FOLLOWED, None, id="followed-thread"),
        pytest.param(
            said(is_addressed=False), [binding(respond="always")], NEW, None, id="respond-always"
        ),
        pytest.param(said("UOP"), [binding()], NEW, None, id="operator-may-talk"),
        pytest.param(
            said(thread=DIRECT, is_direct=True), [binding(where="T1/dm")], NEW, None, id="direct"
        ),
        pytest.param(
            said("U2", thread=DIRECT, is_direct=True),
            [binding(where="T1/dm")],
            NEW,
            "access.stranger",
            id="direct-stranger",
        ),
        pytest.param(
            said(kind="edit"), [binding()], NEW, "access.not_addressed", id="edit-of-unknown-thread"
        ),
        pytest.param(
            ButtonPress(CHANNEL, "1", Person("U2"), "n", "k"),
            [binding()],
            FOLLOWED,
            "access.stranger",
            id="press-by-stranger",
        ),
        pytest.param(
            ChatCommand(CHANNEL, Person("U2"), "stop", "", "k"),
            [binding()],
            FOLLOWED,
            "access.stranger",
            id="command-by-stranger",
        ),
    ],
)
def test_admit_decides(
    event: InboundMessage, bindings: list[Binding], facts: ThreadFacts, rule: str | None
) -> None:
    verdict = admit(event, bindings, facts)

    assert (verdict.rule if isinstance(verdict, Ignored) else None) == rule


def test_admit_never_serves_a_bot() -> None:
    event = said(sender="U1")
    bot = said(sender="U1")
    bot = InboundMessage(**{**_fields(bot), "sender": Person("U1", is_bot=True)})

    assert isinstance(admit(event, [binding()], NEW), Admitted)
    assert admit(bot, [binding()], NEW) == Ignored("access.bot")


def test_admit_takes_the_thread_binding_before_the_channel_binding() -> None:
    wide = binding(people=["U2"])
    near = binding(where="T1/C1/1700000000.000100")

    verdict = admit(said("U1"), [wide, near], NEW)

    assert isinstance(verdict, Admitted)
    assert verdict.binding is near
    assert isinstance(admit(said("U2"), [wide, near], NEW), Ignored)


def test_nobody_but_admit_can_make_an_admitted_event() -> None:
    with pytest.raises(AssertionError):
        Admitted(said(), binding(), object())


def _fields(message: InboundMessage) -> dict[str, object]:
    return {name: getattr(message, name) for name in InboundMessage.__dataclass_fields__}


SERVER = {"channel": "discord", "operators": ["999"]}
NEAREST = {
    "thread": (["1/3", "1/5", "1/5/6"], "1/5/6"),
    "channel": (["1/3", "1/5", "1/5/7"], "1/5"),
    "category": (["1/3", "1/4", "1/5/7"], "1/3"),
    "another server's category": (["2/3"], None),
    "category with a thread": (["1/3/6"], None),
}


@pytest.mark.parametrize(("written", "nearest"), NEAREST.values(), ids=NEAREST.keys())
def test_nearest_of_thread_channel_and_category_decides_dc_06(
    written: list[str], nearest: str | None
) -> None:
    bindings = [binding(**SERVER, where=where, people=["7"]) for where in written]
    event = said("7", thread=Thread("discord", "1", "5", "6"), category="3")

    verdict = admit(event, bindings, NEW)

    assert (verdict.binding.where if isinstance(verdict, Admitted) else None) == nearest


def test_denied_channel_below_an_allowed_category_stays_denied_dc_06() -> None:
    bindings = [
        binding(**SERVER, where="1/3", people=["7"]),
        binding(**SERVER, where="1/5", people=[]),
    ]
    event = said("7", thread=Thread("discord", "1", "5", "6"), category="3")

    assert admit(event, bindings, NEW) == Ignored("access.stranger")


@pytest.mark.parametrize("where", ["dm/dm", "1/dm"])
def test_direct_message_that_belongs_to_no_server_is_served(where: str) -> None:
    event = said("7", thread=Thread("discord", "dm", "8", ""), is_direct=True)

    assert isinstance(admit(event, [binding(**SERVER, where=where, people=["7"])], NEW), Admitted)
    assert isinstance(admit(event, [binding(**SERVER, where=where, people=["6"])], NEW), Ignored)
