"""Threads people wrote from, on either database."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.clock import START_US
from tests.opened_database import opened_database

from postroom.world.store.conversations.conversations import StoredConversations


@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
async def test_only_the_very_thread_that_was_heard_counts(
    kind: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    async with opened_database(kind, tmp_path, request) as database:
        conversations = StoredConversations(database)
        for _ in range(2):
            await conversations.hear("telegram", "555", "7", START_US)

        asked = [("telegram", "555", "7"), ("telegram", "555", "8"), ("telegram", "556", "7"), ("email", "555", "7")]
        assert [await conversations.heard(*one) for one in asked] == [True, False, False, False]
