"""The laws of what is due by itself: they hold for every kind, on both databases."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.clock import START_US, FakeClock
from tests.support.query_plans import query_plans
from tests.timekeeping import Rounds

from postroom.kernel.database.engine import Database
from postroom.kernel.database.moments import StoredMoments, put_moments
from postroom.kernel.running.timekeeper import LEASE_SECONDS, Timekeeper
from postroom.kernel.values.errors import StoreUnavailable
from postroom.kernel.values.ids import seconds
from postroom.kernel.values.moments import (
    CATCH_UP_SECONDS,
    PATIENCE_SECONDS,
    Due,
    DueMoment,
    Reason,
    waits_until,
)

KIND = "egg"


@dataclass
class Kitchen:
    """A slice that notes what it is handed; what it is told to, it does besides."""

    database: Database
    clock: FakeClock
    taken: list[Due] = field(default_factory=list)
    breaks: Exception | None = None
    again_us: int | None = None
    channels: tuple[str, ...] = ("telegram",)
    busy: asyncio.Event | None = None

    async def put(self, id: str, **due: float) -> None:
        """By reason, in seconds from the beginning."""
        moments = {Reason(reason): START_US + seconds(at) for reason, at in due.items()}
        await self.database.write(lambda connection: put_moments(connection, KIND, id, moments))

    async def take(self, due: Due) -> int | None:
        self.taken.append(due)
        if self.busy is not None:
            await self.busy.wait()
        if self.breaks is not None:
            raise self.breaks
        return self.again_us

    async def shown_on(self, _id: str) -> tuple[str, ...]:
        return self.channels

    def process(self) -> Rounds:
        made = Rounds(self.database, self.clock)
        made.keep(KIND, self.take, self.shown_on)
        return made

    @property
    def done(self) -> list[tuple[str, Reason, bool]]:
        return [(one.id, one.reason, one.caught_up) for one in self.taken]


@pytest.fixture
def kitchen(database: Database) -> Kitchen:
    return Kitchen(database, FakeClock())


async def test_each_is_handed_over_once_at_its_time(kitchen: Kitchen) -> None:
    one = kitchen.process()
    await kitchen.put("a", remind=20, expire=60)
    await kitchen.put("b", go_on=10)

    for passed, ids in ((9, []), (1, ["b"]), (10, ["b", "a"]), (40, ["b", "a", "a"]), (3600, ["b", "a", "a"])):
        await kitchen.clock.advance(passed)
        await one.look()
        await one.look()
        assert [due.id for due in kitchen.taken] == ids
    assert kitchen.done[-1] == ("a", Reason.EXPIRE, True)


async def test_a_look_says_when_the_next_is_due_at_the_latest_when_another_process_may_have_set_one(
    kitchen: Kitchen,
) -> None:
    one = kitchen.process()
    assert await one.look() == START_US + seconds(0.5)
    await kitchen.put("a", go_on=0.2)
    assert await one.look() == START_US + seconds(0.2)


@pytest.mark.requirement("ask:sent-in-time")
async def test_nothing_ends_before_what_was_sent_in_time_has_been_read(kitchen: Kitchen) -> None:
    one = kitchen.process()
    one.listening.expect("telegram")
    await kitchen.put("a", expire=60)
    for _ in range(10):
        await one.listening.looked("telegram", START_US + seconds(59), everything=True)
        await kitchen.clock.advance(20)
        await one.look()
    assert [due for due in kitchen.taken if due.now_us < START_US + seconds(60)] == kitchen.taken == []

    await one.listening.looked("telegram", START_US + seconds(60), everything=True)
    await kitchen.clock.advance(1)
    await one.look()

    assert kitchen.done == [("a", Reason.EXPIRE, True)]


@pytest.mark.requirement("ask:sent-in-time")
async def test_where_others_listen_it_is_read_in_the_database_how_far_they_have_come(kitchen: Kitchen) -> None:
    ears, hands = Rounds(kitchen.database, kitchen.clock), kitchen.process()
    ears.listening.expect("telegram")
    await ears.listening.looked("telegram", START_US, everything=True)
    await kitchen.put("a", expire=60)
    await kitchen.clock.advance(61)
    await hands.look()
    assert kitchen.taken == []

    await ears.listening.looked("telegram", kitchen.clock.now_us(), everything=True)
    await kitchen.clock.advance(1)
    await hands.look()

    assert kitchen.done == [("a", Reason.EXPIRE, True)]


@pytest.mark.requirement("ask:sent-in-time")
async def test_an_end_waits_ten_minutes_at_most_and_its_slice_hears_that_not_everything_was_read(
    kitchen: Kitchen,
) -> None:
    one = kitchen.process()
    one.listening.expect("telegram")
    await kitchen.put("a", expire=60)
    await one.look()
    for _ in range(33):
        await kitchen.clock.advance(20)
        await one.look()
    assert kitchen.done == [("a", Reason.EXPIRE, False)]
    assert kitchen.taken[0].now_us == START_US + seconds(60 + PATIENCE_SECONDS)


async def test_what_nobody_waits_to_hear_of_waits_for_no_channel(kitchen: Kitchen) -> None:
    one = kitchen.process()
    one.listening.expect("telegram")
    await kitchen.put("a", go_on=1, look_after=1, forget=1)
    kitchen.channels = ("telegram",)
    await kitchen.clock.advance(1)
    await one.look()
    assert len(kitchen.taken) == 3


async def test_a_clock_that_was_set_back_does_nothing_twice_and_loses_nothing(kitchen: Kitchen) -> None:
    one = kitchen.process()
    await kitchen.put("a", go_on=60)
    await kitchen.put("b", go_on=120)
    kitchen.clock.jump(60)
    await one.look()
    kitchen.clock.jump(-3600)
    await one.look()
    assert [due.id for due in kitchen.taken] == ["a"]
    kitchen.clock.jump(3660)
    await one.look()
    assert [due.id for due in kitchen.taken] == ["a", "b"]


async def test_of_two_processes_one_has_each_moment(kitchen: Kitchen) -> None:
    first, second = kitchen.process(), kitchen.process()
    for number in range(40):
        await kitchen.put(f"{number}", go_on=1)
    await kitchen.clock.advance(1)
    for _ in range(3):
        await asyncio.gather(first.look(), second.look())
    assert sorted(int(due.id) for due in kitchen.taken) == list(range(40))


async def test_what_a_process_had_in_hand_when_it_died_is_taken_up_when_its_lease_has_run_out(
    kitchen: Kitchen,
) -> None:
    await kitchen.put("a", go_on=1)
    await kitchen.clock.advance(1)
    lease_us = kitchen.clock.now_us() + seconds(LEASE_SECONDS)
    (held,) = await StoredMoments(kitchen.database).take(
        [KIND], kitchen.clock.now_us(), lease_until_us=lease_us, limit=9
    )
    one = kitchen.process()
    await one.look()
    assert kitchen.taken == []

    await kitchen.clock.advance(LEASE_SECONDS)
    await one.look()

    assert [due.moment.fence for due in kitchen.taken] == [held.fence + 1]
    assert kitchen.taken[0].moment.due_us == START_US + seconds(1)


async def test_who_has_lost_a_moment_neither_ends_nor_puts_off_what_its_slice_wrote_since(kitchen: Kitchen) -> None:
    moments = StoredMoments(kitchen.database)
    await kitchen.put("a", go_on=1)
    (held,) = await moments.take([KIND], START_US + seconds(1), lease_until_us=START_US + seconds(9), limit=9)
    await kitchen.put("a", go_on=5)

    await moments.done(held)
    await moments.later(held, START_US + seconds(99))

    assert await moments.first([KIND]) == START_US + seconds(5)


async def test_whoever_is_long_at_one_keeps_it_and_holds_up_no_other(kitchen: Kitchen) -> None:
    slow, other = kitchen.process(), kitchen.process()
    kitchen.busy = asyncio.Event()
    await kitchen.put("a", go_on=1)
    await kitchen.clock.advance(1)
    await Timekeeper.look(slow)
    await kitchen.put("b", go_on=1)
    for _ in range(10):
        await Timekeeper.look(slow)
        await Timekeeper.look(other)
        await kitchen.clock.advance(LEASE_SECONDS / 3)
    assert [due.id for due in kitchen.taken] == ["a", "b"]
    kitchen.busy.set()
    await slow.idle()
    await other.idle()
    assert await StoredMoments(kitchen.database).first([KIND]) is None


async def test_what_fails_keeps_its_distance_longer_each_time_over_restarts(kitchen: Kitchen) -> None:
    kitchen.breaks = RuntimeError("a bug")
    await kitchen.put("a", go_on=0)
    for _ in range(150):
        await kitchen.process().look()
        await kitchen.clock.advance(1)
    assert [due.moment.tries for due in kitchen.taken] == list(range(7))
    gaps = [(b.now_us - a.now_us) // 1_000_000 for a, b in zip(kitchen.taken, kitchen.taken[1:], strict=False)]
    assert gaps == [2, 4, 8, 16, 32, 60]


async def test_an_outage_of_the_store_costs_no_try(kitchen: Kitchen) -> None:
    kitchen.breaks = StoreUnavailable("away")
    await kitchen.put("a", go_on=0)
    one = kitchen.process()
    for _ in range(20):
        await one.look()
        await kitchen.clock.advance(0.5)
    assert [due.moment.tries for due in kitchen.taken] == [0] * 20


async def test_what_comes_back_comes_when_its_slice_said(kitchen: Kitchen) -> None:
    one = kitchen.process()
    kitchen.again_us = START_US + seconds(30)
    await kitchen.put("a", go_on=1)
    for passed, times in ((1, 1), (28, 1), (1, 2)):
        await kitchen.clock.advance(passed)
        await one.look()
        assert len(kitchen.taken) == times


async def test_looking_reads_no_whole_table(sqlite_database: Database) -> None:
    moments = StoredMoments(sqlite_database)
    with query_plans(sqlite_database) as steps:
        await moments.first([KIND])
        await moments.next_end(START_US)
        await moments.take([KIND], START_US, lease_until_us=START_US, limit=9)
    assert not [step for step in steps if step.startswith("SCAN main") and "INDEX" not in step], steps


# ---- the rule ----

END, LATEST = START_US + seconds(3600), START_US + seconds(3600 + PATIENCE_SECONDS)


def moment(reason: Reason = Reason.EXPIRE, due_us: int = END) -> DueMoment:
    return DueMoment(kind=KIND, id="a", reason=reason, due_us=due_us, fence=1, tries=0)


@pytest.mark.requirement("ask:sent-in-time")
def test_an_end_looks_again_every_second_and_not_for_ever() -> None:
    assert waits_until(moment(), END, END - 1, 0) == END + seconds(1)
    assert waits_until(moment(), LATEST - 5, 0, 0) == LATEST
    assert waits_until(moment(), END + 5, END, 0) is None
    assert waits_until(moment(), LATEST, 0, 0) is None
    assert waits_until(moment(), END, None, 0) is None


@pytest.mark.requirement("ask:sent-in-time")
def test_who_was_away_first_reads_what_was_sent_meanwhile() -> None:
    back = END + seconds(3600)
    assert waits_until(moment(), back, 0, back) == back + seconds(1)
    assert waits_until(moment(), back + seconds(PATIENCE_SECONDS), 0, back) is None
    for reason in (Reason.REMIND, Reason.ESCALATE):
        assert waits_until(moment(reason), back, 0, back) == back + seconds(1)
        assert waits_until(moment(reason), back + seconds(CATCH_UP_SECONDS), 0, back) is None
        assert waits_until(moment(reason), back, 0, END) is None, "it was not missed"


@given(st.sampled_from(Reason), st.integers(END, END + 2**40), st.none() | st.integers(0, 2**51), st.integers(0, 2**51))
def test_what_waits_is_looked_at_later_than_now(reason: Reason, now: int, read: int | None, awake: int) -> None:
    again = waits_until(moment(reason), now, read, min(awake, now))
    assert again is None or again > now
