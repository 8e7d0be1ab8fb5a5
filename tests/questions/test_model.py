"""One table of moves: code, database and drawing agree."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from postroom.questions.model import (
    ENDED,
    PRESENTATION_MOVES,
    QUESTION_MOVES,
    SETTLED,
    PresentationMove,
    PresentationStatus,
    QuestionMove,
    QuestionStatus,
    after,
    after_showing,
)

PAGE = Path(__file__).parents[2] / "docs" / "explanation" / "asking.md"


@pytest.mark.requirement("ask:states")
def test_the_drawings_show_every_move_and_no_other() -> None:
    drawn = re.findall(r"^    (\w+) --> (\w+): (\w+)$", PAGE.read_text(), re.MULTILINE)

    tables = [*QUESTION_MOVES.items(), *PRESENTATION_MOVES.items()]
    assert sorted(drawn) == sorted((str(before), str(after), str(move)) for (before, move), after in tables)


def test_every_state_is_explained() -> None:
    explained = re.findall(r"^\| `(\w+)` \|", PAGE.read_text(), re.MULTILINE)

    assert explained == [str(status) for status in (*QuestionStatus, *PresentationStatus)]


def test_what_ended_stays_ended() -> None:
    assert frozenset(QuestionStatus) - {QuestionStatus.OPEN} == ENDED
    assert {PresentationStatus.CLOSED, PresentationStatus.LEFT, PresentationStatus.FAILED} == SETTLED
    for status in ENDED:
        with pytest.raises(KeyError):
            after(status, QuestionMove.ANSWER)
    with pytest.raises(KeyError):
        after_showing(PresentationStatus.PLANNED, PresentationMove.CLOSE)
