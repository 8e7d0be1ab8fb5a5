"""The table of a notice's moves is sound, and the drawing in the documentation is that table."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from postroom.attention.model import (
    CELLS,
    NOTICE_MOVES,
    OPEN,
    SETTLED,
    TERMINAL,
    NoticeMove,
    NoticeState,
    may,
    moved,
)

PAGE = Path(__file__).parents[2] / "docs" / "explanation" / "attention.md"
pytestmark = pytest.mark.requirement("attention:states")


def test_every_state_is_reached_and_every_move_is_used() -> None:
    assert set(NOTICE_MOVES.values()) | {NoticeState.ACCEPTED} == set(NoticeState)
    assert {move for _, move in NOTICE_MOVES} == set(NoticeMove)


def test_a_state_is_open_or_settled_and_what_is_terminal_is_settled() -> None:
    assert set(NoticeState) == OPEN | SETTLED
    assert SETTLED - {NoticeState.SENT, NoticeState.DIGESTED} == TERMINAL


def test_every_state_is_in_one_cell() -> None:
    assert sorted(state for states in CELLS.values() for state in states) == sorted(NoticeState)


@pytest.mark.parametrize("state", NoticeState)
@pytest.mark.parametrize("move", NoticeMove)
def test_a_move_that_is_not_in_the_table_is_refused(state: NoticeState, move: NoticeMove) -> None:
    if may(state, move):
        assert moved(state, move) is NOTICE_MOVES[state, move]
        return
    with pytest.raises(KeyError):
        moved(state, move)


def test_the_drawing_shows_every_move_and_no_other() -> None:
    drawn = re.findall(r"^    (\w+) --> (\w+): (\w+)$", PAGE.read_text(), re.MULTILINE)

    assert sorted(drawn) == sorted(
        (str(before), str(after), str(move)) for (before, move), after in NOTICE_MOVES.items()
    )


def test_every_state_is_explained() -> None:
    assert re.findall(r"^\| `(\w+)` \|", PAGE.read_text(), re.MULTILINE) == [str(state) for state in NoticeState]
