"""Sums close, percentiles really happened, and a slow day is one that many messages felt."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from postroom.domain.notice_states import CELLS, NoticeState
from postroom.domain.span_figures import Counted, CountedDeliveries, CountedNotices, Took
from postroom.work.figures.report import added_deliveries, added_notices, cells_of, percentile, slow_stretches

EDGES = (0, 10, 20, 30)
counted = st.builds(
    Counted,
    place=st.integers(0, 2),
    channel=st.sampled_from(["telegram", "email"]),
    agent=st.sampled_from(["health", "home"]),
    state=st.sampled_from(["delivered", "failed", "dead_lettered", "pending", "withdrawn"]),
    many=st.integers(1, 9),
)


def took(place: int, channel: str, *milliseconds: float) -> list[Took]:
    return [Took(place=place, channel=channel, agent="health", milliseconds=one) for one in milliseconds]


@given(st.lists(counted))
def test_every_sum_closes(rows: list[Counted]) -> None:
    found = added_deliveries(CountedDeliveries(outcomes=rows, by_agent=rows, arrivals=(), is_whole=True), EDGES)
    total = sum(one.many for one in rows)

    assert found.total.all == total
    assert sum(one.tallied.all for one in found.stretches) == total
    assert sum(one.all for one in found.by_channel.values()) == total
    assert sum(one.all for one in found.by_agent.values()) == total
    for state in ("delivered", "failed", "withdrawn"):
        assert sum(one.tallied.count(state) for one in found.stretches) == found.total.count(state)


@given(st.lists(st.sampled_from(list(NoticeState))))
def test_each_notice_is_in_exactly_one_cell(states: list[NoticeState]) -> None:
    rows = [Counted(place=0, channel="", agent="health", state=str(one), many=1) for one in states]
    cells = cells_of(added_notices(CountedNotices(states=rows, is_whole=True), EDGES).total)

    assert sum(cells.values()) == len(states)
    assert list(cells) == list(CELLS)


@given(st.lists(st.floats(0, 1e9), min_size=1), st.integers(1, 100))
def test_a_percentile_is_one_of_the_values_and_so_many_do_not_exceed_it(values: list[float], percent: int) -> None:
    found = percentile(values, percent)

    assert found in values
    assert sum(one <= found for one in values) * 100 >= percent * len(values)


def test_of_nothing_there_is_no_percentile() -> None:
    assert percentile([], 50) is None


def test_what_was_taken_back_changes_no_rate() -> None:
    rows = [
        Counted(place=0, channel="email", agent="health", state=state, many=many)
        for state, many in (("delivered", 3), ("failed", 1), ("withdrawn", 6), ("pending", 2))
    ]
    found = added_deliveries(CountedDeliveries(outcomes=rows, by_agent=rows, arrivals=(), is_whole=True), EDGES)

    assert found.total.success_rate == 0.75


def test_a_channel_is_slow_where_it_took_much_longer_than_else() -> None:
    usual = [*took(0, "email", *[900.0] * 20), *took(0, "telegram", *[200.0] * 20)]

    slow = slow_stretches([*usual, *took(1, "email", 8000, 9000, 10_000), *took(1, "telegram", 300, 300, 300)], EDGES)

    assert [(one.channel, one.since_us, one.p95_ms) for one in slow] == [("email", 10, 10_000)]


def test_one_late_message_or_a_channel_that_always_takes_long_is_not_slow() -> None:
    late = [*took(0, "email", *[900.0] * 20), *took(1, "email", 60_000)]
    always = [one for place in range(3) for one in took(place, "email", *[9000.0] * 5)]

    assert slow_stretches(late, EDGES) == slow_stretches(always, EDGES) == ()
