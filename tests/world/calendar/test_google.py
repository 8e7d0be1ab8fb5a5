from __future__ import annotations

import pytest
from tests.clock import FakeClock
from tests.contract.pieces import Piecemeal

from postroom.app.calendars import google_calendars
from postroom.domain.calendar import CalendarSource
from postroom.domain.errors import InternalError, TargetUnavailable
from postroom.doors.butler.modules.calendar.config import CalendarConfig
from postroom.system.settings.secret import Secret

SECRETS = (Secret("id"), Secret("secret"), Secret("refresh"))
TOKEN = {"access_token": "access-1", "expires_in": 3600}


def google(server: Piecemeal) -> CalendarSource:
    config = CalendarConfig.model_validate(
        {"provider": "google", "api_base_url": server.url, "token_url": f"{server.url}/token"}
    )
    return google_calendars(FakeClock())(config, SECRETS)


@pytest.mark.parametrize("chunked", [False, True], ids=["with a length", "chunked"])
@pytest.mark.parametrize("piece_bytes", [1, 100], ids=["byte by byte", "head and body apart"])
async def test_an_answer_that_arrives_in_pieces_is_read_whole(piece_bytes: int, chunked: bool) -> None:
    event = {"id": "dentist", "description": "word " * 50}
    async with Piecemeal(TOKEN, event, piece_bytes=piece_bytes, chunked=chunked) as server:
        calendar = google(server)
        assert await calendar.get("dentist") == event
        await calendar.close()

    assert server.pieces > 4


async def test_the_reason_of_a_refusal_that_arrives_in_pieces_is_read(clock: FakeClock) -> None:
    refusal = {"error": "invalid_grant", "error_description": "word " * 50}
    async with Piecemeal(refusal, status=400) as server:
        calendar = google(server)
        with pytest.raises(TargetUnavailable, match="connect the calendar again"):
            await calendar.get("dentist")
        await calendar.close()


async def test_an_answer_without_end_is_cut_and_cannot_be_read() -> None:
    async with Piecemeal(TOKEN, "x" * (9 * 1024 * 1024), piece_bytes=2**20) as server:
        calendar = google(server)
        with pytest.raises(InternalError, match="cannot be read"):
            await calendar.get("dentist")
        await calendar.close()
