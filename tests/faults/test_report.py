"""The table goes between its marks and leaves the rest of the page alone."""

from __future__ import annotations

from pathlib import Path

from chaos.ledger_compare import Comparison
from chaos.report import BEGIN, END, Entry, write_table
from chaos.scenario import Result, Scenario, World

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


def test_the_page_makes_the_promise_in_these_words() -> None:
    page = (Path(__file__).parents[2] / "docs" / "explanation" / "reliability.md").read_text()

    assert PROMISE in " ".join(page.split())
    assert page.index(BEGIN) < page.index(END)
