"""What the operator may set, section by section; every knob that validates is read somewhere."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Annotated, Literal, NamedTuple, cast
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from pydantic import (
    BeforeValidator,
    Field,
    InstanceOf,
    ValidationInfo,
    field_validator,
    model_validator,
)

from geode.settings_hooks import HooksSettings
from geode.settings_ids import (
    BoundPlace,
    parse_destination,
    parse_people,
    parse_where,
    split_where,
)
from geode.settings_mcp import McpSettings
from geode.settings_retention import RetentionSettings
from geode.settings_search import SearchSettings
from geode.settings_secrets import SecretRef
from geode.settings_section import (
    NOT_BUILT,
    Domains,
    HttpUrl,
    Section,
    ToolNames,
    list_to_tuple,
)

PROVIDERS_BUILT = ("anthropic",)
PROVIDERS_PLANNED = ("openai", "glm", "openrouter", "jev", "local")
JUDGE_PROVIDERS = ("jev", "openrouter")
"""The ways to the judge Jev: its own service, and OpenRouter; neither answers anybody."""
JEV_MODELS = ("jev/jev-1.13.0", "openrouter/typesafe/jev-1.13")
SECTIONS_PLANNED = ("jobs",)
CHANNEL_EMBEDDED = "web"
"""The installed channel that serves when no `[channels.*]` is written."""
REHEARSAL = "rehearsal"
TERMINAL = "terminal"
"""The channel that the runtime brings itself; no installed one may have its name."""


class AgentSettings(Section):
    """`[agent]`: who answers, with which model."""

    name: str = Field(default="Geode", min_length=1, max_length=80)
    model: str = ""
    """`provider/model`; empty without any `[providers.*]` means the rehearsal model."""
    judge_model: str = ""
    """Who judges each answer, `provider/model`; empty: the same model."""
    judgment_engine: Literal["llm", "jev", "off", "rule_based"] = "llm"
    timezone: str = "UTC"
    terminal_profile: str = "terminal"
    """What is granted to whoever talks at this machine's terminal."""
    headless_profile: str = "default"

    @field_validator("headless_profile")
    @classmethod
    def _only_the_default_is_built(cls, value: str, info: ValidationInfo) -> str:
        if value != cls.model_fields[str(info.field_name)].default:
            raise ValueError(NOT_BUILT)
        return value

    @field_validator("model", "judge_model")
    @classmethod
    def _model_names_a_provider(cls, value: str, info: ValidationInfo) -> str:
        provider, slash, model = value.partition("/")
        if info.field_name == "judge_model" and value in JEV_MODELS:
            return value
        if value in {"", REHEARSAL}:
            return value
        if provider in PROVIDERS_PLANNED:
            raise ValueError(f"the provider {provider!r} {NOT_BUILT}")
        if provider not in PROVIDERS_BUILT or not slash or not model.strip():
            raise ValueError(
                f'{value!r} does not name a model; write "provider/model", '
                f"where the provider is one of: {', '.join(PROVIDERS_BUILT)}"
            )
        return value

    @field_validator("judgment_engine")
    @classmethod
    def _engine_is_known(cls, value: str) -> str:
        # Verification is never off: what older files say for that means the LLM judge.
        return value if value == "jev" else "llm"

    @model_validator(mode="after")
    def _judge_fits_its_engine(self) -> AgentSettings:
        if self.judgment_engine == "jev" and self.judge_model not in ("", *JEV_MODELS):
            raise ValueError(
                f"judge_model is {self.judge_model!r}, but the engine is jev: "
                f"leave it out, or write one of {', '.join(JEV_MODELS)}"
            )
        if self.judgment_engine != "jev" and self.judge_model in JEV_MODELS:
            raise ValueError(f'{self.judge_model!r} judges with judgment_engine = "jev" only')
        return self

    @field_validator("timezone")
    @classmethod
    def _zone_exists(cls, value: str) -> str:
        try:
            ZoneInfo(value)
        except (ZoneInfoNotFoundError, ValueError, OSError):
            raise ValueError(
                f'{value!r} is not a time zone; write an IANA name such as "Europe/Berlin"'
            ) from None
        return value


