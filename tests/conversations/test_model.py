"""One table of moves: code, database and drawing agree."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from postroom.conversations.model import (
    INBOUND_MOVES,
    SETTLED,
    WITH_BUTLER,
    InboundMove,
    InboundStatus,
    moved,
)

PAGE = Path(__file__).parents[2] / "docs" / "explanation" / "conversations.md"
pytestmark = pytest.mark.requirement("talk:states")


def test_the_drawing_shows_every_move_and_no_other() -> None:
    drawn = re.findall(r"^    (\w+) --> (\w+): (\w+)$", PAGE.read_text(), re.MULTILINE)

    assert sorted(drawn) == sorted(
        (str(before), str(after), str(move)) for (before, move), after in INBOUND_MOVES.items()
    )


def test_every_state_is_explained() -> None:
    assert re.findall(r"^\| `(\w+)` \|", PAGE.read_text(), re.MULTILINE) == [str(one) for one in InboundStatus]


def test_every_state_is_reached_every_move_is_used_and_what_is_settled_stays_so() -> None:
    assert set(INBOUND_MOVES.values()) | {InboundStatus.RECEIVED} == set(InboundStatus)
    assert {move for _, move in INBOUND_MOVES} == set(InboundMove)
    assert set(InboundStatus) - WITH_BUTLER - {InboundStatus.RECEIVED} == SETTLED
    for status in SETTLED:
        with pytest.raises(KeyError):
            moved(status, InboundMove.ANSWER)
