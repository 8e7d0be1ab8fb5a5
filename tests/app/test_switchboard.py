"""The switchboard's own log never changes an answer: not even when its table is gone."""

from __future__ import annotations

from pathlib import Path

import asyncpg

from tests.app.living import LIFTED, QUICK, living

_LOG = "switchboard.notifications_log"


async def test_a_log_that_cannot_be_written_changes_no_answer_and_is_counted(home: Path, postgres_url: str) -> None:
    connection = await asyncpg.connect(postgres_url)
    await connection.execute(f"alter table {_LOG} rename to elsewhere")
    try:
        async with living(home, LIFTED, QUICK, {"database_url": postgres_url}) as household:
            answer = await household.notify()
            async with household.http.get(household.household.addresses["api"] + "/metrics") as response:
                figures = await response.text()

            assert (answer["status"], await household.texts()) == ("ok", ["Hello"])
            assert "postroom_hop_log_failed_total" in figures
    finally:
        await connection.execute("alter table switchboard.elsewhere rename to notifications_log")
        await connection.close()
