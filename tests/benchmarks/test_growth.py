"""The measurement of growth: a short cut of it, what it calls met, and what it writes into the documentation."""

from __future__ import annotations

from pathlib import Path

import pytest
from benchmarks.ask_house import ask_house
from benchmarks.growth import Grown, grow, grown, table, verdicts
from benchmarks.growth_crowd import Crowd, Idle, crowd_table, questions, settled
from benchmarks.growth_page import PAGE, marks
from benchmarks.growth_week import Evening, week, week_table

from benchmarks import growth, growth_crowd, growth_week

SMALL, LARGE = 100, 400


async def test_everything_is_asked_of_a_short_past_and_a_long_one(
    tmp_path: Path, new_postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(growth, "LOOKS", 1)
    files = {size: f"sqlite:///{tmp_path}/{size}.db" for size in (SMALL, LARGE)}
    found = await grow({"SQLite": files, "PostgreSQL": {LARGE: new_postgres_url}}, rounds=1)
    on_sqlite, on_postgres = found["SQLite"], found["PostgreSQL"]

    names = [one.name for one in on_sqlite]
    assert names == [one.name for one in on_postgres] and len(names) > 60
    assert all(value > 0 for one in [*on_sqlite, *on_postgres] for value in one.milliseconds)
    written = table({"SQLite": on_sqlite}, (SMALL, LARGE), 1, 0.0)
    assert all(f"| {name} | " in written or f"| **{name}** | " in written for name in names)


def test_a_line_has_both_databases_and_what_is_missed_in_bold() -> None:
    flat = Grown(name="claim", milliseconds=(1.0, 1.1), fastest=(1.0, 1.1))
    risen = Grown(name="claim", milliseconds=(1.0, 9.0), fastest=(1.0, 9.0))
    written = table({"SQLite": [flat], "PostgreSQL": [risen]}, (10_000, 5_000_000), 1, 0.0)

    assert "| milliseconds | SQLite 10k | SQLite 5M | SQLite × | PostgreSQL 10k |" in written
    assert "| **claim** | 1.00 | 1.10 | 1.1 | 1.00 | 9.00 | **9.0** |" in written


def test_what_is_counted_up_to_a_bound_is_compared_from_there_on() -> None:
    times = [[1.0], [9.0], [9.5]]
    filled = grown("inbox, counted by shelf", times, (10_000, 1_000_000, 5_000_000))
    unfilled = grown("inbox, counted by shelf", times[:2], (10_000, 100_000))

    assert filled.is_met and filled.ratio == pytest.approx(9.5 / 9)
    assert unfilled.is_met and unfilled.ratio is None


@pytest.mark.parametrize(
    ("milliseconds", "is_met"),
    [((2.0, 2.9, 3.0), True), ((2.0, 2.9, 3.1), False), ((2.0, 4.0, 2.0), False), ((0.1, 0.3), True)],
    ids=["within", "at the largest size", "in between", "too little to be measured"],
)
def test_a_line_is_met_when_no_size_takes_half_as_long_again(milliseconds: tuple[float, ...], is_met: bool) -> None:
    one = Grown(name="claim", milliseconds=milliseconds, fastest=milliseconds)

    assert one.is_met is is_met
    assert ("**missed** claim" in verdicts({"SQLite": [one]})[0]) is not is_met


async def test_callers_that_wait_are_counted_while_they_wait(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def at_once() -> None:
        """Nothing is measured here."""

    monkeypatch.setattr(growth_crowd, "quiet", at_once)
    monkeypatch.setattr(growth_crowd, "settled", at_once)
    monkeypatch.setattr(growth_crowd, "IDLE_SECONDS", 0.01)
    async with ask_house(tmp_path, "") as house:
        before, after = await questions(house, many=20, waiting=5)

    assert before.megabytes > 0 and after.megabytes > 0


def test_a_crowd_is_met_by_little_work_and_little_memory() -> None:
    rest, busy = Idle(cpu=0.01, megabytes=100.0), Idle(cpu=0.05, megabytes=120.0)
    written = crowd_table({"SQLite": Crowd(empty=rest, asked=rest, alone=rest, heard=busy)})

    assert written.count("| met |") == 1 and "| 1.0% → 5.0% | 20 MB | **missed** |" in written


async def test_it_is_not_idle_until_a_stretch_costs_no_less_than_the_one_before(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    left = [0.9, 0.4, 0.1, 0.09, 0.09]

    async def stretch(_seconds: float) -> float:
        return left.pop(0)

    monkeypatch.setattr(growth_crowd, "busy", stretch)
    await settled()

    assert left == [0.09]


async def test_a_week_is_lived_through_and_looked_at_every_evening(tmp_path: Path) -> None:
    async with ask_house(tmp_path, "") as house:
        evenings = await week(house, messages=2, questions=1, before=1)

    assert len(evenings) == 8 and all(one.megabytes > 0 and one.files > 0 for one in evenings)


def test_a_week_is_met_when_memory_and_files_stay() -> None:
    first = Evening(megabytes=100.0, files=20)
    grew = [first, Evening(megabytes=111.0, files=20)]
    written = week_table({"SQLite": [first, first], "PostgreSQL": grew})

    assert "| 100 → 100 MB | +0.00 MB | 20 → 20 | met |" in written
    assert "| 100 → 111 MB | +0.07 MB | 20 → 20 | **missed** |" in written


@pytest.mark.parametrize("part", [growth.MARK, growth_crowd.MARK, growth_week.MARK])
def test_its_page_has_a_place_for_each_part(part: str) -> None:
    page, (begin, end) = PAGE.read_text(), marks(part)

    assert 0 < page.index(begin) < page.index(end)
