"""How a model call fails: eight kinds, classified once by the adapter, each a sentence to act on.

ModelError
├── RateLimited       wait, then the same call may pass      (retryable)
├── Overloaded        the provider failed or broke off       (retryable)
├── Unavailable       the provider could not be reached      (retryable)
├── Unauthorised      the key is wrong or may not do this
├── BadRequest        the provider does not accept the request
├── ContextOverflow   the conversation is too long for the model
├── Billing           the account cannot pay
└── Refused           the provider's policy forbids the request
"""

from __future__ import annotations

from geode.errors import ModelError

DETAIL_CHARS_MAX = 240
"""The provider's own words are cut here: they may quote the request."""


def clip_detail(detail: str) -> str:
    """The provider's words on one line, short enough for a log line and a chat notice."""
    line = " ".join(detail.split())
    return line if len(line) <= DETAIL_CHARS_MAX else line[: DETAIL_CHARS_MAX - 1] + "…"


class ProviderError(ModelError):
    """A classified failure; the message says who, what happened and what to do."""

    sentence = "{provider} failed."

    def __init__(self, *, provider: str = "The model provider", detail: str = "") -> None:
        clipped = clip_detail(detail)
        told = f" ({clipped})" if clipped else ""
        super().__init__(self.sentence.format(provider=provider, told=told))
        self.provider = provider
        self.detail = clipped
        self.retry_after: float | None = None
        """Seconds the provider asked us to wait before the next call, where it said so."""

    @property
    def plain(self) -> str:
        """The message without the provider's own words, which may quote the request."""
        return self.sentence.format(provider=self.provider, told="")


class RateLimited(ProviderError):
    """The provider asks us to wait before the next call."""

    retryable = True
    sentence = "{provider} limits the rate of calls{told}; try again in a while."

    def __init__(
        self,
        retry_after: float | None = None,
        *,
        provider: str = "The model provider",
        detail: str = "",
    ) -> None:
        super().__init__(provider=provider, detail=detail)
        self.retry_after = retry_after


class Overloaded(ProviderError):
    """The provider failed on its side, or its answer broke off; nothing of it was used."""

    retryable = True
    sentence = "{provider} is overloaded or broke off its answer{told}; try again in a while."

    def __init__(
        self,
        retry_after: float | None = None,
        *,
        provider: str = "The model provider",
        detail: str = "",
    ) -> None:
        super().__init__(provider=provider, detail=detail)
        self.retry_after = retry_after


class Unavailable(ProviderError):
    """The provider could not be reached, or did not answer in time."""

    retryable = True
    sentence = "{provider} could not be reached{told}; check the network and providers.*.base_url."


class Unauthorised(ProviderError):
    """The provider does not accept the key, or the key may not use this model."""

    sentence = "{provider} refused the key{told}; an operator must check providers.*.api_key."


class BadRequest(ProviderError):
    """The provider does not accept the request as it is; repeating it changes nothing."""

    sentence = (
        "{provider} did not accept the request{told}; an operator must look at the model settings."
    )


class ContextOverflow(ProviderError):
    """The conversation is longer than the model's window."""

    sentence = (
        "The conversation is too long for the model of {provider}{told}; begin afresh with /new."
    )


class Billing(ProviderError):
    """The account behind the key cannot pay for the call."""

    sentence = "{provider} reports a billing problem{told}; an operator must look at the account."


class Refused(ProviderError):
    """The provider's usage policy forbids this request."""

    sentence = "{provider} refuses this request by its usage policy{told}; ask for something else."
