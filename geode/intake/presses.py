"""A press of a card's button: who may decide it, and that it is decided once."""

from __future__ import annotations

from geode.intake.access import Admitted
from geode.intake.outcomes import Stored
from geode.messages import ButtonPress
from geode.ports import Accepted
from geode.store.database import Tx


def press_button(tx: Tx, admitted: Admitted, press: ButtonPress, now_us: int) -> Stored:
    """Record a person's decision; of several presses of a card one decides."""
    return Stored(Accepted("ignored", "access.not_built"))
