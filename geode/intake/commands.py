"""A command such as /status: answered in the transaction that records it, without the model."""

from __future__ import annotations

from geode.intake.access import Admitted
from geode.intake.outcomes import Stored
from geode.messages import ChatCommand
from geode.ports import Accepted
from geode.store.database import Tx


def run_command(tx: Tx, admitted: Admitted, command: ChatCommand, now_us: int) -> Stored:
    """Do what the command says, within what the person may."""
    return Stored(Accepted("ignored", "access.not_built"))
