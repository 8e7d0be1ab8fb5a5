"""One table of moves: code, database and drawing agree."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from postroom.domain.question_states import (
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
from postroom.world.store.migrations.versions import m0015_questions

PAGE = Path(__file__).parents[2] / "docs" / "explanation" / "question-states.md"


@pytest.mark.requirement("ask:states")
def test_the_drawings_show_every_move_and_no_other() -> None:
    drawn = re.findall(r"^    (\w+) --> (\w+): (\w+)$", PAGE.read_text(), re.MULTILINE)

    tables = [*QUESTION_MOVES.items(), *PRESENTATION_MOVES.items()]
    assert sorted(drawn) == sorted((str(before), str(after), str(move)) for (before, move), after in tables)


def test_every_state_is_explained() -> None:
    explained = re.findall(r"^\| `(\w+)` \|", PAGE.read_text(), re.MULTILINE)

    assert explained == [str(status) for status in (*QuestionStatus, *PresentationStatus)]


@pytest.mark.requirement("ask:states")
def test_the_edges_the_database_guards_are_those_of_the_tables() -> None:
    def edges(table: object) -> set[tuple[str, str]]:
        assert isinstance(table, dict)
        return {(str(before), str(after)) for (before, _), after in table.items() if before is not after}

    assert set(m0015_questions.QUESTION_EDGES) == edges(QUESTION_MOVES)
    assert set(m0015_questions.PRESENTATION_EDGES) == edges(PRESENTATION_MOVES)


def test_what_ended_stays_ended() -> None:
    assert frozenset(QuestionStatus) - {QuestionStatus.OPEN} == ENDED
    assert {PresentationStatus.CLOSED, PresentationStatus.LEFT, PresentationStatus.FAILED} == SETTLED
    for status in ENDED:
        with pytest.raises(KeyError):
            after(status, QuestionMove.ANSWER)
    with pytest.raises(KeyError):
        after_showing(PresentationStatus.PLANNED, PresentationMove.CLOSE)
