"""All tools of the process, from every source; what of them a step has is the plan's decision."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from geode.steps import Absence, Tool, ToolSource


class Toolbox:
    """The sources together; a name that two of them offer is offered twice, and so by none."""

    def __init__(self, sources: Sequence[ToolSource]) -> None:
        self._sources = tuple(sources)

    @property
    def generation(self) -> int:
        """Grows whenever one of the sources changes."""
        return sum(source.generation for source in self._sources)

    @property
    def tools(self) -> tuple[Tool, ...]:
        """What is offered now, the built-in tools first."""
        return tuple(tool for source in self._sources for tool in source.tools)

    @property
    def by_name(self) -> Mapping[str, Tool]:
        """The same by name."""
        return {tool.name: tool for tool in self.tools}

    @property
    def absences(self) -> Mapping[str, Absence]:
        """What is configured and cannot be had now, with the reason."""
        return {name: why for source in self._sources for name, why in source.absences.items()}

    @property
    def names(self) -> frozenset[str]:
        """Every name that a profile may grant."""
        return frozenset(name for source in self._sources for name in source.names)
