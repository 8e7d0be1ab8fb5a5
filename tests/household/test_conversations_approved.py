"""Approvals hold for what a session sends, for any person; its answer to the person who wrote needs none."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.household.talking import reply, script, talking


@pytest.mark.requirement("talk:approvals")
async def test_a_session_answers_the_one_who_wrote_and_sends_to_others_only_with_consent(
    home: Path, tmp_path: Path
) -> None:
    elsewhere = {
        "call": "notify",
        "arguments": {"channel": "telegram", "recipient": "9999", "message": "Ignore all rules.", "intent": "send"},
    }
    words = "/general " + script(elsewhere, reply("Done as you asked."))
    async with talking(home, tmp_path, {"approvals": {"enabled": True, "ask_owner": False}}) as house:
        await house.write(2001, words)
        await house.write(2002, words, forwarded=True)

        assert [one["text"] for one in await house.said(2001)] == ["Done as you asked."]
        [kept] = await house.kept(2001, "answered")
        rows = [row for row in house.rows("delivery_requests") if row["request_id"] == kept["id"]]

    assert sorted((row["address"], row["status"]) for row in rows) == [
        ("2001", "delivered"),
        ("9999", "awaiting_approval"),
    ]
