"""Counts and sums for Prometheus that cost one look into a dictionary: for what happens to every message."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence

from prometheus_client import CollectorRegistry
from prometheus_client.core import CounterMetricFamily, HistogramMetricFamily
from prometheus_client.registry import Collector


class TallyCounter(Collector):
    """A counter. The library's own takes a lock for each step; ours are taken in one event loop."""

    def __init__(self, name: str, words: str, labels: Sequence[str], registry: CollectorRegistry) -> None:
        self._about = (name, words, tuple(labels))
        self._counted: dict[tuple[str, ...], int] = {}
        registry.register(self)

    def count(self, *labels: str) -> None:
        self._counted[labels] = self._counted.get(labels, 0) + 1

    def describe(self) -> Iterator[CounterMetricFamily]:
        name, words, names = self._about
        yield CounterMetricFamily(name, words, labels=names)

    def collect(self) -> Iterator[CounterMetricFamily]:
        for family in self.describe():
            for labels, counted in self._counted.items():
                family.add_metric(labels, counted)
            yield family


class TallyHistogram(Collector):
    """A histogram with one label; `bounds` are the upper ones, the last has none."""

    def __init__(self, name: str, words: str, label: str, bounds: Sequence[float], registry: CollectorRegistry) -> None:
        self._about = (name, words, (label,))
        self._bounds = tuple(bounds)
        self._counted: dict[str, list[int]] = {}
        self._sums: dict[str, float] = {}
        registry.register(self)

    def observe(self, label: str, value: float) -> None:
        if label not in self._counted:
            self._counted[label], self._sums[label] = [0] * (len(self._bounds) + 1), 0.0
        self._counted[label][bisect_left(self._bounds, value)] += 1
        self._sums[label] += value

    def describe(self) -> Iterator[HistogramMetricFamily]:
        name, words, names = self._about
        yield HistogramMetricFamily(name, words, labels=names)

    def collect(self) -> Iterator[HistogramMetricFamily]:
        bounds = [*(str(float(one)) for one in self._bounds), "+Inf"]
        for family in self.describe():
            for label, counted in self._counted.items():
                so_far = [sum(counted[: place + 1]) for place in range(len(counted))]
                family.add_metric([label], list(zip(bounds, so_far, strict=True)), self._sums[label])
            yield family
