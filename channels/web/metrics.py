"""The service's numbers in the form that Prometheus reads."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

from geode.oversight import Measurement

PREFIX = "geode_"
CONTENT_TYPE = CONTENT_TYPE_LATEST


def expose(measurements: Sequence[Measurement]) -> bytes:
    """The exposition of these numbers and of nothing else."""
    registry = CollectorRegistry(auto_describe=False)
    registry.register(_Measured(measurements))
    return generate_latest(registry)


class _Measured(Collector):
    def __init__(self, measurements: Sequence[Measurement]) -> None:
        self._measurements = measurements

    def describe(self) -> Iterable[Metric]:
        return ()

    def collect(self) -> Iterable[Metric]:
        families: dict[str, Metric] = {}
        for found in self._measurements:
            family = families.setdefault(found.name, _family_of(found))
            name = found.name if found.kind == "gauge" else f"{_stem(found.name)}_total"
            family.add_sample(f"{PREFIX}{name}", dict(found.labels), found.value)
        return families.values()


def _family_of(found: Measurement) -> Metric:
    if found.kind == "counter":
        return CounterMetricFamily(f"{PREFIX}{_stem(found.name)}", found.description)
    return GaugeMetricFamily(f"{PREFIX}{found.name}", found.description)


def _stem(name: str) -> str:
    return name.removesuffix("_total")
