"""Every knob that validates is known, and every fault is one sentence (CF-01, CF-04)."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import pytest
from pydantic import Field

from geode.errors import ConfigError
from geode.settings import BUILTIN_PROFILES, READ_ONLY_TOOLS, SecretRef, Section, Settings
from geode.settings_load import Loaded, load_settings

BINDING = '[channels.fifth]\n[[bindings]]\nchannel = "fifth"\nwhere = "w/c"\noperators = ["u1"]\n'


class FifthSettings(Section):
    """What a fifth channel would bring."""

    token: SecretRef = SecretRef("env", "FIFTH_TOKEN")
    require_mention: bool = True
    port: Annotated[int, Field(ge=0, le=65_535)] = 8080
    timeout_ms: int = 500
    ratio: float | None = None


MODELS = {"fifth": FifthSettings}


def _load(tmp_path: Path, text: str, **environ: str) -> Loaded:
    path = tmp_path / "geode.toml"
    path.write_text(text, encoding="utf-8")
    env = {"HOME": str(tmp_path), **environ}
    return load_settings(path, channel_models=MODELS, environ=env)


def _fault(tmp_path: Path, text: str, **environ: str) -> str:
    with pytest.raises(ConfigError) as caught:
        _load(tmp_path, text, **environ)
    sentence = str(caught.value).removeprefix(f"{tmp_path}/")
    assert "\n" not in sentence
    return sentence


UNKNOWN = {
    "key": ("[agent]\nmodle = 'x'", "agent.modle is not a known key; did you mean 'model'?"),
    "camel-case": (
        "[channels.fifth]\nrequireMentions = true",
        "channels.fifth.requireMentions is not a known key; did you mean 'require_mention'?",
    ),
    "dashes": (
        "[limits]\nsteps-max = 3",
        "limits.steps-max is not a known key; did you mean 'steps_max'?",
    ),
    "section": ("[agnet]\n", "[agnet] is not a known section; did you mean [agent]?"),
    "in-binding": (
        BINDING + "oprators = []",
        "bindings[1].oprators is not a known key; did you mean 'operators'?",
    ),
    "hides-other-faults": (
        '[channels.fifth]\n[[bindings]]\nchannel="fifth"\nwhere="w/c"\noperatrs=["u1"]',
        "bindings[1].operatrs is not a known key; did you mean 'operators'? "
        "(Faults after this one: 1.)",
    ),
    "channel": (
        "[channels.fift]\n",
        "[channels.fift] is not an installed channel; did you mean [channels.fifth]?",
    ),
    "provider": (
        "[providers.antropic]\n",
        "[providers.antropic] is not a known provider; known: anthropic.",
    ),
}


@pytest.mark.parametrize(("text", "sentence"), UNKNOWN.values(), ids=UNKNOWN.keys())
def test_unknown_name_is_an_error_with_the_nearest_known(
    tmp_path: Path, text: str, sentence: str
) -> None:
    assert _fault(tmp_path, text) == f"geode.toml: {sentence}"


UNBUILT = {
    "jobs": ("[[jobs]]\nname = 'x'", "[jobs]"),
    "openai": ("[providers.openai]\n", "[providers.openai]"),
    "judge": ("[agent]\njudge_model = 'openai/gpt'", "agent.judge_model: the provider 'openai'"),
    "headless": ("[agent]\nheadless_profile = 'x'", "agent.headless_profile"),
    "model": ("[agent]\nmodel = 'openai/gpt'", "agent.model: the provider 'openai'"),
}


@pytest.mark.parametrize(("text", "key"), UNBUILT.values(), ids=UNBUILT.keys())
def test_what_is_not_built_says_so(tmp_path: Path, text: str, key: str) -> None:
    assert _fault(tmp_path, text) == f"geode.toml: {key} is not built yet; remove it."


def test_unbuilt_keys_at_their_off_value_are_accepted(tmp_path: Path) -> None:
    text = BINDING + 'review_where = ""\n'

    assert _load(tmp_path, text).settings.bindings[0].review_where == ""


def test_a_binding_names_approvers_and_how_long_a_question_waits(tmp_path: Path) -> None:
    text = BINDING + "approvers = ['u1']\ntwo_person = true\napproval_expires_s = 600\n"

    binding = _load(tmp_path, text).settings.bindings[0]

    assert (binding.approvers, binding.two_person) == (("u1",), True)
    assert binding.approval_expires_s == 600


WRONG = {
    "type": ("[agent]\nname = 3", "agent.name should be a valid string, not 3."),
    "bool-for-int": (
        "[limits]\nsteps_max = true",
        "limits.steps_max should be a valid integer, not True.",
    ),
    "text-for-int": (
        "[limits]\nsteps_max = '4'",
        "limits.steps_max should be a valid integer, not '4'.",
    ),
    "range": (
        "[channels.fifth]\nport = 70000",
        "channels.fifth.port should be less than or equal to 65535, not 70000.",
    ),
    "not-a-number": (
        "[limits]\nlease_s = nan",
        "limits.lease_s should be a finite number, not nan.",
    ),
    "not-a-section": ("agent = 3", "agent is not a section; write [agent] and its keys below."),
    "channels-not-a-section": (
        "channels = 3",
        "channels is not a section; write [channels] and its keys below.",
    ),
    "not-a-list": ("[bindings]\nx = 1", "bindings is not a list; write [[bindings]]."),
    "choice": ("[web]\nfetch = 'all'", "web.fetch should be 'seen', 'listed' or 'any', not 'all'."),
    "zone": (
        "[agent]\ntimezone = 'Berlin'",
        "agent.timezone: 'Berlin' is not a time zone; write an IANA name such as "
        '"Europe/Berlin".',
    ),
    "model-without-provider": (
        "[agent]\nmodel = 'claude'",
        "agent.model: 'claude' does not name a model; write \"provider/model\", "
        "where the provider is one of: anthropic.",
    ),
    "postgres": (
        "[state]\nurl = 'postgresql://db/geode'",
        'state.url: Postgres is not built yet; write "sqlite:///geode.db".',
    ),
    "memory": (
        "[state]\nurl = 'sqlite:///:memory:'",
        'state.url: state must be kept in a file; write "sqlite:///geode.db" (in the state '
        'folder) or "sqlite:////absolute/path.db".',
    ),
    "wildcard": (
        "[profiles.x]\ntools = ['*']",
        "profiles.x.tools[1]: '*' is not a tool's name; tools are granted one by one, by name.",
    ),
    "granted-twice": (
        "[profiles.x]\ntools = ['a']\nask = ['a']",
        "profiles.x: 'a' stands in tools and in ask; keep it in one of them.",
    ),
    "domain": (
        "[web]\nallow_domains = ['https://example.org']",
        "web.allow_domains[1]: 'https://example.org' is not a domain; write it without scheme: "
        '"example.org".',
    ),
    "search-kind": (
        "[web]\nsearch = { engine = 'google' }",
        "web.search.engine should be 'searxng' or 'brave', not 'google'.",
    ),
    "search-key-unknown": (
        "[web]\nsearch = { engine = 'searxng', adress = 'http://127.0.0.1:8888' }",
        "web.search.adress is not a known key; known keys: engine, url, api_key.",
    ),
    "search-no-url": (
        "[web]\nsearch = { engine = 'searxng' }",
        'web.search: searxng needs its address; write url = "http://127.0.0.1:8888".',
    ),
    "search-no-key": (
        "[web]\nsearch = { engine = 'brave' }",
        'web.search: brave needs a key; write api_key = "env:BRAVE_API_KEY".',
    ),
    "search-key-written-out": (
        "[web]\nsearch = { engine = 'brave', api_key = 'BSAcanary' }",
        "web.search.api_key: a secret is never written here; write where it lies: "
        '"env:NAME" or "file:/path".',
    ),
    "search-key-in-the-clear": (
        "[web]\nsearch = { engine = 'brave', api_key = 'env:K', url = 'http://brave.example' }",
        "web.search: a key is sent only over https; write url with https://.",
    ),
    "search-key-for-searxng": (
        "[web]\nsearch = { engine = 'searxng', api_key = 'env:K', url = 'http://127.0.0.1' }",
        "web.search: searxng has no key; remove api_key.",
    ),
    "search-login": (
        "[web]\nsearch = { engine = 'searxng', url = 'http://me:pw@127.0.0.1' }",
        "web.search.url is not an address; write http(s)://host[:port][/path], without a login.",
    ),
    "base-url": (
        "[providers.anthropic]\nbase_url = 'https://me:pw@example.org'",
        "providers.anthropic.base_url is not an address; write http(s)://host[:port][/path], "
        "without a login.",
    ),
    "price": (
        "[providers.anthropic]\nprices = { x = [1.0] }",
        "providers.anthropic.prices.x: a price is written [input, output, cached input] in USD "
        "per million tokens.",
    ),
    "profile": (
        BINDING + "profile = 'research'",
        "bindings[1].profile is 'research', which does not exist; add [profiles.research].",
    ),
    "channel-not-configured": (
        "[[bindings]]\nchannel = 'fifth'\nwhere = 'w/c'\noperators = ['u1']",
        "bindings[1].channel is 'fifth', which is not configured; add [channels.fifth].",
    ),
    "bound-twice": (
        BINDING + BINDING.partition("\n")[2],
        "bindings[2].where is 'w/c' a second time; bind a place once.",
    ),
}


@pytest.mark.parametrize(("text", "sentence"), WRONG.values(), ids=WRONG.keys())
def test_wrong_value_is_one_sentence(tmp_path: Path, text: str, sentence: str) -> None:
    assert _fault(tmp_path, text) == f"geode.toml: {sentence}"


@pytest.mark.parametrize(
    ("written", "value"),
    [
        *((text, False) for text in ("false", "FALSE", "0", "no", "off")),
        *((text, True) for text in ("true", "TRUE", "1", "yes", "on")),
    ],
)
def test_variable_reads_booleans_as_people_spell_them(
    tmp_path: Path, written: str, *, value: bool
) -> None:
    start = f"[channels.fifth]\nrequire_mention = {str(not value).lower()}\n"

    loaded = _load(tmp_path, start, GEODE_CHANNELS__FIFTH__REQUIRE_MENTION=written)

    assert loaded.settings.channels["fifth"] == FifthSettings(require_mention=value)


@pytest.mark.parametrize("empty", ["", "  "])
def test_empty_variable_is_unset(tmp_path: Path, empty: str) -> None:
    loaded = _load(tmp_path, '[agent]\nname = "X"', GEODE_AGENT__NAME=empty)

    assert loaded.settings.agent.name == "X"
    assert loaded.sources["agent.name"] == "file"


@pytest.mark.parametrize(
    ("variable", "value", "sentence"),
    [
        ("CHANNELS__FIFTH__REQUIRE_MENTION", "sometimes", "should be true or false"),
        ("CHANNELS__FIFTH__TIMEOUT_MS", "2000ms", "should be a whole number"),
        ("CHANNELS__FIFTH__TIMEOUT_MS", "1e3", "should be a whole number"),
        ("CHANNELS__FIFTH__RATIO", "half", "should be a number"),
        ("LIMITS__LEASE_S", "inf", "should be a number"),
    ],
)
def test_variable_that_cannot_be_read_is_named_with_its_value(
    tmp_path: Path, variable: str, value: str, sentence: str
) -> None:
    fault = _fault(tmp_path, "[channels.fifth]", **{f"GEODE_{variable}": value})

    assert fault == f"GEODE_{variable} {sentence}, not {value!r}."


def test_variable_out_of_range_is_named_with_its_value(tmp_path: Path) -> None:
    fault = _fault(tmp_path, "", GEODE_CHANNELS__FIFTH__PORT="70000")

    assert fault == "GEODE_CHANNELS__FIFTH__PORT should be less than or equal to 65535, not 70000."


@pytest.mark.parametrize(
    ("variable", "sentence"),
    [
        ("GEODE_AGNET__NAME", "[agnet] is not a known section; did you mean [agent]?"),
        ("GEODE_AGENT__NAMES", "agent.names is not a known key; did you mean 'name'?"),
        ("GEODE_JOBS__NAME", "[jobs] is not built yet; remove it."),
    ],
)
def test_misspelt_variable_is_an_error(tmp_path: Path, variable: str, sentence: str) -> None:
    assert _fault(tmp_path, "", **{variable: "x"}) == f"{variable}: {sentence}"


@pytest.mark.parametrize("variable", ["GEODE_WEB__ALLOW_DOMAINS", "GEODE_AGENT__NAME__X"])
def test_variable_sets_single_values_only(tmp_path: Path, variable: str) -> None:
    assert _fault(tmp_path, "", **{variable: "x"}).startswith(f"{variable} does not name a")


def test_environment_goes_before_file_before_default_and_is_recorded(tmp_path: Path) -> None:
    text = '[agent]\nname = "file"\n[limits]\nsteps_max = 7\n[profiles.My-Own]\ntools = []\n'

    loaded = _load(
        tmp_path,
        text,
        GEODE_AGENT__NAME="variable",
        GEODE_PROFILES__MY_OWN__COST_USD_PER_DAY="2.5",
        GEODE_STATE__URL="sqlite:////srv/x.db",
    )

    assert loaded.settings.agent.name == "variable"
    assert loaded.settings.profiles["My-Own"].cost_usd_per_day == 2.5
    assert loaded.database_path == Path("/srv/x.db")
    expected = {
        "agent.name": "environment",
        "agent.model": "default",
        "limits.steps_max": "file",
        "limits.lease_s": "default",
        "profiles.My-Own.cost_usd_per_day": "environment",
        "profiles.My-Own.tools": "file",
        "state.url": "environment",
    }
    assert {key: loaded.sources[key] for key in expected} == expected


def test_default_profile_grants_reads_only() -> None:
    assert Settings().profile("default").tools == READ_ONLY_TOOLS
    assert not BUILTIN_PROFILES["default"].grants_all


def test_written_profile_goes_before_the_built_in_one(tmp_path: Path) -> None:
    loaded = _load(tmp_path, "[profiles.default]\ntools = ['read_file']\nask = ['write_file']")

    profile = loaded.settings.profile("default")

    assert (profile.tools, profile.ask) == ({"read_file"}, {"write_file"})


def test_old_judgment_engines_resolve_to_the_model(tmp_path: Path) -> None:
    loaded = _load(tmp_path, "[agent]\njudgment_engine = 'rule_based'")

    assert loaded.settings.agent.judgment_engine == "llm"


def test_prices_are_read_per_model(tmp_path: Path) -> None:
    loaded = _load(tmp_path, '[providers.anthropic.prices]\n"claude-x.1" = [4, 20.0, 0.2]\n')

    assert loaded.settings.providers["anthropic"].prices == {"claude-x.1": (4.0, 20.0, 0.2)}
