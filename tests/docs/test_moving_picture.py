"""README's moving picture is small, stands still for those who ask for it, and shows what a run shows today."""

from __future__ import annotations

import json
import re
import struct
from typing import Any

import pytest
from scripts.pictures.scenario import Moment, run
from scripts.pictures.told import phone_words

from tests.agents.connect.real_clients import real_client
from tests.agents.connect.terminal import plain
from tests.architecture.tree import ROOT

PICTURES = ROOT / "docs" / "pictures"
GIF = (PICTURES / "agent-asks.gif").read_bytes()
TOLD = json.loads((PICTURES / "agent-asks.json").read_text(encoding="utf-8"))
_PAUSE = re.compile(rb"\x21\xf9\x04.(..).\x00", re.DOTALL)
_MARKS = "⎿●❯>\xa0 "
_MOVES_ON = "is answered"  # whether the program runs already at that moment is chance
_STOPS = "asks"


def seconds(gif: bytes) -> float:
    return sum(struct.unpack("<H", pause)[0] for pause in _PAUSE.findall(gif)) / 100


@pytest.mark.requirement("side:moving-picture")
def test_it_is_small_short_and_wide_enough_for_sharp_screens() -> None:
    width, height = struct.unpack("<HH", GIF[6:10])

    assert len(GIF) <= 1_500_000
    assert 5 < seconds(GIF) <= 12
    assert width == 2 * 830 and height < width


@pytest.mark.requirement("side:moving-picture")
def test_readme_begins_with_it_and_with_a_still_one_for_reduced_motion() -> None:
    first_screen = (ROOT / "README.md").read_text(encoding="utf-8")[:2000]

    assert '<source media="(prefers-reduced-motion: reduce)" srcset="docs/pictures/agent-asks.png">' in first_screen
    assert 'src="docs/pictures/agent-asks.gif"' in first_screen and 'alt="' in first_screen


def test_it_was_made_with_the_client_that_the_tests_run() -> None:
    wanted = json.loads((ROOT / "tests" / "clients" / "package.json").read_text())["dependencies"]

    assert TOLD["client"].startswith(wanted["@anthropic-ai/claude-code"]), "make moving-picture"


@pytest.mark.requirement("side:moving-picture")
async def test_a_run_of_today_says_on_both_screens_what_the_picture_shows() -> None:
    """Otherwise `make moving-picture` makes it again."""
    moments = await run(real_client("claude"), quiet_seconds=0)

    assert [one.name for one in moments] == [one["name"] for one in TOLD["moments"]]
    for one, shown, later in zip(moments, TOLD["moments"], [*TOLD["moments"][1:], None], strict=True):
        early = [later["phone"]] if one.name == _STOPS else []  # the card may be there before the terminal has drawn it
        assert phone_words(one.says) in [shown["phone"], *early], one.name
        assert one.name == _MOVES_ON or missing(one, shown) == [], one.name


def missing(moment: Moment, shown: dict[str, Any]) -> list[str]:
    """A program draws anew only what changes, so marks before a line may stand elsewhere."""
    drawn = "".join(plain(moment.drawn).split())
    return [line for line in shown["terminal"] if "".join(line.lstrip(_MARKS).split()) not in drawn]


def test_the_pictures_of_the_documentation_are_all_shown_somewhere() -> None:
    pages = [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]
    text = "".join(page.read_text(encoding="utf-8") for page in pages)

    assert [one.name for one in sorted(PICTURES.glob("*.png")) if f"pictures/{one.name}" not in text] == []
