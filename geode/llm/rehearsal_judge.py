"""How the rehearsal model judges: everything passes, unless the request says otherwise; pure."""

from __future__ import annotations

import re
from collections.abc import Sequence

import orjson

from geode.llm.rehearsal_rules import Failure, find_failure, read_requests
from geode.messages import Message, Text

LABEL = "(rehearsal judge)"
SECOND_TRY = "Second try."
"""How every answer begins that was sent back before; by that the judge knows it."""
MISS = f"The request asks that its first answer does not pass the check {LABEL}."
REFLECTION = "Answer once more."
_REQUEST = re.compile(r"<judged-request>(.*?)</judged-request>", re.DOTALL)
_ANSWER = re.compile(r"<judged-answer\b[^>]*>\s*(.*?)\s*</judged-answer>", re.DOTALL)


def judge_by_rule(messages: Sequence[Message]) -> str:
    """The verdict about the candidate that the judge's prompt holds, as JSON."""
    prompt = messages[-1].text if messages else ""
    request, answer = _REQUEST.search(prompt), _ANSWER.search(prompt)
    asked = read_requests([Message("user", (Text(request[1] if request else ""),))])
    found = [failure for each in asked if (failure := find_failure(each.text)) is not None]
    if not found or (answer is not None and answer[1].startswith(SECOND_TRY)):
        return _write(passed=True)
    return _write(passed=False, may_retry=Failure.FOR_GOOD not in found)


def _write(*, passed: bool, may_retry: bool = False) -> str:
    verdict = {
        "rubric_misses": [] if passed else [MISS],
        "passed": passed,
        "reflection": "" if passed else REFLECTION,
        "retry_worthwhile": may_retry,
    }
    return orjson.dumps(verdict).decode()
