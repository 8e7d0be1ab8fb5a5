"""A household that goes away and comes back."""

from __future__ import annotations

import asyncio
import itertools
import json
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from aiohttp import web
from tests.clock import FakeClock
from tests.patience import PATIENCE_SECONDS
from tests.programs.desk.asks.test_asked import ASKED

from postroom.domain.time import seconds
from postroom.programs.desk.asks.board import Board
from postroom.programs.desk.asks.household import AnswerVerdict, AskingHousehold, Taken
from postroom.programs.desk.asks.listening import AskListener, pause_seconds
from postroom.programs.desk.asks.only_one import OnlyOne
from postroom.programs.desk.household_address import HouseholdAddress
from postroom.system.settings import Secret

TOKEN = "pr_person_canary"


class Door:
    """As the API is documented, with a say in how it fails."""

    def __init__(self) -> None:
        self.asks: list[dict[str, Any]] = [{"ask_id": "q1", "asked": ASKED}]
        self.status = 200
        self.answer: dict[str, Any] = {}
        self.heard: list[tuple[str, dict[str, Any], str]] = []
        self.rounds = 0
        self.looked = asyncio.Event()

    async def listed(self, request: web.Request) -> web.Response:
        assert request.headers["Authorization"] == f"Bearer {TOKEN}"
        assert request.query_string == "status=open&mine=true&limit=200"
        self.rounds += 1
        self.looked.set()
        return web.json_response({"asks": self.asks, "next_cursor": None}, status=self.status)

    async def stream(self, request: web.Request) -> web.StreamResponse:
        if self.status != 200:
            return web.json_response({}, status=self.status)
        response = web.StreamResponse(status=self.status, headers={"Content-Type": "text/event-stream"})
        await response.prepare(request)
        await response.write(b"retry: 1000\n\n: still here\n\n")
        async with asyncio.timeout(PATIENCE_SECONDS):
            await self.looked.wait()
        self.asks = [{"ask_id": "q2", "asked": ASKED}]
        frame = "event: ask.answered\nid: 1\ndata: " + json.dumps({"context": "x" * 200_000}) + "\n\n"
        await response.write(frame.encode())
        return response

    async def answered(self, request: web.Request) -> web.Response:
        self.heard.append((request.query_string, await request.json(), request.headers["Idempotency-Key"]))
        return web.json_response(self.answer, status=self.status)

    @asynccontextmanager
    async def open(self) -> AsyncIterator[str]:
        app = web.Application()
        app.router.add_get("/v1/asks", self.listed)
        app.router.add_get("/v1/asks/stream", self.stream)
        app.router.add_post("/v1/asks/{id}/answer", self.answered)
        runner = web.AppRunner(app)
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        try:
            yield f"http://127.0.0.1:{runner.addresses[0][1]}"
        finally:
            await runner.cleanup()


@asynccontextmanager
async def household(url: str) -> AsyncIterator[AskingHousehold]:
    async with aiohttp.ClientSession() as http:
        yield AskingHousehold(HouseholdAddress(url=url, token=Secret(TOKEN)), http)


@pytest.mark.requirement("ask:desk-waits-for-household")
def test_pauses_grow_up_to_half_a_minute() -> None:
    pauses = [pause_seconds(failures) for failures in range(1, 40)]

    assert pauses[:4] == [1, 2, 4, 8] and pauses[-1] == 30
    assert all(one <= other for one, other in itertools.pairwise(pauses))


@pytest.mark.requirement("ask:desk-waits-for-household")
async def test_a_household_that_is_away_is_asked_again_later_and_keeps_the_board(
    clock: FakeClock, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    board, gone = Board(), list[str]()
    door = Door()
    async with door.open() as url, household(url) as home:
        listener = AskListener(home, board, clock, OnlyOne(tmp_path / "one"), gone.append)
        async with asyncio.timeout(PATIENCE_SECONDS):
            assert await listener.look() == clock.now_us() + seconds(1)
        assert (gone, door.rounds >= 2) == (["q1"], True)
        shown = board.next()
        assert shown is not None and shown.id == "q2"
    async with household(url) as home:
        listener = AskListener(home, board, clock, OnlyOne(tmp_path / "two"), gone.append)
        waits = [await listener.look() - clock.now_us() for _ in range(3)]

    assert board.next() == shown and gone == ["q1"]
    assert waits == [seconds(1), seconds(2), seconds(4)]
    assert [record.levelno for record in caplog.records] == [logging.WARNING]
    assert TOKEN not in caplog.text


async def test_a_token_that_is_not_accepted_is_said_and_clears_the_screen(
    clock: FakeClock, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    door = Door()
    door.status = 401
    async with door.open() as url, household(url) as home:
        listener = AskListener(home, Board(), clock, OnlyOne(tmp_path / "one"), lambda _: None)
        assert await listener.look() == clock.now_us() + seconds(60)

    assert "401" in caplog.text


async def test_a_second_desk_of_the_same_person_waits_for_its_turn(clock: FakeClock, tmp_path: Path) -> None:
    first = OnlyOne(tmp_path / "one")
    assert first.take()
    door = Door()
    async with door.open() as url, household(url) as home:
        listener = AskListener(home, Board(), clock, OnlyOne(tmp_path / "one"), lambda _: None)
        await listener.look()

    first.release()
    assert door.rounds == 0


@pytest.mark.parametrize(
    ("status", "body", "verdict"),
    [
        (200, {}, AnswerVerdict(taken=Taken.ACCEPTED)),
        (409, {"error": {"message": "Anna was first"}}, AnswerVerdict(taken=Taken.TOO_LATE, reason="Anna was first")),
        (403, {"error": {"message": "decide this in the console"}}, None),
        (422, {"error": {"message": "text: m", "fields": [{"field": "text", "error": "is empty"}]}}, None),
    ],
)
async def test_an_answer_names_its_place_its_wording_and_its_key(
    status: int, body: dict[str, Any], verdict: AnswerVerdict | None
) -> None:
    door = Door()
    async with door.open() as url, household(url) as home:
        [ask] = await home.open_asks()
        door.status, door.answer = status, body
        found = await home.answer(ask, {"text": "so"}, "key-1")

    assert door.heard == [("channel=desk&revision=2", {"text": "so"}, "key-1")]
    expected = {
        403: AnswerVerdict(taken=Taken.REFUSED, reason="decide this in the console"),
        422: AnswerVerdict(taken=Taken.NOT_AN_ANSWER, reason="is empty"),
    }
    assert found == (verdict or expected[status])
