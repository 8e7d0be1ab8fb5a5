"""The race with other queues: its harness, its verdicts, and what it writes into the documentation."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from xml.etree import ElementTree

import pytest
from benchmarks.peers.chart import chart
from benchmarks.peers.child import BATCHES, CALLERS, Queue, latency, throughput
from benchmarks.peers.contenders import CONTENDERS
from benchmarks.peers.figures import Figures, ratios, verdicts
from benchmarks.peers.table import BEGIN, END, table, write_between

BY_NAME = {one.name: one for one in CONTENDERS}
ROOT = Path(__file__).parents[2]


def figures(*, postroom: float, pgqueuer: float, raw: float) -> list[Figures]:
    """Three rounds each, the second one on a machine that was twice as slow for everybody."""
    paces = (1.0, 0.5, 1.0)
    return [
        Figures(contender=BY_NAME["Raw"], batches=[raw * pace for pace in paces]),
        Figures(
            contender=BY_NAME["Postroom"],
            callers=[postroom * pace for pace in paces],
            batches=[postroom * pace for pace in paces],
            cpu_us=[100.0, 120.0, 110.0],
            milliseconds=[float(n) for n in range(1, 101)],
        ),
        Figures(
            contender=BY_NAME["PgQueuer"],
            version="1.6.0",
            callers=[pgqueuer * pace for pace in paces],
            batches=[pgqueuer * 4, None, pgqueuer * 4],
        ),
    ]


@pytest.mark.parametrize(
    ("pgqueuer", "raw", "met"),
    [(1000, 15000, [True, True, True]), (4500, 15000, [False, True, True]), (6000, 50000, [False, False, False])],
    ids=["all met", "callers missed", "all missed"],
)
def test_a_target_is_met_or_plainly_missed(pgqueuer: float, raw: float, met: list[bool]) -> None:
    found = verdicts(figures(postroom=20000, pgqueuer=pgqueuer, raw=raw))

    assert [one.met for one in found] == met
    assert all("target" in one.text for one in found)


def test_rounds_are_compared_with_their_own_kind_and_failed_ones_with_none() -> None:
    assert ratios([10, 5, 8], [5, None, 2]) == [2.0, 4.0]


def test_the_table_stands_between_its_marks_and_leaves_the_prose_alone(tmp_path: Path) -> None:
    page = tmp_path / "performance.md"
    page.write_text(f"# Before\n\n{BEGIN}\nold\n{END}\n\nAfter\n")

    write_between(page, BEGIN, END, table(figures(postroom=4000, pgqueuer=1000, raw=9000), "a machine", 3, 7.2))

    text = page.read_text()
    assert text.startswith("# Before") and text.endswith("After\n") and "old" not in text
    assert "| **Postroom** | 4,000 (2,000–4,000) | 110 | 4,000 (2,000–4,000) | 50.5 / 99.0 |" in text
    assert "| PgQueuer 1.6.0 | 1,000 (500–1,000) | – | 4,000 (4,000–4,000, 1 did not finish) | – |" in text
    assert "**Missed**: 4× the best peer (PgQueuer)" in text
    assert "in 7 minutes, 3 interleaved rounds" in text and "a machine" in text


def test_a_page_without_the_marks_is_not_written_to(tmp_path: Path) -> None:
    page = tmp_path / "performance.md"
    page.write_text("nothing of ours")

    with pytest.raises(ValueError, match="no place"):
        write_between(page, BEGIN, END, "table")
    assert page.read_text() == "nothing of ours"


def test_the_page_we_ship_has_a_place_for_the_table() -> None:
    text = (ROOT / "docs" / "explanation" / "performance.md").read_text()

    assert text.index(BEGIN) < text.index(END)


def test_bars_are_as_long_as_their_numbers() -> None:
    drawing = ElementTree.fromstring(chart(figures(postroom=5000, pgqueuer=2500, raw=10000)))
    bars = [one for one in drawing.iter("{http://www.w3.org/2000/svg}rect") if one.get("height") == "16"]
    lengths = [round(float(one.get("width", "0"))) for one in bars]

    assert lengths == [540, 270, 270, 135, 540]
    assert "10,000/s" in "".join(drawing.itertext())


@asynccontextmanager
async def in_memory(url: str, sent: Callable[[int], None]) -> AsyncIterator[Queue]:
    """A queue that forgets nothing and does nothing, to hold the harness to its word."""
    left: list[int] = []

    async def submit(numbers: Sequence[int]) -> None:
        left.extend(numbers)
        await asyncio.sleep(0)
        for number in numbers:
            sent(number)
            left.remove(number)

    async def remaining() -> int:
        return len(left)

    yield Queue(submit=submit, left=remaining)


@pytest.mark.parametrize("load", [CALLERS, BATCHES], ids=["callers", "batches"])
async def test_the_harness_counts_every_job_once(load: tuple[int, int]) -> None:
    made = await throughput(in_memory, "", 350, load)

    assert made["per_second"] > 0
    assert made["cpu_us"] > 0


async def test_the_latency_stream_has_a_figure_for_every_job() -> None:
    made = await latency(in_memory, "", 1)

    assert len(made["milliseconds"]) == 50
    assert all(one >= 0 for one in made["milliseconds"])
