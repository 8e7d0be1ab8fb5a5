"""The overview adds up what the tables say, and hides nothing of it."""

from __future__ import annotations

from pathlib import Path

import pytest
from chaos import overview, report
from chaos.catalogue import GROUPS, SCENARIOS
from chaos.entry import Entry
from chaos.ledger_compare import Comparison
from chaos.machines.counted import Counted
from chaos.overview import PLACES, Row
from chaos.questions.way_back import WayBack
from chaos.report import OVERVIEW_BEGIN, OVERVIEW_END, Run, write_page
from chaos.scenario import About, Result

RUN = Run(minutes=21.26, lanes=4)


@pytest.fixture
def page(tmp_path: Path) -> Path:
    path = tmp_path / "page.md"
    marks = [(OVERVIEW_BEGIN, OVERVIEW_END), *report._MARKS.values()]
    path.write_text("top\n" + "".join(f"{begin}\n{end}\n" for begin, end in marks) + "bottom\n")
    return path


def entry(name: str, result: Result | None, **more: str) -> Entry:
    found = next(one for one in SCENARIOS if one.name == name)
    return Entry(scenario=found, result=result, seconds=1.0, **more)


def line(page: Path, words: str) -> list[str]:
    part = page.read_text().partition(OVERVIEW_END)[0]
    (found,) = [one for one in part.splitlines() if one.startswith(f"| {words}")]
    return [cell.strip() for cell in found.strip("|").split("|")]


def test_every_scenario_is_in_one_group_and_every_table_has_its_places() -> None:
    names = [one.name for group in GROUPS for one in group.scenarios]

    assert sorted(names) == sorted(one.name for one in SCENARIOS)
    assert set(PLACES) == set(About)


@pytest.mark.parametrize("about", list(About))
def test_what_is_called_unmarked_lost_or_marked_is_counted_as_that(about: About) -> None:
    columns, places = report._COLUMNS[about], PLACES[about]

    assert all("lost" in columns[place] for place in places.lost)
    assert all(columns[place].endswith("unmarked") for place in places.unmarked)
    assert all(columns[place].endswith(" marked") for place in places.marked)
    assert all(columns[place] == "two winners" for place in places.winners)
    harmless = {"accepted", "delivered", "held", "asked", "answered", "uncertain explained"}
    seen = {*places.handled, *places.lost, *places.marked, *places.unmarked, *places.winners, *places.other}
    left = {name for number, name in enumerate(columns) if number not in seen}
    assert left <= harmless | {"messages", "said to have failed", "cards left open, marked"}


def test_a_line_adds_up_its_rows_and_says_what_did_not_finish(page: Path) -> None:
    kills = Result(comparison=Comparison(accepted=1_168, delivered=1_196, duplicates_marked=84), note="238 kills")
    random = Result(comparison=Comparison(accepted=10_000, delivered=10_000), note="63 kills, 3 workers")
    broken = entry("poison", None, error="TimeoutError()")
    ran = [entry("kill-sqlite-telegram-resend", kills), entry("random-kills", random), broken]

    write_page(page, ran, SCENARIOS, RUN)

    known = len(GROUPS[0].scenarios)
    assert line(page, "messages: `kill -9`")[1:] == [str(known), "2", "301", "11,168", "0", "84", "0", "0", "0"]
    assert line(page, "**everything**")[1:4] == [str(len(SCENARIOS)), "2", "301"]
    text = page.read_text()
    assert f"in 21.3 minutes in 4 lanes, {len(SCENARIOS) - 3} of {len(SCENARIOS)} scenarios earlier: " in text
    assert "from commit " in text
    assert text.startswith("top\n") and text.endswith("bottom\n")


def test_harm_and_a_broken_expectation_are_not_holding(page: Path) -> None:
    twice = Counted(messages=Comparison(accepted=9, lost=1), questions=WayBack(asked=2, two_winners=1))
    odd = Result(comparison=Comparison(accepted=5), note="20 restarts", complaints=("a worker | did not stop",))

    write_page(
        page, [entry("machines-clock", Result(comparison=twice)), entry("postgres-restart", odd)], SCENARIOS, RUN
    )

    assert line(page, "several machines")[2:] == ["0", "1", "11", "1", "0", "0", "1", "0"]
    assert line(page, "messages: PostgreSQL and Redis")[2:4] == ["0", "20"]
    assert "20 restarts; failed: a worker / did not stop |" in page.read_text()


def test_rows_of_an_earlier_run_are_named(page: Path) -> None:
    first, second = (Result(comparison=Comparison(accepted=number), note="20 times") for number in (1_200, 500))
    write_page(page, [entry("redis-kill", first), entry("redis-flushall", first)], SCENARIOS, RUN)

    write_page(page, [entry("redis-kill", second)], SCENARIOS, RUN)

    found = line(page, "messages: PostgreSQL and Redis")
    assert "(1 of 4 of an earlier run, 2 without figures)" in found[0]
    assert found[3:5] == ["40", "1,700"]


@pytest.mark.parametrize(
    ("note", "times"),
    [
        ("238 kills", 238),
        ("3 machines, 2 times 20 s; 687 calls repeated", 2),
        ("3 workers died of it", 3),
        ("99 of 1000 callers hung up", 99),
        ("4 jumps: +1 h, -1 h, +1 day, -1 day", 4),
        ("", 1),
    ],
)
def test_how_often_something_was_broken_is_read_from_the_note(note: str, times: int) -> None:
    assert Row((1,), note).times == times


def test_the_page_has_the_overview_before_its_details() -> None:
    text = (Path(__file__).parents[2] / "docs" / "explanation" / "reliability.md").read_text()

    assert text.index(OVERVIEW_BEGIN) < text.index(OVERVIEW_END) < text.index(report.BEGIN)
    assert overview.COLUMNS