class StateSettings(Section):
    """`[state]`: where everything that must survive is kept."""

    url: str = "sqlite:///geode.db"

    @field_validator("url")
    @classmethod
    def _is_a_sqlite_file(cls, value: str) -> str:
        if value.startswith(("postgresql:", "postgresql+", "postgres:")):
            raise ValueError('Postgres is not built yet; write "sqlite:///geode.db"')
        path = value.removeprefix("sqlite:///")
        if path == value or not path.strip("/") or ":memory:" in path or "?" in path:
            raise ValueError(
                'state must be kept in a file; write "sqlite:///geode.db" (in the state folder) '
                'or "sqlite:////absolute/path.db"'
            )
        return value

    def path_under(self, state_folder: Path) -> Path:
        """The database file; a relative path lies in the state folder, wherever we were started."""
        return state_folder / self.url.removeprefix("sqlite:///")


class LimitSettings(Section):
    """`[limits]`: hard stops; reaching one is said in the chat."""

    turns_parallel: int = Field(default=4, ge=1, le=1_000)
    inbox_depth_session: int = Field(default=50, ge=1, le=100_000)
    inbox_depth_total: int = Field(default=5_000, ge=1, le=10_000_000)
    steps_max: int = Field(default=20, ge=1, le=1_000)
    """Model calls of one turn."""
    lease_s: float = Field(default=30.0, ge=0.2, le=3_600)
    catchup_max_age_s: int = Field(default=86_400, ge=0)
    cost_usd_per_turn: float | None = Field(default=None, gt=0)


class TokenPrice(NamedTuple):
    """USD per million tokens."""

    input_usd: float
    output_usd: float
    cached_input_usd: float


def _parse_price(value: object) -> TokenPrice:
    if isinstance(value, TokenPrice):
        return value
    items = cast("list[object]", value) if isinstance(value, list) else []
    numbers = [float(n) for n in items if isinstance(n, int | float) and not isinstance(n, bool)]
    if len(numbers) != len(items) or len(numbers) not in {2, 3} or not all(n >= 0 for n in numbers):
        raise ValueError(
            "a price is written [input, output, cached input] in USD per million tokens"
        )
    return TokenPrice(numbers[0], numbers[1], numbers[-1] if len(numbers) == 3 else numbers[0])


class ProviderSettings(Section):
    """`[providers.NAME]`: how to reach one model provider."""

    api_key: SecretRef | None = None
    base_url: HttpUrl = ""
    prices: Mapping[str, Annotated[TokenPrice, BeforeValidator(_parse_price)]] = {}
    """Prices by model id, for models whose price the catalogue does not know."""


SEND_MESSAGE = "send_message"


class ProfileSettings(Section):
    """`[profiles.NAME]`: what a binding grants, tool by tool."""

    tools: ToolNames = ()
    ask: ToolNames = ()
    """Granted, but each call needs an approver; without approvers each call is denied."""
    send_to: Annotated[
        tuple[Annotated[str, BeforeValidator(parse_destination)], ...],
        BeforeValidator(list_to_tuple),
    ] = ()
    """Where send_message may post: `slack:T0123/C0456`, in the form of a binding's key."""
    cost_usd_per_day: float | None = Field(default=None, gt=0)

    @model_validator(mode="after")
    def _grants_once(self) -> ProfileSettings:
        twice = sorted(set(self.tools) & set(self.ask))
        if twice:
            raise ValueError(f"{twice[0]!r} stands in tools and in ask; keep it in one of them")
        if bool(self.send_to) != (SEND_MESSAGE in {*self.tools, *self.ask}):
            raise ValueError(
                f"{SEND_MESSAGE} and send_to belong together; grant the tool and list its places"
            )
        return self


@dataclass(frozen=True, slots=True)
class Profile:
    """A profile as the runtime reads it, built in or from the file."""

    name: str
    tools: frozenset[str]
    ask: frozenset[str] = frozenset()
    grants_all: bool = False
    """Every registered tool; those with an effect ask. Only the built-in terminal profile."""
    cost_usd_per_day: float | None = None
    send_to: tuple[str, ...] = ()


READ_ONLY_TOOLS = frozenset(
    (
        *("list_files", "read_file", "grep_files", "read_document"),
        *("web_fetch", "web_search", "memory_search", "update_plan"),
    )
)
BUILTIN_PROFILES: Mapping[str, Profile] = {
    "default": Profile("default", READ_ONLY_TOOLS),
    "terminal": Profile("terminal", frozenset(), grants_all=True),
}


