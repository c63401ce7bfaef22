"""The commands that only tell: who somebody is, what a session does, what it cost."""

from __future__ import annotations

from geode.intake.desk import Asked, Audience, Reply
from geode.loop.prompt import day_start_us
from geode.messages import SessionState
from geode.reply import command_sentences as said
from geode.reply import review_cards
from geode.reply.spending import describe_spent
from geode.store import cards, receipts, reviews, sessions, standing, turns
from geode.store.standing import Spent

EFFECTS_MAX = 20

_ROLES = {
    Audience.ADMITTED: "a guest",
    Audience.PEOPLE: "one of its people",
    Audience.OPERATORS: "an operator",
}


def tell_person(asked: Asked) -> Reply:
    """/whoami"""
    thread = asked.command.thread
    place = f"{thread.platform}:{thread.workspace}"
    person = asked.command.sender.id
    return Reply(said.describe_person(person, place, _ROLES[asked.role], asked.binding.key))


def tell_model(asked: Asked) -> Reply:
    """/model"""
    return Reply(said.describe_model(asked.view.model, asked.command.argument))


def tell_status(asked: Asked) -> Reply:
    """/status"""
    row = sessions.read_session(asked.tx, asked.session)
    line = said.describe_state(
        state=row.state,
        model=asked.view.model,
        session_id=asked.session,
        tokens=standing.sum_session(asked.tx, asked.session).tokens,
        left=said.describe_left(_read_left(asked)),
        reviews=_count_reviews(asked),
    )
    lines = [line, *said.describe_cards(standing.count_cards(asked.tx, asked.session))]
    if asked.role is Audience.OPERATORS:
        lines.append(said.describe_channels(asked.view.channels))
    return Reply("\n".join(lines))


def tell_usage(asked: Asked) -> Reply:
    """/usage"""
    today = standing.sum_bindings(asked.tx, [asked.binding.key], _day_start_us(asked))
    lines = [
        _line("This conversation", standing.sum_session(asked.tx, asked.session)),
        _line("This place today", today),
        said.describe_budget(_read_limit(asked), _read_left(asked)),
    ]
    return Reply("\n".join(f"- {line}" for line in lines))


def tell_effects(asked: Asked) -> Reply:
    """/effects"""
    found = receipts.list_uncertain(asked.tx, asked.session, EFFECTS_MAX)
    return Reply(said.describe_effects([(each.tool, each.id) for each in found]))


def tell_reviews(asked: Asked) -> Reply:
    """/review"""
    found = reviews.list_open(asked.tx, bindings=[asked.binding.key])
    told = [(each, _place_card(asked, each)) for each in found]
    return Reply(review_cards.list_reviews(told, asked.now_us))


def tell_jobs(asked: Asked) -> Reply:
    """/jobs: nothing here is scheduled yet."""
    return Reply(said.NO_JOBS)


def tell_computer(asked: Asked) -> Reply:
    """/computer: it is off wherever it is not built."""
    return Reply(said.NO_COMPUTER)


def _count_reviews(asked: Asked) -> int:
    row = sessions.read_session(asked.tx, asked.session)
    return int(row.state == SessionState.AWAITING_REVIEW)


def _place_card(asked: Asked, review: reviews.Review) -> str:
    """Where the card of a review is, for whoever looks for it."""
    card = cards.find_card(asked.tx, review_cards.KIND, review.id)
    if card is None:
        return "It has no card; `geode reviews` shows it."
    if card.session_id == asked.session:
        return "Its card is in this thread."
    place = sessions.find_thread(asked.tx, card.session_id)
    where = "/".join(part for part in (place.workspace, place.channel, place.thread) if part)
    return f"Its card is in `{where}`."


def _line(name: str, spent: Spent) -> str:
    return f"{name}: {describe_spent(spent)}"


def _read_limit(asked: Asked) -> float | None:
    settings, name = asked.view.settings, asked.binding.profile
    return settings.profile(name).cost_usd_per_day if settings.has_profile(name) else None


def _read_left(asked: Asked) -> int | None:
    """What the turns of the place may still cost today; its profile's places share one budget."""
    limit = _read_limit(asked)
    if limit is None:
        return None
    profile = asked.binding.profile
    shared = [each.key for each in asked.view.settings.bindings if each.profile == profile]
    spent = turns.sum_cost_since(asked.tx, shared, _day_start_us(asked))
    return max(0, int(limit * 1_000_000) - spent)


def _day_start_us(asked: Asked) -> int:
    return day_start_us(asked.now_us, asked.view.settings.agent.timezone)
