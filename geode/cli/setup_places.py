"""The places of `geode setup`: found or typed, with the people of each and its operators."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from geode.cli.setup_answers import PlaceAnswer
from geode.cli.setup_choices import parse_numbers, parse_operators, parse_people
from geode.cli.setup_draft import Draft
from geode.cli.setup_probe import Probe
from geode.errors import ChannelError
from geode.guides import FoundPlace, SetupGuide
from geode.messages import Person
from geode.settings import Binding
from geode.settings_ids import parse_where, split_where

WAIT_S = 60.0
SHOWN_MAX = 30
AGAIN, HAND, SKIP = "again", "hand", "skip"
WORDS = (AGAIN, HAND, SKIP)
RESPONDS = ("mention", "always")
NOBODY = "Name who may talk: numbers, all, members, or ids."


def ask_places(draft: Draft, name: str, probe: Probe, guide: SetupGuide) -> tuple[PlaceAnswer, ...]:
    """The places to serve; none when the channel keeps those that it has, or has none."""
    questions = draft.questions
    bound = [each for each in draft.settings().bindings if each.channel == name]
    if name in draft.written_channels and bound:
        questions.say(f"  It serves {', '.join(each.where for each in bound)}.")
        if not questions.confirm("Add or change a place?", default=False):
            return ()
    while True:
        found = _discover(draft, probe, guide)
        chosen = _choose(draft, found)
        if chosen == SKIP:
            return ()
        if chosen == HAND:
            found = [_type_place(draft, name)]
            chosen = (0,)
        if not isinstance(chosen, str):
            return tuple(_ask_place(draft, name, found[index]) for index in chosen)


def _discover(draft: Draft, probe: Probe, guide: SetupGuide) -> list[FoundPlace]:
    questions = draft.questions
    if guide.waits_for:
        questions.say(f"  {guide.waits_for}; looking for up to {WAIT_S:g} s …")
    else:
        questions.say("  Looking for places …")
    try:
        found = list(probe.discover(WAIT_S))
    except ChannelError as error:
        questions.say(f"  {error}")
        return []
    if not found:
        questions.say(f"  {guide.when_nothing}")
    for number, place in enumerate(found[:SHOWN_MAX], start=1):
        names = ", ".join(person.name or person.id for person in place.people[:SHOWN_MAX])
        questions.say(f"  {number}. {place.name} ({place.where})" + (f": {names}" if names else ""))
    if len(found) > SHOWN_MAX:
        questions.say(f"  … and {len(found) - SHOWN_MAX} more; their numbers count on.")
    return found


def _choose(draft: Draft, found: Sequence[FoundPlace]) -> tuple[int, ...] | str:
    def read(text: str) -> tuple[int, ...] | str:
        if text.lower() in WORDS:
            return text.lower()
        if not found:
            raise ValueError(f"Type {AGAIN}, {HAND} or {SKIP}.")
        return parse_numbers(text, len(found))

    words = f"{AGAIN} to look again, {HAND} to type an id, {SKIP} for none"
    question = f"Which of them ({words})" if found else f"What now ({words})"
    return draft.questions.ask(question, "1" if found else AGAIN, read)


def _type_place(draft: Draft, name: str) -> FoundPlace:
    def read(text: str) -> str:
        try:
            return parse_where(name, text)
        except ValueError as error:
            raise ValueError(f"{str(error)[:1].upper()}{str(error)[1:]}.") from None

    where = draft.questions.ask("The place's id", "", read)
    return FoundPlace(where, where)


def _ask_place(draft: Draft, channel: str, place: FoundPlace) -> PlaceAnswer:
    questions = draft.questions
    key = f"{channel}:{place.where}"
    bound = next((each for each in draft.settings().bindings if each.key == key), None)
    questions.say(f"\n  {place.name} ({place.where})")
    _show_people(draft, place.people)
    people = _ask_people(draft, channel, place, bound)
    operators = questions.ask(
        "Who are its operators, who settle and decide (numbers or ids)",
        ", ".join(bound.operators) if bound else _only_one(people, place),
        lambda text: parse_operators(text, channel, place.people),
    )
    respond = bound.respond if bound else RESPONDS[0]
    if not split_where(place.where).is_direct:
        ways = ("when it is mentioned, then it follows the thread", "always")
        respond = RESPONDS[questions.choose("When does it answer?", ways, RESPONDS.index(respond))]
    return PlaceAnswer(channel, place.where, place.name, people, operators, respond)


def _only_one(people: tuple[str, ...] | Literal["members"], place: FoundPlace) -> str:
    """The one who may be operator, when there is no choice."""
    ids = [person.id for person in place.people] if isinstance(people, str) else list(people)
    return ids[0] if len(ids) == 1 else ""


def _show_people(draft: Draft, people: Sequence[Person]) -> None:
    for number, person in enumerate(people, start=1):
        draft.questions.say(f"    {number}. {person.name or '(no name)'} ({person.id})")
    if not people:
        draft.questions.say("    Nobody was seen there: type ids, with commas between them.")


def _ask_people(
    draft: Draft, channel: str, place: FoundPlace, bound: Binding | None
) -> tuple[str, ...] | Literal["members"]:
    is_direct = split_where(place.where).is_direct

    def read(text: str) -> tuple[str, ...] | Literal["members"]:
        people = parse_people(text, channel, place.people)
        if people == "members" and is_direct:
            raise ValueError("Direct messages have no members; choose people.")
        if not people:
            raise ValueError(NOBODY)
        return people

    words = "numbers, all or ids" if is_direct else "numbers, all, members or ids"
    usual = "all" if place.people else ""
    if bound is not None and bound.people:
        usual = bound.people if isinstance(bound.people, str) else ", ".join(bound.people)
    return draft.questions.ask(f"Who may talk there ({words})", usual, read)
