"""An adapter in the household's own process makes no call to its port, and what it sends takes the same steps."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest
from tests.telephone import CHATGPT, OWNER, settings_for, telephone

from postroom.connectors.household import HouseholdClient


def never(*_given: object, **_named: object) -> None:
    raise AssertionError("a call to our own port")


@pytest.mark.requirement("house:same-path")
async def test_a_message_by_an_adapter_at_home_goes_through_the_switchboard_and_no_port_of_ours(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(HouseholdClient, "under", never)
    async with telephone(settings_for(tmp_path)) as line:
        sent = await line.adapt({"requester_agent": OWNER, "recipient_name": "Bob", "message": "Hello"}, CHATGPT)
        intent_id = sent.body["delivery"]["intent_id"]
        await line.until(intent_id, "DELIVERED")

    with sqlite3.connect(tmp_path / "postroom.db") as database:
        handed = database.execute(
            "SELECT origin_butler, handed_by FROM delivery_requests WHERE request_id = ?", [intent_id]
        )
        assert handed.fetchall() == [("intents", "switchboard")]
