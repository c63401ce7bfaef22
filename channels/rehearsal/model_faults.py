"""What goes wrong at a model API on request, in the words of the company that runs it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from channels.rehearsal.faults import Fault, FaultKind, Faults
from channels.rehearsal.model_answers import Answer, Failure, text

REFUSED_WORDS = "I can't help with that."


@dataclass(frozen=True, slots=True)
class Vendor:
    """How one company words the failures of its APIs."""

    rate_limited: Failure
    overloaded: Failure
    no_quota: Failure
    context_overflow: Failure
    server_kind: str
    bad_request: str
    bad_key: Failure
    stream_error: str
    """The type of an error event that a fault does not name."""


ANTHROPIC = Vendor(
    rate_limited=Failure(429, "rate_limit_error", "This request would exceed your rate limit."),
    overloaded=Failure(529, "overloaded_error", "Overloaded"),
    no_quota=Failure(
        400,
        "invalid_request_error",
        "Your credit balance is too low to access the Anthropic API. "
        "Please go to Plans & Billing to upgrade or purchase credits.",
    ),
    context_overflow=Failure(
        400, "invalid_request_error", "prompt is too long: 210000 tokens > 200000 maximum"
    ),
    server_kind="api_error",
    bad_request="invalid_request_error",
    bad_key=Failure(401, "authentication_error", "invalid x-api-key"),
    stream_error="overloaded_error",
)
OPENAI = Vendor(
    rate_limited=Failure(
        429, "tokens", "Rate limit reached for this model.", code="rate_limit_exceeded"
    ),
    overloaded=Failure(503, "server_error", "The engine is currently overloaded."),
    no_quota=Failure(
        429,
        "insufficient_quota",
        "You exceeded your current quota, please check your plan and billing details.",
        code="insufficient_quota",
    ),
    context_overflow=Failure(
        400,
        "invalid_request_error",
        "This model's maximum context length is 128000 tokens. "
        "However, your messages resulted in 130000 tokens.",
        code="context_length_exceeded",
        param="messages",
    ),
    server_kind="server_error",
    bad_request="invalid_request_error",
    bad_key=Failure(
        401, "invalid_request_error", "Incorrect API key provided.", code="invalid_api_key"
    ),
    stream_error="server_error",
)


def take_failure(faults: Faults, vendor: Vendor, endpoint: str, words: str) -> Failure | None:
    """The failure that a fault in force puts in the place of an answer, if there is one."""
    ways: dict[FaultKind, Callable[[Fault], Failure]] = {
        FaultKind.RATE_LIMITED: lambda fault: _limit(vendor, fault),
        FaultKind.OVERLOADED: lambda _: vendor.overloaded,
        FaultKind.NO_QUOTA: lambda _: vendor.no_quota,
        FaultKind.CONTEXT_OVERFLOW: lambda _: vendor.context_overflow,
        FaultKind.SERVER_ERROR: lambda f: Failure(f.status, vendor.server_kind, "upstream failure"),
        FaultKind.ERROR: lambda f: Failure(f.status, f.error),
    }
    for kind, make in ways.items():
        fault = faults.take(kind, endpoint, words)
        if fault is not None:
            return make(fault)
    return None


def _limit(vendor: Vendor, fault: Fault) -> Failure:
    return replace(vendor.rate_limited, headers={"retry-after": str(fault.retry_after_s)})


def twist_answer(answer: Answer, faults: Faults, endpoint: str) -> Answer:
    """The answer with every fault in force that leaves it an answer."""
    if fault := faults.take(FaultKind.SLOW_RESPONSE, endpoint):
        answer = replace(answer, wait_s=fault.delay_s)
    if faults.take(FaultKind.REFUSAL, endpoint):
        answer = replace(answer, blocks=[text(REFUSED_WORDS)], stop_reason="refusal")
    return answer


def twist_stream(answer: Answer, faults: Faults, vendor: Vendor, endpoint: str) -> Answer:
    """The same for what can only go wrong in a stream."""
    if faults.take(FaultKind.NO_START, endpoint):
        answer = replace(answer, has_start=False)
    if fault := faults.take(FaultKind.CUT_STREAM, endpoint):
        answer = replace(answer, cut_after=fault.after)
    if fault := faults.take(FaultKind.ERROR_EVENT, endpoint):
        kind = vendor.stream_error if fault.error == "internal_error" else fault.error
        answer = replace(answer, error_after=(fault.after, kind))
    return answer
