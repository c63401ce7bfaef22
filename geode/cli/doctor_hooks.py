"""What `geode doctor` says of hooks: which could not be started; none of them is run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from geode.hooks.programs import find_faults, place_of
from geode.ports import Finding
from geode.settings_load import Loaded


def look_at_hooks(loaded: Loaded, environ: Mapping[str, str]) -> Iterator[Finding]:
    """A fault for each that ends the start, or how many there are."""
    hooks = loaded.settings.hooks
    count = len(list(hooks.list_decisions())) + len(list(hooks.list_observers()))
    faults = list(find_faults(hooks, place_of(loaded), environ))
    for sentence in faults:
        yield Finding("fault", "hooks", sentence)
    if count and not faults:
        yield Finding("ok", "hooks", f"{count} can be started")
