"""A model that finds the household learns how to use it before it has a token."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.app.living import QUICK, living
from tests.architecture.tree import ROOT

from postroom.doors.assistants.llms_text import llms_text


@pytest.mark.requirement("connect:llms-txt")
async def test_it_is_served_without_a_token(home: Path) -> None:
    async with (
        living(home, QUICK, only=["api"]) as there,
        there.http.get(f"{there.household.addresses['api']}/llms.txt") as response,
    ):
        assert (response.status, response.content_type) == (200, "text/plain")
        assert await response.text() == llms_text()


def test_the_documentation_has_the_same_words() -> None:
    assert (ROOT / "docs" / "llms.txt").read_text(encoding="utf-8") == llms_text()
    assert (
        llms_text().startswith("# Postroom\n\n> ") and "Call `ask` once, then `wait`; do not ask again." in llms_text()
    )


def test_what_it_teaches_is_what_is_taken() -> None:
    assert "`send_notification(message, type?, urgency?, …)`" in llms_text() and "title" not in llms_text()
    assert "`notify(channel, message, …)`" in llms_text() and "postroom.agents" in llms_text()
