"""Waiting from the shell: through restarts, until the time is up, and no longer than a person wants."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pytest
import typer

from postroom.questions.commands import Patience
from postroom.settings.reach import ElsewhereError, NotReached

OPEN, ANSWERED = {"status": "open"}, {"status": "answered"}


@dataclass
class Times:
    """Each look takes as long as it was allowed to."""

    answers: list[Any]
    at: float = 0.0
    waits: list[float] = field(default_factory=list)

    def look(self, _path: str, _timeout_seconds: float, *, wait: float) -> Any:
        self.waits.append(wait)
        answer = self.answers.pop(0)
        if isinstance(answer, BaseException):
            raise answer
        self.at += 0 if answer is ANSWERED else wait
        return answer

    def pause(self, seconds: float) -> None:
        self.at += seconds

    def patience(self, wait_seconds: float) -> Patience:
        now: Callable[[], float] = lambda: self.at  # noqa: E731
        return Patience(there=self, wait_seconds=wait_seconds, now=now, pause=self.pause)  # type: ignore[arg-type]


def test_long_looks_follow_each_other_until_the_time_is_up() -> None:
    times = Times([OPEN] * 3)

    assert times.patience(150).until_over("q") is OPEN
    assert times.waits == [60, 60, 30]


def test_without_any_time_it_looks_once() -> None:
    times = Times([OPEN])

    assert times.patience(0).until_over("q") is OPEN
    assert times.waits == [0]


@pytest.mark.requirement("ask:command-line-patience")
def test_a_household_that_restarts_is_asked_again(capsys: pytest.CaptureFixture[str]) -> None:
    times = Times([OPEN, NotReached("It is away."), NotReached("It is away."), ANSWERED])

    assert times.patience(600).until_over("q") is ANSWERED
    assert capsys.readouterr().err == "It is away. Still waiting.\n"


def test_one_that_stays_away_ends_the_waiting_when_the_time_is_up() -> None:
    with pytest.raises(NotReached):
        Times([NotReached("It is away.")] * 20).patience(9).until_over("q")


def test_a_refusal_is_not_waited_for() -> None:
    with pytest.raises(ElsewhereError, match="no such question"):
        Times([ElsewhereError("no such question")]).patience(60).until_over("q")


@pytest.mark.requirement("ask:command-line-patience")
def test_an_interruption_says_how_to_go_on(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(typer.Exit) as ended:
        Times([OPEN, KeyboardInterrupt()]).patience(600).until_over("q7")

    assert ended.value.exit_code == 130
    assert "postroom wait q7" in capsys.readouterr().err