class Binding(Section):
    """One of `[[bindings]]`: a place that is served, for whom, and by whose authority."""

    channel: str = Field(min_length=1)
    where: str
    people: tuple[str, ...] | Literal["members"] = ()
    """Who may talk; an empty list matches nobody, `members` everyone in the channel."""
    operators: tuple[str, ...] = ()
    approvers: tuple[str, ...] = ()
    """Who may answer when a call asks; nobody: each such call is denied."""
    review_where: str = ""
    """Where answers that failed their check are shown to reviewers; empty: on demand only."""
    two_person: bool = False
    """Nobody approves a call of a turn that they asked for themselves."""
    approval_expires_s: int | None = Field(default=None, ge=10, le=30 * 86_400)
    """After so long an unanswered question is denied; None: it waits."""
    respond: Literal["mention", "always"] = "mention"
    profile: str = "default"
    time_budget_s: float = Field(default=300.0, gt=0, le=86_400)

    @property
    def key(self) -> str:
        """The binding's name in records and jobs: `slack:T0123/C0456`."""
        return f"{self.channel}:{self.where}"

    @cached_property
    def place(self) -> BoundPlace:
        """`where`, taken apart."""
        return split_where(self.where)

    @field_validator("where", mode="before")
    @classmethod
    def _where_is_exact(cls, value: object, info: ValidationInfo) -> str:
        return parse_where(str(info.data.get("channel", "")), value)

    @field_validator("review_where", mode="before")
    @classmethod
    def _review_where_is_exact(cls, value: object, info: ValidationInfo) -> str:
        if value == "":
            return ""
        where = parse_where(str(info.data.get("channel", "")), value)
        place = split_where(where)
        if place.is_direct:
            raise ValueError("reviews need one place that reviewers read; name a channel")
        if info.data.get("channel") == "web" and not place.thread:
            raise ValueError("a room of the page shows conversations only; name one of them")
        return where

    @cached_property
    def review_place(self) -> BoundPlace | None:
        """`review_where`, taken apart; None: there is none."""
        return split_where(self.review_where) if self.review_where else None

    @field_validator("people", "operators", "approvers", mode="before")
    @classmethod
    def _people_are_ids(cls, value: object, info: ValidationInfo) -> object:
        if info.field_name == "people" and value == "members":
            return value
        return parse_people(str(info.data.get("channel", "")), value)

    @field_validator("operators")
    @classmethod
    def _has_an_operator(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        if not value:
            raise ValueError("a binding names at least one operator, by platform id")
        return value

    @model_validator(mode="after")
    def _reviews_are_elsewhere(self) -> Binding:
        place, shown = self.place, self.review_place
        if shown is None or (shown.workspace, shown.channel) != (place.workspace, place.channel):
            return self
        if not place.thread or shown.thread in ("", place.thread):
            raise ValueError("review_where names the place of the askers; name another one")
        return self

    @model_validator(mode="after")
    def _direct_messages_have_people(self) -> Binding:
        if self.place.is_direct and self.people == "members":
            raise ValueError('direct messages have no members; list the ids in "people"')
        return self


class WebSettings(Section):
    """`[web]`: what web_fetch may open, and what web_search asks."""

    fetch: Literal["seen", "listed", "any"] = "seen"
    """`seen`: addresses that a person or a result named; `listed`: only `allow_domains`."""
    allow_domains: Domains = ()
    search: SearchSettings | None = None
    """None: there is no web_search."""


class Settings(Section):
    """The whole configuration, checked; what is not written has its built-in default."""

    agent: AgentSettings = AgentSettings()
    state: StateSettings = StateSettings()
    retention: RetentionSettings = RetentionSettings()
    limits: LimitSettings = LimitSettings()
    providers: Mapping[str, ProviderSettings] = {}
    channels: Mapping[str, InstanceOf[Section]] = {}
    """Each channel's own settings model, by the channel's name."""
    bindings: Annotated[tuple[Binding, ...], BeforeValidator(list_to_tuple)] = ()
    profiles: Mapping[str, ProfileSettings] = {}
    web: WebSettings = WebSettings()
    hooks: HooksSettings = HooksSettings()
    mcp: McpSettings = McpSettings()

    def has_profile(self, name: str) -> bool:
        """Whether a profile of that name is written or built in."""
        return name in self.profiles or name in BUILTIN_PROFILES

    def profile(self, name: str) -> Profile:
        """The profile of that name: the file's before the built-in one; raises `KeyError`."""
        written = self.profiles.get(name)
        if written is None:
            return BUILTIN_PROFILES[name]
        return Profile(
            name,
            tools=frozenset(written.tools),
            ask=frozenset(written.ask),
            cost_usd_per_day=written.cost_usd_per_day,
            send_to=written.send_to,
        )
