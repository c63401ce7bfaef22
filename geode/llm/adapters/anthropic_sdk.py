"""One request through the official Anthropic SDK; the only file that imports it, so import it late.

The SDK carries our bytes and its credentials; its retries, models and event validation stay off.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import anthropic
import httpx2

from geode.errors import ConfigError
from geode.llm.adapters.anthropic_errors import PROVIDER, classify_failure, parse_retry_after
from geode.llm.adapters.anthropic_stream import (
    AnswerBuilder,
    FinishedAnswer,
    StreamedError,
    StreamFaultError,
)
from geode.llm.errors import Overloaded, ProviderError, Unavailable
from geode.llm.sse import EventTooLongError, SseParser
from geode.ports import Clock

CONNECT_S_MAX = 10.0
SILENCE_S_MAX = 120.0
"""A stream that sends nothing for this long, pings included, is dead."""


class SdkRoute:
    """The SDK's client over its aiohttp transport, which costs a third less CPU per call."""

    def __init__(
        self, api_key: str, base_url: str, clock: Clock, *, silence_s_max: float = SILENCE_S_MAX
    ) -> None:
        timeout = httpx2.Timeout(silence_s_max, connect=CONNECT_S_MAX)
        self._clock = clock
        self._api_key = api_key
        try:
            self._sdk = anthropic.AsyncAnthropic(
                api_key=api_key,
                base_url=base_url,
                max_retries=0,
                timeout=timeout,
                open_telemetry=False,
                http_client=anthropic.DefaultAioHttpClient(follow_redirects=False, timeout=timeout),
            )
        except (httpx2.InvalidURL, ValueError) as error:
            raise ConfigError(
                f"providers.anthropic.base_url is not a usable address ({error})."
            ) from error

    async def aclose(self) -> None:
        """Close every connection."""
        await self._sdk.close()

    async def check(self, model: str) -> None:
        """Ask for the size of a word, which costs nothing; a refused key or model is raised."""
        try:
            await self._sdk.messages.count_tokens(
                model=model, messages=[{"role": "user", "content": "hello"}]
            )
        except anthropic.APIError as error:
            raise self._classify(error) from error
        except httpx2.HTTPError as error:
            raise Unavailable(provider=PROVIDER, detail=_name_fault(error)) from error

    async def stream_once(
        self, body: bytes, on_delta: Callable[[str], None] | None
    ) -> FinishedAnswer:
        """One request and its whole stream; every failure leaves classified."""
        try:
            response = await self._sdk.post(
                "/v1/messages", cast_to=httpx2.Response, content=body, stream=True
            )
        except anthropic.APIError as error:
            raise self._classify(error) from error
        except httpx2.HTTPError as error:  # the connection broke inside an error answer
            raise Unavailable(provider=PROVIDER, detail=_name_fault(error)) from error
        try:
            return await _read_answer(response, on_delta)
        except StreamedError as error:
            raise classify_failure(200, error.kind, self._clean(error.message)) from error
        except (StreamFaultError, EventTooLongError, httpx2.HTTPError, OSError) as error:
            raise Overloaded(provider=PROVIDER, detail=_name_fault(error)) from error
        finally:
            await response.aclose()

    def _classify(self, error: anthropic.APIError) -> ProviderError:
        if not isinstance(error, anthropic.APIStatusError):
            return Unavailable(provider=PROVIDER, detail=_name_fault(error.__cause__ or error))
        kind, message = _read_error_body(error.body)
        asked = error.response.headers.get("retry-after")
        retry_after_s = parse_retry_after(asked, self._clock.now_us())
        return classify_failure(error.status_code, kind, self._clean(message), retry_after_s)

    def _clean(self, message: str) -> str:
        # A provider that quotes the key it refuses must not bring it into a chat or a record.
        return message.replace(self._api_key, "[the key]")


def _name_fault(error: BaseException) -> str:
    return str(error) or type(error).__name__


async def _read_answer(
    response: httpx2.Response, on_delta: Callable[[str], None] | None
) -> FinishedAnswer:
    parser, builder = SseParser(), AnswerBuilder(on_delta)
    async for chunk in response.aiter_bytes():
        for data in parser.feed(chunk):
            builder.take(data)
    return builder.finish()


def _read_error_body(body: object) -> tuple[str, str]:
    """The type and the message inside an error body; a proxy's page has neither."""
    told = cast("dict[str, Any]", body).get("error") if isinstance(body, dict) else None
    if not isinstance(told, dict):
        return "", body if isinstance(body, str) else ""
    fields = cast("dict[str, Any]", told)
    return str(fields.get("type") or ""), str(fields.get("message") or "")
