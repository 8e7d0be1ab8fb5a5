"""What is counted of every delivery: as the library counts, and quicker."""

from __future__ import annotations

from prometheus_client import CollectorRegistry, Counter, Histogram, generate_latest

from postroom.delivery.reading.meter import TallyCounter, TallyHistogram

BOUNDS = (0.1, 1.0, 10.0)


def said(registry: CollectorRegistry) -> list[str]:
    """Without the moment of their making, which ours do not tell."""
    return [line for line in generate_latest(registry).decode().splitlines() if "_created" not in line]


def test_a_tally_says_what_a_counter_says() -> None:
    ours, theirs = CollectorRegistry(), CollectorRegistry()
    tally = TallyCounter("postroom_sent", "Sent", ["channel", "status"], ours)
    counter = Counter("postroom_sent", "Sent", ["channel", "status"], registry=theirs)

    for labels in (("telegram", "ok"), ("email", "ok"), ("telegram", "ok"), ('a "b"\n', "ok")):
        tally.count(*labels)
        counter.labels(*labels).inc()

    assert said(ours) == said(theirs)


def test_a_spread_says_what_a_histogram_says() -> None:
    ours, theirs = CollectorRegistry(), CollectorRegistry()
    spread = TallyHistogram("postroom_seconds", "Seconds", "channel", BOUNDS, ours)
    histogram = Histogram("postroom_seconds", "Seconds", ["channel"], buckets=BOUNDS, registry=theirs)

    for channel, value in (("telegram", 0.0), ("telegram", 0.1), ("telegram", 0.5), ("email", 10.0), ("email", 99.0)):
        spread.observe(channel, value)
        histogram.labels(channel).observe(value)

    assert said(ours) == said(theirs)


def test_what_was_never_counted_is_described_and_not_shown() -> None:
    registry = CollectorRegistry()
    TallyCounter("postroom_sent", "Sent", ["channel"], registry)

    assert said(registry) == ["# HELP postroom_sent_total Sent", "# TYPE postroom_sent_total counter"]
