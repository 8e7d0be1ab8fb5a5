from __future__ import annotations

import json

import pytest
from tests.clock import FakeClock
from tests.contract.pieces import Piecemeal

from postroom.butlers.calendar.google import (
    EventChanged,
    EventExists,
    EventMissing,
    GoogleCalendar,
    LoginExpired,
    NotNow,
    reason_of,
    refusal,
)
from postroom.butlers.calendar.module import CalendarConfig, google_calendar
from postroom.kernel.running.process import Secret
from postroom.kernel.values.errors import (
    InternalError,
    PostroomError,
    ProviderThrottled,
    TargetUnavailable,
    ValidationError,
)

SECRETS = (Secret("id"), Secret("secret"), Secret("refresh"))
TOKEN = {"access_token": "access-1", "expires_in": 3600}


def google(server: Piecemeal) -> GoogleCalendar:
    config = CalendarConfig.model_validate(
        {"provider": "google", "api_base_url": server.url, "token_url": f"{server.url}/token"}
    )
    return google_calendar(config, SECRETS, FakeClock())


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


@pytest.mark.parametrize(
    ("status", "reason", "meaning"),
    [
        (400, "invalid", ValidationError),
        (401, "authError", LoginExpired),
        (403, "forbidden", ValidationError),
        (403, "rateLimitExceeded", ProviderThrottled),
        (403, "quotaExceeded", ProviderThrottled),
        (404, "notFound", EventMissing),
        (409, "duplicate", EventExists),
        (410, "deleted", EventMissing),
        (412, "conditionNotMet", EventChanged),
        (429, "", ProviderThrottled),
        (500, "backendError", TargetUnavailable),
        (503, "", NotNow),
    ],
)
def test_a_status_and_a_reason_have_one_meaning(status: int, reason: str, meaning: type[PostroomError]) -> None:
    assert type(refusal(status, reason, 2.0)) is meaning


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (json.dumps({"error": {"errors": [{"reason": "rateLimitExceeded"}]}}).encode(), "rateLimitExceeded"),
        (b'{"error": {"errors": [{"reason": "see https://evil.example"}]}}', ""),
        (b'{"error": "<script>"}', ""),
        (b'{"error": {"errors": []}}', ""),
        (b'{"error": {"errors": "x"}}', ""),
        (b"[]", ""),
        (b"<html>", ""),
        (b"[" * 100_000, ""),
    ],
)
def test_only_a_plain_word_is_a_reason(body: bytes, reason: str) -> None:
    assert reason_of(body) == reason
