"""The table goes between its marks and leaves the rest of the page alone."""

from __future__ import annotations

from pathlib import Path

from chaos.entry import Entry
from chaos.ledger_compare import Comparison
from chaos.questions.way_back import WayBack
from chaos.report import (
    ATTENTION_BEGIN,
    ATTENTION_END,
    BEGIN,
    CONTENT_BEGIN,
    CONTENT_END,
    END,
    MACHINES_BEGIN,
    MACHINES_END,
    QUESTIONS_BEGIN,
    QUESTIONS_END,
    TALKS_BEGIN,
    TALKS_END,
    write_table,
)
from chaos.scenario import About, Result, Scenario, World

PROMISE = (
    "*Accepted means stored. Nothing stored is ever lost. A duplicate is possible only where we say so, "
    "and it is always marked.*"
)


async def nothing(_world: World) -> Result:
    return Result(comparison=Comparison())


def entry(**changed: object) -> Entry:
    scenario = Scenario(name="kill", what="kill -9", run=nothing)
    result = Result(comparison=Comparison(accepted=1_234, delivered=1_230, held=4), note="9 kills")
    return Entry(scenario=scenario, result=result, seconds=1.0, **changed)  # type: ignore[arg-type]


def test_only_what_is_between_the_marks_is_replaced(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(f"before\n{BEGIN}\nold\n{END}\nafter\n")

    write_table(page, [entry()])

    text = page.read_text()
    assert text.startswith("before\n") and text.endswith(f"{END}\nafter\n")
    assert "old" not in text
    assert "| kill -9 | 1,234 | 1,230 | 4 | 0 | 0 | 0 | 0 | 0 | 9 kills |" in text
    assert "cores" in text and "PostgreSQL" in text


def test_a_run_of_some_scenarios_leaves_the_rows_of_the_others(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(
        f"{BEGIN}\nMade\n\n| what | n |\n|---|--:|\n| last | 3 |\n| kill -9 | 1 |\n| no more | 2 |\n{END}\n"
    )
    ran = entry()
    others = [Scenario(name=what, what=what, run=nothing) for what in ("first", "last")]

    write_table(page, [ran], [others[0], ran.scenario, others[1]])

    rows = [line for line in page.read_text().splitlines() if line.startswith("| ")][1:]
    assert rows == ["| kill -9 | 1,234 | 1,230 | 4 | 0 | 0 | 0 | 0 | 0 | 9 kills |", "| last | 3 |"]
    assert "1 of 2 rows earlier" in page.read_text()


def test_questions_have_a_table_of_their_own_and_a_table_without_scenarios_stays(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(f"{BEGIN}\nold deliveries\n{END}\n{QUESTIONS_BEGIN}\nold questions\n{QUESTIONS_END}\nafter\n")
    scenario = Scenario(name="question", what="kill -9", run=nothing, about=About.QUESTIONS)
    result = Result(comparison=WayBack(asked=39, answered=39, twice_marked=3, open_marked=3), note="39 kills")

    write_table(page, [Entry(scenario=scenario, result=result, seconds=1.0)])

    text = page.read_text()
    assert "old deliveries" in text and "old questions" not in text
    assert "| kill -9 | 39 | 39 | 0 | 0 | 3 | 0 | 3 | 0 | 0 | 39 kills |" in text
    assert text.endswith(f"{QUESTIONS_END}\nafter\n")


def test_the_page_makes_the_promise_in_these_words() -> None:
    page = (Path(__file__).parents[2] / "docs" / "explanation" / "reliability.md").read_text()

    assert PROMISE in " ".join(page.split())
    assert page.index(BEGIN) < page.index(END) < page.index(QUESTIONS_BEGIN) < page.index(QUESTIONS_END)
    assert page.index(QUESTIONS_END) < page.index(ATTENTION_BEGIN) < page.index(ATTENTION_END)
    assert page.index(ATTENTION_END) < page.index(TALKS_BEGIN) < page.index(TALKS_END)
    assert page.index(TALKS_END) < page.index(CONTENT_BEGIN) < page.index(CONTENT_END)


def test_a_scenario_that_this_host_does_not_permit_is_listed_as_not_run_and_has_not_passed(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(f"{MACHINES_BEGIN}\n{MACHINES_END}\n")
    scenario = Scenario(name="machines", what="a machine is away", run=nothing, about=About.MACHINES)
    not_run = Entry(scenario=scenario, result=None, seconds=0.0, not_run="network namespaces need root")

    write_table(page, [not_run], [scenario])

    assert not not_run.passed
    assert "not run: network namespaces need root" in not_run.line()
    rows = [line for line in page.read_text().splitlines() if line.startswith("|")]
    assert "not run: network namespaces need root |" in rows[-1]
    assert len({row.count("|") for row in rows}) == 1
