"""The drawing in the documentation is the table in the code."""

from __future__ import annotations

import re
from pathlib import Path

from postroom.message.delivery import TRANSITIONS, Status

PAGE = Path(__file__).parents[2] / "docs" / "explanation" / "delivery-states.md"


def test_the_drawing_shows_every_move_and_no_other() -> None:
    drawn = re.findall(r"^    (\w+) --> (\w+): (\w+)$", PAGE.read_text(), re.MULTILINE)

    assert sorted(drawn) == sorted(
        (str(before), str(after), str(event)) for (before, event), after in TRANSITIONS.items()
    )


def test_every_state_is_explained() -> None:
    explained = re.findall(r"^\| `(\w+)` \|", PAGE.read_text(), re.MULTILINE)

    assert explained == [str(status) for status in Status]
