"""The race of asking: what counts as lost, what an agent has to handle, and what is written into the documentation."""

from __future__ import annotations

import asyncio
import itertools
import json
from pathlib import Path

import pytest
from benchmarks.peers.asking import agent
from benchmarks.peers.asking.kills import Moment
from benchmarks.peers.asking.pace import CALLERS, Pace, rate
from benchmarks.peers.asking.page import BEGIN, END, Asked, page
from benchmarks.peers.asking.products import ASKERS, DATABASES
from benchmarks.peers.asking.race import Size
from benchmarks.peers.asking.tally import Fate, Tally, tally
from tests.patience import PATIENCE_SECONDS

ROOT = Path(__file__).parents[2]


def fate(**details: object) -> Fate:
    """Asked, mailed and answered once, unless said otherwise."""
    usual: dict[str, object] = {"before": "1", "after": "1", "given": "yes", "values": ["yes", "yes"], "mails": 1}
    return Fate(key="q1", **{**usual, **details})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("one", "counted"),
    [
        (fate(), {}),
        (fate(before=None), {}),  # never accepted, so the next one under its key is the first
        (fate(given=None, values=["yes", "yes"]), {}),  # taken, although the person was not told so
        (fate(after="2"), {"gone": 1}),
        (fate(values=["no", "no"]), {"lost": 1}),
        (fate(values=["yes", "no"]), {"lost": 1, "two_answers": 1}),
        (fate(given=None, values=["yes", "no"]), {"two_answers": 1}),
        (fate(values=[]), {"lost": 1, "never_returned": 1}),
        (fate(mails=0), {"never_asked": 1}),
        (fate(mails=3), {"asked_twice": 1}),
        (fate(errors=4), {"errors": 1}),
    ],
    ids=lambda one: " ".join(one) if isinstance(one, dict) else "",
)
def test_the_fate_of_a_question_is_counted(one: Fate, counted: dict[str, int]) -> None:
    assert tally([one]) == Tally(questions=1, **counted)


def test_fates_add_up() -> None:
    assert tally([fate(), fate(mails=0), fate(mails=0, errors=1)]) == Tally(questions=3, never_asked=2, errors=1)


def test_the_page_says_how_quick_and_what_a_kill_cost() -> None:
    ours, *_, theirs = ASKERS
    pace = Pace(accepted=[1.0, 3.0], returned=[10.0, 30.0], rates=[50.0, None])
    killed = {Moment.ASKED: Tally(questions=8, never_asked=2, errors=7)}
    text = page([Asked(asker=ours, pace=pace), Asked(asker=theirs, version="0.1.12", kills=killed)], "a box", 2, 9.6)

    assert "in 10 minutes, 2 interleaved rounds: a box." in text
    assert "| **Postroom** | SQLite | 2.0 / 3.0 | 20.0 / 29.8 | 50 (50–50, 1 did not finish) |" in text
    assert "| awaithumans 0.1.12 | PostgreSQL | – | – | – |" in text
    assert f"| awaithumans 0.1.12 | PostgreSQL | {Moment.ASKED} | 8 | 0 | 0 | 0 | 2 | 0 | 0 | 7 |" in text
    assert [text.count(f"\n- {one.product}: ") for one in (ours, theirs)] == [1, 1]


def test_the_page_we_ship_has_a_place_for_it() -> None:
    text = (ROOT / "docs" / "explanation" / "performance.md").read_text()

    assert text.index(BEGIN) < text.index(END)


def test_every_product_runs_on_both_databases() -> None:
    assert {(one.product, one.database) for one in ASKERS} == set(
        itertools.product(("Postroom", "awaithumans"), DATABASES)
    )


def test_a_quick_look_is_smaller_and_never_nothing() -> None:
    assert Size.of(5, 1.0) == Size(rounds=5, questions=100, burst=200, kills=5)
    assert Size.of(1, 0.01) == Size(rounds=1, questions=10, burst=40, kills=1)


class PatientHouse:
    """A product that keeps its questions in memory and is right about all of them."""

    def __init__(self) -> None:
        self.answers: dict[str, asyncio.Future[str]] = {}
        self.asked_at_once = 0

    async def ask(self, key: str) -> str:
        self.answers[key] = asyncio.get_running_loop().create_future()
        self.asked_at_once = max(self.asked_at_once, sum(not one.done() for one in self.answers.values()))
        return key

    async def waited(self, ask_id: str) -> str:
        return await self.answers[ask_id]

    async def answer(self, ask_id: str, value: str) -> bool:
        self.answers[ask_id].set_result(value)
        return True


async def test_twenty_callers_get_every_question_answered_once() -> None:
    house = PatientHouse()

    made = await rate(house, map(str, itertools.count()), 50)  # type: ignore[arg-type]

    assert made > 0
    assert len(house.answers) == 50
    assert house.asked_at_once == CALLERS


async def test_an_agent_notes_each_error_and_asks_again_when_the_server_is_back(
    capsys: pytest.CaptureFixture[str],
) -> None:
    errors = [ConnectionError(), TimeoutError()]

    async def asks(task: agent.Task, key: str) -> str:
        if errors:
            raise errors.pop(0)
        return f"{key}: yes"

    server = await asyncio.start_server(lambda _, writer: writer.close(), "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    async with server, asyncio.timeout(PATIENCE_SECONDS):
        await agent.caller(asks, agent.Task(url=f"http://127.0.0.1:{port}", token="", questions={}), "q1")

    said = json.loads(capsys.readouterr().out)
    assert said == {"key": "q1", "value": "q1: yes", "errors": ["ConnectionError", "TimeoutError"]}
