"""Reading the household's documents."""

from __future__ import annotations

import asyncio
import itertools
import json
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from tests.clock import FakeClock
from tests.patience import PATIENCE_SECONDS
from tests.questions.sample_questions import new_question

from postroom.desk.asks.asking import (
    Ask,
    AskingHousehold,
    AskListener,
    Board,
    HouseholdAddress,
    Named,
    OnlyOne,
    ask_of,
    is_away,
    pause_seconds,
    whose_questions,
)
from postroom.desk.asks.showing import reason_of
from postroom.kernel.values.errors import PostroomError, Refused, SettingsError
from postroom.kernel.values.ids import seconds
from postroom.questions.model import Option, QuestionKind, Said, Wording
from postroom.questions.shapes import AskBody, QuestionView, shown_body
from postroom.settings import Secret, Settings

ASKED = new_question(
    asker="butler:health",
    question="When?",
    options=[{"value": "a", "label": "Now"}],
    multiple=True,
    allow_text=False,
    secret=True,
)


def told(ask_id: str) -> dict[str, Any]:
    """As the household shows the question to those it asks."""
    return shown_body(QuestionView(question=replace(ASKED, id=ask_id))).model_dump(mode="json")


def test_a_question_is_read_as_it_was_asked() -> None:
    wording = Wording(
        kind=QuestionKind.CHOICE,
        question="When?",
        options=(Option(value="a", label="Now"),),
        multiple=True,
        allow_text=False,
        secret=True,
    )

    read = ask_of(AskBody.model_validate(told("q1")))

    assert read == Ask(id="q1", revision=1, asker="butler:health", wording=wording)


def ask(name: str, revision: int = 1) -> Ask:
    return Ask(id=name, revision=revision, asker="butler:health", wording=Wording(kind=QuestionKind.TEXT, question="?"))


def test_the_oldest_comes_first_and_one_that_was_put_aside_does_not_come_again() -> None:
    board = Board()
    board.put([ask("a"), ask("b")])
    assert board.next() == ask("a")
    board.put_aside(ask("a"))
    board.put([ask("a"), ask("b")])
    assert board.next() == ask("b")
    board.put_aside(ask("b"))
    assert board.next() is None


def test_other_words_bring_a_question_back() -> None:
    board = Board()
    board.put([ask("a")])
    board.put_aside(ask("a"))
    board.put([ask("a", revision=2)])

    assert board.next() == ask("a", revision=2)
    assert not board.holds(ask("a")) and board.holds(ask("a", revision=2))


def test_it_says_what_has_ended_and_rings() -> None:
    board = Board()
    board.put([ask("a"), ask("b")])
    news = board.changed.news()

    assert board.put([ask("b")]) == {"a"}
    assert news.is_set() and not board.holds(ask("a"))


TOKEN = "pr_person_canary"


class Door:
    """As the API is documented, with a say in how it fails."""

    def __init__(self) -> None:
        self.asks = [told("q1")]
        self.status = 200
        self.answer: dict[str, Any] = told("q1")
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
        self.asks = [told("q2")]
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
    one = AskingHousehold(HouseholdAddress(url=url, token=Secret(TOKEN)))
    yield one
    await one.close()


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

    assert "the household refused the token" in caplog.text


async def test_a_second_desk_of_the_same_person_waits_for_its_turn(clock: FakeClock, tmp_path: Path) -> None:
    first = OnlyOne(tmp_path / "one")
    assert first.take()
    door = Door()
    async with door.open() as url, household(url) as home:
        listener = AskListener(home, Board(), clock, OnlyOne(tmp_path / "one"), lambda _: None)
        await listener.look()

    first.release()
    assert door.rounds == 0


async def test_an_answer_names_its_place_its_wording_and_its_key() -> None:
    door = Door()
    async with door.open() as url, household(url) as home:
        [ask] = await home.open_asks()
        await home.answer(ask, Said(text="so"), "key-1")

    assert door.heard == [("channel=desk&revision=1", {"text": "so"}, "key-1")]


