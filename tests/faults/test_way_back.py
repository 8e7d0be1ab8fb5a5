"""The judgement of questions must see every kind of harm, or a clean table would mean nothing."""

from __future__ import annotations

from typing import Any

import pytest
from chaos.crash_points import Crash, CrashPlan
from chaos.questions.steps import MOMENTS, Phase, Way, moments, watch
from chaos.questions.way_back import COLUMNS, Asked, WayBack, judged


def asked(**changed: Any) -> Asked:
    usual: dict[str, Any] = {
        "token": "q1",
        "said": "yes",
        "answer": "yes",
        "winners": 1,
        "copies": 1,
        "pressable": 0,
        "marked": False,
        "heard": ["yes"],
        "listed": 1,
    }
    return Asked(**{**usual, **changed})


def test_one_answer_that_all_have_is_sound() -> None:
    found = judged([asked(), asked(token="q2", heard=["yes", "yes"])])

    assert found == WayBack(asked=2, answered=2)
    assert found.sound
    assert len(found.numbers) == len(COLUMNS)


@pytest.mark.parametrize(
    ("changed", "harm"),
    [
        pytest.param({"winners": 2}, "two_winners", id="two attempts were accepted"),
        pytest.param({"answer": "no", "heard": ["no"]}, "lost", id="the person said something else"),
        pytest.param({"answer": None, "heard": [], "winners": 0}, "lost", id="the press came to nothing"),
        pytest.param({"heard": []}, "lost", id="the asker never had it"),
        pytest.param({"heard": ["yes", "no"]}, "lost", id="the asker had two different ones"),
        pytest.param({"copies": 2}, "twice_unmarked", id="a second card that the ledger does not announce"),
        pytest.param({"pressable": 1}, "open_unmarked", id="a card asks on"),
        pytest.param({"listed": 0}, "unlisted", id="not in answers"),
        pytest.param({"listed": 2}, "unlisted", id="twice in answers"),
    ],
)
def test_each_kind_of_harm_is_seen_and_said(changed: dict[str, Any], harm: str) -> None:
    found = judged([asked(**changed)])

    assert getattr(found, harm) == 1
    assert not found.sound
    assert any(sentence.startswith("q1 ") for sentence in found.complaints)


def test_a_copy_that_the_ledger_announces_is_counted_and_is_no_harm() -> None:
    found = judged([asked(copies=2, pressable=1, marked=True)])

    assert (found.twice_marked, found.open_marked) == (1, 1)
    assert found.sound


def test_the_kills_pass_every_phase_in_the_short_cut_too() -> None:
    assert {moment.phase for moment in moments(Way.PRESS)} == set(Phase)
    for way in (Way.PRESS, Way.REPLY):
        assert {moment.phase for moment in moments(way, short=True)} == set(Phase)
    assert {one.phase for one in moments(Way.MAIL, short=True)} == {one.phase for one in moments(Way.MAIL)}
    assert len(set(MOMENTS)) == len(MOMENTS)


async def test_a_look_that_finds_nothing_is_no_passage(monkeypatch: pytest.MonkeyPatch) -> None:
    answers: list[list[int]] = [[], [1]]

    class Found:
        async def look(self) -> list[int]:
            return answers.pop(0)

    died: list[int] = []
    monkeypatch.setattr("chaos.crash_points.os.kill", lambda _process, number: died.append(number))
    found = Found()
    watch(found, ["look"], Crash(CrashPlan(point="after look")))

    await found.look()
    assert died == []
    await found.look()
    assert died == [9]
