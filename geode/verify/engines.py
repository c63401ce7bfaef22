"""Which judge the settings chose: a model, or Jev."""

from __future__ import annotations

from geode.llm.routes import BoundModels
from geode.ports import Clock
from geode.verify.jev_judge import JevJudge
from geode.verify.judge import Judge
from geode.verify.llm_judge import LlmJudge
from geode.verify.rubric import TakeOut


def open_judge(models: BoundModels, clock: Clock, take_out: TakeOut) -> Judge:
    """The judge of a process; it holds no connection of its own."""
    if models.jev is not None:
        return JevJudge(models.jev, clock, take_out)
    return LlmJudge(models.judging, models.answering.adapter.provider, clock, take_out)
