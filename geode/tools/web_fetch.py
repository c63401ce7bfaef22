"""`web_fetch`: one page as text, at an address that a person, the outside or the operator named."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, Protocol, TypeAlias

from geode.errors import FetchRefusedError, ToolError
from geode.messages import JsonObject, Mode
from geode.ports import UrlWitness
from geode.steps import DataClass, Done, Effect, Ending, NotApplied, SafetyPolicy, Tool, ToolContext
from geode.tools import schema
from geode.tools.fetch.client import FetchedPage, FetchRules, fetch
from geode.tools.fetch.page import render_page
from geode.tools.fetch.url import URL_CHARS_MAX, WebUrl, parse_host, parse_url

POLICY = SafetyPolicy(
    effect=Effect.READ, data_class=DataClass.PUBLIC, approval="none", modes=frozenset(Mode)
)

FetchPolicy: TypeAlias = Literal["seen", "listed", "any"]

_DESCRIPTIONS: dict[FetchPolicy, str] = {
    "seen": "Read a web page whose URL a person or an earlier result in this session named.",
    "listed": "Read a web page of the operator's list of domains.",
    "any": "Read a public web page.",
}


class Fetch(Protocol):
    """The fetch function, as the tool needs it."""

    async def __call__(self, url: str, *, rules: FetchRules) -> FetchedPage:
        """One page within the rules; raises `FetchRefusedError`."""
        ...


@dataclass(frozen=True, slots=True)
class FetchGrant:
    """Which addresses the operator lets the agent fetch."""

    policy: FetchPolicy = "seen"
    allow_domains: tuple[str, ...] = ()
    """Hosts that are always allowed, each with its subdomains."""

    def lists(self, host: str) -> bool:
        """Whether the host is one of the domains or lies below one."""
        domains = [_plain_domain(text) for text in self.allow_domains]
        return any(host == domain or host.endswith(f".{domain}") for domain in domains if domain)


def build(witness: UrlWitness, grant: FetchGrant, *, fetch_page: Fetch = fetch) -> Tool:
    """The tool under this grant; `fetch_page` is the one fetch function."""

    async def web_fetch(context: ToolContext, arguments: JsonObject) -> Ending:
        try:
            url = parse_url(schema.text_of(arguments, "url"))
            is_named = await _check_named(witness, grant, context, url)
            page = await fetch_page(url.text, rules=_rules(grant, is_named=is_named))
        except ToolError as exc:
            return NotApplied(str(exc))
        # A page at an address the model made up may only repeat what stands in that address.
        return Done(await render_page(page), names_urls=is_named)

    return Tool(
        name="web_fetch",
        description=_DESCRIPTIONS[grant.policy],
        schema=schema.closed_object(
            ("url",), url=schema.string("http or https URL", chars_max=URL_CHARS_MAX, chars_min=8)
        ),
        policy=POLICY,
        handler=web_fetch,
        reaches_out=True,
    )


async def _check_named(
    witness: UrlWitness, grant: FetchGrant, context: ToolContext, url: WebUrl
) -> bool:
    """Whether somebody named the URL; raises unless the grant covers it."""
    if grant.policy == "seen" and await _is_named(witness, context, url):
        return True
    if grant.policy == "any" or grant.lists(url.host):
        return False
    if grant.policy == "listed":
        raise FetchRefusedError(f"{url.host} is not one of the domains the operator listed.")
    raise FetchRefusedError(
        f"{url.text} was not named by a person or by an earlier result in this session, so it is "
        "not fetched. Ask for the exact address."
    )


async def _is_named(witness: UrlWitness, context: ToolContext, url: WebUrl) -> bool:
    # Whoever named the http address also named its encrypted form.
    spellings = [url.text]
    if url.scheme == "https" and url.port == 443:
        spellings.append(f"http{url.text.removeprefix('https')}")
    for spelling in spellings:
        if await witness.is_named(context, spelling):
            return True
    return False


def _rules(grant: FetchGrant, *, is_named: bool) -> FetchRules:
    """What only the list allows stays within the list, redirects included."""
    if grant.policy == "any" or is_named:
        return FetchRules()

    def refuse(hop: WebUrl) -> str | None:
        if grant.lists(hop.host):
            return None
        return f"The page leads to {hop.host}, which is not one of the domains the operator listed."

    return FetchRules(refuse=refuse)


def _plain_domain(text: str) -> str:
    """The domain in the form a parsed host has; empty when it is no host name."""
    try:
        return parse_host(text.strip().removeprefix("*.").strip("."))
    except FetchRefusedError:
        return ""
