"""The laws find what breaks them."""

from __future__ import annotations

from dataclasses import replace

import pytest
from prometheus_client import CollectorRegistry
from sqlalchemy import delete, update
from tests.attention.attended import Attended
from tests.attention.sample import NIGHT, accepted, at, book, empty, run, unaccounted
from tests.delivery.world import World

from postroom.attention.attention import COUNT_SECONDS, LOOK_SECONDS, AttentionMeter, Auditor
from postroom.attention.model import NoticeState
from postroom.attention.rules import decide
from postroom.attention.state import Acked, Standing
from postroom.attention.store import notices
from postroom.kernel.database.moments import StoredMoments, moments
from postroom.kernel.database.rows import of_json, to_json

RULES = book({"quiet_hours": NIGHT, "repeat_seconds": [300]})
RUN = run(RULES, accepted("a", "21:00", "time_sensitive", needs_ack=True), accepted("b", "23:00"), until_us=at("23:00"))


def with_state(name: str, **changes: object) -> object:
    return replace(RUN.state, notices={**RUN.state.notices, name: replace(RUN.state.notices[name], **changes)})


@pytest.mark.requirement("attention:conservation")
def test_a_sound_log_has_nothing_unaccounted() -> None:
    assert unaccounted(RUN.state, RULES, RUN.events, empty(), at("23:00")) == []


@pytest.mark.requirement("attention:conservation")
def test_a_lost_notice_is_found() -> None:
    lost = replace(RUN.state, notices={"a": RUN.state.notices["a"]})

    assert decide.every_notice_in_one_cell(lost, ["a", "b"]) == ["L1 b was accepted and is nowhere"]


@pytest.mark.requirement("attention:conservation")
def test_a_cause_that_decided_twice_is_found() -> None:
    assert decide.every_send_has_one_cause([RUN.decisions[0], RUN.decisions[0]])


@pytest.mark.requirement("attention:conservation")
def test_a_member_of_no_digest_is_found() -> None:
    assert decide.in_one_digest_at_most(with_state("b", state=NoticeState.DIGESTED))


@pytest.mark.requirement("attention:conservation")
def test_a_row_that_is_not_the_fold_of_its_log_is_found() -> None:
    assert decide.the_log_is_the_state(with_state("b", repeats=3), RUN.events, empty())


@pytest.mark.requirement("attention:conservation")
def test_what_is_due_and_not_done_is_found() -> None:
    assert decide.every_open_notice_has_a_next(RUN.state, RULES, at("2026-01-06T08:00"))


@pytest.mark.requirement("attention:conservation")
def test_what_is_held_too_long_or_for_nothing_is_found() -> None:
    late, idle = with_state("b", until_us=at("2026-02-06T08:00")), with_state("b", until_us=None, reasons=())

    assert "L5 b is held too long" in decide.every_open_notice_has_a_next(late, RULES, at("23:00"))
    assert "L5 b waits for nothing" in decide.every_open_notice_has_a_next(idle, RULES, at("23:00"))


@pytest.mark.requirement("attention:conservation")
def test_a_repeat_after_the_answer_is_found() -> None:
    repeat = next(one for one in RUN.decisions if one.kind == "repeat")

    assert decide.nothing_after_the_answer([Acked(at_us=0, notice="a"), repeat])


@pytest.mark.requirement("attention:conservation")
def test_what_counts_as_sent_without_a_receipt_is_found() -> None:
    assert decide.receipts_are_what_was_sent(with_state("b", state=NoticeState.SENT))


# -- The gauge counts what breaks a law, and who stays due --


HELD_AT_NIGHT = {"zone": "UTC", "quiet_hours": [{"from": "22:00", "until": "00:10"}]}


class Gauge(AttentionMeter):
    def __init__(self) -> None:
        super().__init__(CollectorRegistry())
        self.counts: list[int] = []

    def unaccounted(self, count: int) -> None:
        super().unaccounted(count)
        self.counts.append(count)


@pytest.mark.requirement("attention:accounted")
async def test_it_looks_once_a_minute_and_costs_nothing_where_there_are_no_notices(world: World) -> None:
    house, gauge = Attended(world), Gauge()
    auditor = Auditor(attention=house.attention, moments=StoredMoments(world.database), meter=gauge)
    finished = world.database.finished
    assert await auditor.look() == world.clock.now_us() + LOOK_SECONDS * 1_000_000
    assert (gauge.counts, world.database.finished) == ([0], finished)


@pytest.mark.requirement("attention:accounted")
async def test_what_is_lost_or_waits_for_nothing_is_counted(world: World) -> None:
    house, gauge = Attended(world, HELD_AT_NIGHT), Gauge()
    auditor = Auditor(attention=house.attention, moments=StoredMoments(world.database), meter=gauge)
    await house.notify("Hello")
    await auditor.look()
    (row,) = await world.rows(notices)
    idle = to_json(replace(of_json(Standing, row["standing"]), until_us=None, reasons=()))
    await world.database.write(lambda connection: connection.execute(update(notices).values(standing=idle)))
    await auditor.look()
    await world.database.write(lambda connection: connection.execute(delete(notices)))
    world.clock.jump(COUNT_SECONDS)
    await auditor.look()
    assert gauge.counts[0] == 0 and gauge.counts[1] > 0 and gauge.counts[2] > 0


@pytest.mark.requirement("attention:accounted")
async def test_all_that_is_kept_is_counted_once_an_hour_and_what_was_missing_stays_counted(world: World) -> None:
    house, gauge = Attended(world, HELD_AT_NIGHT), Gauge()
    auditor = Auditor(attention=house.attention, moments=StoredMoments(world.database), meter=gauge)
    await house.notify("Hello")
    world.clock.jump(3600)
    await house.look()
    await auditor.look()
    await world.database.write(lambda connection: connection.execute(delete(notices)))
    world.clock.jump(LOOK_SECONDS)
    await auditor.look()
    world.clock.jump(COUNT_SECONDS)
    await auditor.look()
    world.clock.jump(LOOK_SECONDS)
    await auditor.look()
    assert gauge.counts == [0, 0, 1, 1]


@pytest.mark.requirement("attention:accounted")
async def test_who_is_still_due_at_the_next_look_is_counted_and_a_machine_that_slept_is_not(world: World) -> None:
    house, gauge = Attended(world, HELD_AT_NIGHT), Gauge()
    auditor = Auditor(attention=house.attention, moments=StoredMoments(world.database), meter=gauge)
    await house.notify("Hello")
    world.clock.jump(3600)
    await auditor.look()  # it has just woken
    world.clock.jump(LOOK_SECONDS)
    await auditor.look()
    await house.look()
    await auditor.look()
    assert gauge.counts == [0, 1, 0]
    assert await world.rows(moments) == []