@pytest.mark.parametrize(
    ("status", "error", "reason"),
    [
        (409, {"code": "illegal_transition", "message": "Anna was first"}, "Anna was first"),
        (403, {"code": "policy_denied", "message": "decide this in the console"}, "decide this in the console"),
        (422, {"message": "text: m", "fields": [{"field": "text", "error": "is empty", "code": "c"}]}, "is empty"),
    ],
)
async def test_why_an_answer_was_not_taken_is_said_without_names_of_the_api(
    status: int, error: dict[str, Any], reason: str
) -> None:
    door = Door()
    async with door.open() as url, household(url) as home:
        [ask] = await home.open_asks()
        door.status, door.answer = status, {"error": error}
        with pytest.raises(Refused) as refusal:
            await home.answer(ask, Said(text="so"), "key-1")

    assert (refusal.value.code.status, reason_of(refusal.value)) == (status, reason)
    assert not is_away(refusal.value)


@pytest.mark.requirement("ask:desk-waits-for-household")
@pytest.mark.parametrize("status", [408, 429, 500, 503])
async def test_a_household_that_is_busy_has_not_refused_the_answer(status: int) -> None:
    door = Door()
    async with door.open() as url, household(url) as home:
        [ask] = await home.open_asks()
        door.status, door.answer = status, {"error": {"code": "another", "message": "not now"}}
        with pytest.raises(PostroomError) as refusal:
            await home.answer(ask, Said(text="so"), "key-1")

    assert is_away(refusal.value)


def test_the_first_one_has_it_until_it_lets_go(tmp_path: Path) -> None:
    file = tmp_path / "desk" / "watching"
    first, second = OnlyOne(file), OnlyOne(file)
    assert first.take() and first.take() and not second.take()
    first.release()
    assert second.take() and not first.take()
    second.release()


def test_where_nothing_can_be_written_no_desk_is_kept_out(tmp_path: Path) -> None:
    blocker = tmp_path / "file"
    blocker.touch()

    assert OnlyOne(blocker / "watching").take()


PERSONS = "pr_person_canary"


def chosen(
    tmp_path: Path, named: Named | None = None, owners: str | None = None, **settings: Any
) -> HouseholdAddress | None:
    return whose_questions(Settings(home=tmp_path, **settings), named or Named(), lambda _: owners)


def test_without_a_household_the_desk_works_alone(tmp_path: Path) -> None:
    assert chosen(tmp_path) is None


def test_the_household_here_is_taken_with_its_owners_token(tmp_path: Path) -> None:
    expected = HouseholdAddress(url="http://127.0.0.1:40200", token=Secret(PERSONS))

    assert chosen(tmp_path, owners=PERSONS) == expected
    assert chosen(tmp_path, owners=PERSONS, desk={"questions": False}) is None


def test_the_household_that_commands_speak_to_is_taken_when_the_token_is_a_persons(tmp_path: Path) -> None:
    there = {"url": "https://home.example/", "token": PERSONS}

    assert chosen(tmp_path, **there) == HouseholdAddress(url="https://home.example", token=Secret(PERSONS))
    assert chosen(tmp_path, owners=PERSONS, **there | {"token": "pr_butler_x"}) is None


def test_the_command_line_comes_first(tmp_path: Path) -> None:
    named = Named(url="http://other:1/", token="t")

    assert chosen(tmp_path, named, owners=PERSONS) == HouseholdAddress(url="http://other:1", token=Secret("t"))
    assert chosen(tmp_path, Named(url="http://other:1"), token=PERSONS) == HouseholdAddress(
        url="http://other:1", token=Secret(PERSONS)
    )


@pytest.mark.parametrize("named", [Named(url="http://other:1"), Named(url="other", token="t")])
def test_half_an_address_is_refused(tmp_path: Path, named: Named) -> None:
    with pytest.raises(SettingsError, match="--household"):
        chosen(tmp_path, named)
