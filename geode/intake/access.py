"""Who may talk where: one pure decision for every ingress, before anything is stored."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final

from geode.messages import ButtonPress, Inbound, InboundMessage, Person, Thread
from geode.settings import Binding
from geode.settings_ids import DIRECT_MESSAGES

_SEAL: Final = object()
_CATEGORY, _CHANNEL, _THREAD = 1, 2, 3


@dataclass(frozen=True, slots=True)
class ThreadFacts:
    """What the store knows of the event's thread."""

    is_followed: bool
    """The agent was addressed in this thread before, so it follows what people say there."""
    former_channels: tuple[str, ...] = ()
    """Ids that the thread's channel had before its platform gave it another one."""


MOST_PERMISSIVE: Final = ThreadFacts(is_followed=True)


@dataclass(frozen=True, slots=True)
class Admitted:
    """An event that passed every check; only `admit` can make one."""

    event: Inbound
    binding: Binding
    seal: object = field(repr=False)
    operated: frozenset[str] = frozenset()
    """Of a press: keys of the bindings of its platform that the presser operates."""
    only_reviews: bool = False
    """Of a press: the place shows the presser reviews, and nothing else there is theirs."""

    def __post_init__(self) -> None:
        assert self.seal is _SEAL, "an event is admitted by admit() only"


@dataclass(frozen=True, slots=True)
class Ignored:
    """An event that stores nothing; the rule says why."""

    rule: str


def admit(event: Inbound, bindings: Sequence[Binding], facts: ThreadFacts) -> Admitted | Ignored:
    """Decide one event; pure and total, deny by default."""
    sender = _sender_of(event)
    if sender.is_bot:
        return Ignored("access.bot")
    place = BoundChannel(event.thread, event.is_direct, event.category, facts.former_channels)
    binding = find_binding(bindings, place)
    if binding is None or not (may_talk(binding, sender) or _may_press(event, binding)):
        reviewed = _find_reviewed(event, bindings)
        if reviewed is None:
            return Ignored("access.unbound" if binding is None else "access.stranger")
        operated = _list_operated(event, bindings)
        return Admitted(event, reviewed, _SEAL, operated, only_reviews=True)
    if not _concerns_agent(event, binding, facts):
        return Ignored("access.not_addressed")
    return Admitted(event, binding, _SEAL, _list_operated(event, bindings))


@dataclass(frozen=True, slots=True)
class BoundChannel:
    """A place as bindings may name it."""

    thread: Thread
    is_direct: bool = False
    category: str = ""
    former_channels: tuple[str, ...] = ()


def find_binding(bindings: Iterable[Binding], place: BoundChannel) -> Binding | None:
    """The binding nearest to the place: its thread before its channel before its category.

    Of two that are equally near, the one that names the channel's present id is nearer.
    """
    best: Binding | None = None
    best_nearness = (0, True)
    for binding in bindings:
        nearness = _nearness(binding, place)
        if nearness > best_nearness:
            best, best_nearness = binding, nearness
    return best


def may_talk(binding: Binding, person: Person) -> bool:
    """Whether the person is listed; `members` trusts the platform's own membership.

    A person of another organisation, in a channel that is shared with it, is no member.
    """
    if binding.people == "members":
        return person.id in binding.operators or (bool(person.id) and not person.is_external)
    return person.id in binding.people or person.id in binding.operators


def _may_press(event: Inbound, binding: Binding) -> bool:
    """An approver answers questions also where they may not talk."""
    return isinstance(event, ButtonPress) and event.presser.id in binding.approvers


def _find_reviewed(event: Inbound, bindings: Iterable[Binding]) -> Binding | None:
    """The binding whose reviews are shown here to this operator, who may press and nothing else."""
    if not isinstance(event, ButtonPress):
        return None
    return next(
        (
            each
            for each in bindings
            if event.presser.id in each.operators and is_review_place(each, event.thread)
        ),
        None,
    )


def is_review_place(binding: Binding, thread: Thread) -> bool:
    """Whether the binding's answers are reviewed in this place."""
    place = binding.review_place
    return (
        place is not None
        and (binding.channel, place.workspace, place.channel)
        == (thread.platform, thread.workspace, thread.channel)
        and place.thread in ("", thread.thread)
    )


def _list_operated(event: Inbound, bindings: Iterable[Binding]) -> frozenset[str]:
    if not isinstance(event, ButtonPress):
        return frozenset()
    return frozenset(
        each.key
        for each in bindings
        if each.channel == event.thread.platform and event.presser.id in each.operators
    )


def _nearness(binding: Binding, place: BoundChannel) -> tuple[int, bool]:
    """How closely a binding names the place, and whether by its present id; (0, …): it does not."""
    named, thread = binding.place, place.thread
    if binding.channel != thread.platform:
        return 0, True
    if named.is_direct and place.is_direct and thread.workspace == DIRECT_MESSAGES:
        # On this platform a direct message belongs to no workspace, whichever one is written.
        return _CHANNEL, True
    if named.workspace != thread.workspace:
        return 0, True
    if named.is_direct:
        return (_CHANNEL if place.is_direct else 0), True
    is_present = named.channel == thread.channel
    if (is_present or named.channel in place.former_channels) and (
        named.thread in ("", thread.thread)
    ):
        return (_THREAD if named.thread else _CHANNEL), is_present
    is_above = place.category and not named.thread and named.channel == place.category
    return (_CATEGORY if is_above else 0), True


def _concerns_agent(event: Inbound, binding: Binding, facts: ThreadFacts) -> bool:
    if not isinstance(event, InboundMessage):
        return True
    if event.kind != "message":
        return facts.is_followed
    return event.is_addressed or event.is_direct or binding.respond == "always" or facts.is_followed


def _sender_of(event: Inbound) -> Person:
    return event.presser if isinstance(event, ButtonPress) else event.sender
