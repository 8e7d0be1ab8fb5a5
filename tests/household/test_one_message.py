"""CONTRIBUTING lists the files one message passes: here a real one passes them, in that order."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

from tests.household.living import LIFTED, QUICK, living
from tests.architecture.tree import ROOT, SOURCE

LISTED = re.compile(r"^\d+\. `([\w/]+\.py)`:", re.MULTILINE)


def listed() -> list[str]:
    return LISTED.findall((ROOT / "CONTRIBUTING.md").read_text())


def following(passed: list[str]) -> Callable[[FrameType, str, Any], None]:
    """Notes each file of ours whenever a function in it is called."""

    def note(frame: FrameType, event: str, _argument: Any) -> None:
        path = frame.f_code.co_filename
        if event == "call" and path.startswith(str(SOURCE)) and frame.f_code.co_name != "<lambda>":
            passed.append(Path(path).relative_to(SOURCE).as_posix())

    return note


@pytest.mark.requirement("house:one-message")
async def test_a_message_passes_the_files_that_contributing_lists_in_that_order(tmp_path: Path) -> None:
    passed: list[str] = []
    async with living(tmp_path, LIFTED, QUICK) as home:
        await home.notify(message="so that nothing is done for the first time")
        sys.setprofile(following(passed))
        try:
            answer = await home.notify()
        finally:
            sys.setprofile(None)

    assert answer["status"] == "ok"
    assert len(listed()) == 10
    on_the_way = iter(passed)
    assert [place for place in listed() if place not in on_the_way] == []  # each after the one before it
