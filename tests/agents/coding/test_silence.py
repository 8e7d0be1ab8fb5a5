"""A hook never keeps the screen from asking: a household that is gone is noticed, and helpers do not wait long."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

import pytest
from tests.agents.coding.recorded import recorded

from postroom.agents.coding.hook import Hook
from postroom.agents.coding.phone import PersonAsker
from postroom.settings.connections import Caller, NoHousehold


@dataclass
class Household:
    """Takes a question, and from then on answers that it is open, after a while hangs, or is gone."""

    answers_until: float = 0.0
    hangs: bool = False
    now: float = 0.0
    calls: list[str] = field(default_factory=list)

    def call(self, method: str, path: str, body: Any = None, *, timeout_seconds: float, key: str | None = None) -> Any:
        self.calls.append(f"{method} {path.partition('?')[0]}")
        if path == "/v1/asks":
            return 201, {"ask_id": f"a{len(self.calls)}", "status": "open"}
        if self.now >= self.answers_until:
            self.now += timeout_seconds if self.hangs else 0.0
            raise NoHousehold("gone")
        if method == "POST":
            return 200, {"status": "cancelled"}
        self.now += float(path.partition("wait_seconds=")[2])
        return 200, {"status": "open"}

    def wait(self, seconds: float) -> None:
        self.now += seconds


def heard(household: Household, home: Path, client: str, event: str = "PermissionRequest", **more: Any) -> str:
    phone = PersonAsker(
        caller=cast(Caller, household), wait_seconds=3600, now=lambda: household.now, pause=household.wait, parent=None
    )
    text = json.dumps(json.loads(recorded(client, event)) | more)
    return Hook(home=home, phone=phone, reveal=str).heard(client, text)


@pytest.mark.requirement("connect:hook-abstains")
@pytest.mark.parametrize("client", ["claude", "codex"])
@pytest.mark.parametrize("hangs", [True, False], ids=["frozen", "gone"])
def test_a_household_that_is_gone_for_thirty_seconds_is_not_waited_for(home: Path, client: str, hangs: bool) -> None:
    household = Household(answers_until=40.0, hangs=hangs)

    assert heard(household, home, client) == ""
    assert household.now == pytest.approx(70.0, abs=1.0)


@pytest.mark.requirement("connect:hook-abstains")
def test_the_card_it_left_is_closed_by_the_next_moment_at_which_the_household_is_back(home: Path) -> None:
    gone = Household()
    heard(gone, home, "claude")
    back = Household(answers_until=1.0)
    heard(back, home, "claude", "Stop")

    assert back.calls == ["POST /v1/asks/a1/cancel"]


@pytest.mark.requirement("connect:hook-abstains")
@pytest.mark.parametrize("event", ["PermissionRequest", "PermissionRequest-AskUserQuestion"])
def test_a_helper_in_the_background_waits_a_minute_at_most_for_all_it_asks(home: Path, event: str) -> None:
    household = Household(answers_until=10_000.0)

    assert heard(household, home, "claude", event, agent_id="a1b2") == ""
    assert household.now == pytest.approx(60.0, abs=1.0)
    assert household.calls[-1].endswith("/cancel")
