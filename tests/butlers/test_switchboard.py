"""The switchboard: who may say what, a note of what it refuses, and never a silent success."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

import pytest
from sqlalchemy import select
from structlog.testing import capture_logs
from tests.clock import FakeClock
from tests.patience import PATIENCE_SECONDS
from tests.support.envelopes import REPLY, SEND
from tests.support.kinds import KINDS

from postroom.butlers.model import Registration
from postroom.butlers.switchboard import Registry, Switchboard, check_origin
from postroom.butlers.wire import read_route_response
from postroom.delivery import notify
from postroom.delivery.model import RefusedCall
from postroom.delivery.store.rows import StoredRefusedCalls
from postroom.delivery.store.tables import delivery_refusals
from postroom.household.peers import OverMcp
from postroom.kernel.database.engine import Database
from postroom.kernel.values.errors import (
    DeliveryTimeout,
    InternalError,
    PostroomError,
    StoreUnavailable,
    TargetUnavailable,
    ValidationError,
)
from postroom.kernel.values.ids import IdMint
from postroom.kernel.values.principal import OPERATOR, Principal, Role

HEALTH = Principal(Role.BUTLER, "health")
OK = {"schema_version": "notify_response.v1", "status": "ok"}


class Messenger:
    """A Peer that keeps what it is asked, and answers or fails as it was told."""

    def __init__(self, answer: Any) -> None:
        self.answer = answer
        self.calls: list[dict[str, Any]] = []
        self.hold: asyncio.Event | None = None

    async def call(self, tool: str, arguments: Mapping[str, Any], timeout_seconds: float) -> dict[str, Any]:
        self.calls.append({"tool": tool, "timeout": timeout_seconds, **arguments})
        if self.hold:
            await self.hold.wait()
        if isinstance(self.answer, PostroomError):
            raise self.answer
        answer: dict[str, Any] = self.answer
        return answer


class Board:
    """A switchboard over a real store, before butlers that answer as told; the messenger was seen just now."""

    def __init__(self, database: Database, clock: FakeClock) -> None:
        self.database, self.clock, self.butler = database, clock, Messenger(routed())
        self.switchboard = Switchboard(
            outbound=OverMcp("messenger", self.butler, clock),
            peer_of=lambda _: self.butler,
            registry=Registry(database, clock),
            refusals=StoredRefusedCalls(database, IdMint().mint),
            channels=KINDS,
            clock=clock,
            mint=IdMint().mint,
        )

    async def register(self, name: str = "health") -> None:
        await self.switchboard.registry.register(
            Registration(
                name=name,
                endpoint_url="http://127.0.0.1:1/mcp",
                description="",
                modules=("calendar",),
                last_seen_at_us=self.clock.now_us(),
            )
        )

    async def deliver(
        self,
        envelope: Mapping[str, Any],
        *,
        caller: Principal | None = None,
        request_id: str | None = "r",
        wait_seconds: float = 0,
    ) -> dict[str, Any]:
        return await self.switchboard.deliver(
            caller or HEALTH, envelope, request_id=request_id, wait_seconds=wait_seconds
        )

    async def told(self) -> list[tuple[str, str, str]]:
        columns = (delivery_refusals.c.request_id, delivery_refusals.c.origin_butler, delivery_refusals.c.error_message)
        return await self.database.read(lambda connection: [tuple(row) for row in connection.execute(select(*columns))])


@pytest.fixture
async def board(database: Database, clock: FakeClock) -> Board:
    board = Board(database, clock)
    await board.register("messenger")
    return board


def routed(inner: Any = OK) -> dict[str, Any]:
    return {"schema_version": "route_response.v1", "status": "ok", "result": {"notify_response": inner}}


@pytest.mark.requirement("notify:notify-routed-through-switchboard", "notify:messenger-routing-via-switchboard")
async def test_an_envelope_becomes_a_route_and_the_inner_answer_comes_back(board: Board) -> None:
    answer = await board.deliver(SEND, request_id="r-1", wait_seconds=20)

    assert answer == OK
    [call] = board.butler.calls
    assert (call["tool"], call["wait_seconds"]) == ("route.execute", 20)
    assert call["timeout"] > 20
    assert call["route"]["input"]["context"]["notify_request"] == SEND
    assert call["route"]["request_context"]["request_id"] == "r-1"
    assert await board.told() == []


async def test_the_lineage_of_a_reply_is_its_request(board: Board) -> None:
    await board.deliver(REPLY, request_id=None)
    await board.deliver({**REPLY, "extra": 1}, request_id=None)

    assert board.butler.calls[0]["route"]["request_context"]["request_id"] == "inbound-1"
    assert [request_id for request_id, _, _ in await board.told()] == ["inbound-1"]


@pytest.mark.parametrize(
    ("caller", "origin", "allowed"),
    [
        (HEALTH, "health", True),
        (OPERATOR, "health", True),
        (HEALTH, "general", False),
        (Principal(Role.USER, "health"), "health", False),
        (Principal(Role.CONNECTOR, "health"), "health", False),
        (HEALTH, "Health", False),
        (HEALTH, "", False),
    ],
    ids=str,
)
def test_an_envelope_speaks_for_its_sender_only(caller: Principal, origin: str, allowed: bool) -> None:
    if allowed:
        check_origin(caller, origin)
    else:
        with pytest.raises(ValidationError, match="origin_butler"):
            check_origin(caller, origin)


@pytest.mark.parametrize("envelope", [{}, {**SEND, "origin_butler": "general"}, {**SEND, "extra": 1}], ids=str)
async def test_what_is_refused_reaches_nobody_and_is_on_record(board: Board, envelope: dict[str, Any]) -> None:
    answer = await board.deliver(envelope)

    assert (answer["status"], answer["error_class"]) == ("error", "validation_error")
    assert board.butler.calls == []
    assert await board.told() == [("r", "health", answer["error"]["message"])]


@pytest.mark.parametrize(
    "answer",
    [
        {},
        {"status": "ok"},
        {"schema_version": "route_response.v1", "status": "ok"},
        {"schema_version": "route_response.v1", "result": None},
        {"schema_version": "route_response.v1", "result": {"notify_response": "ok"}},
        {"schema_version": "route_response.v2", "result": {"notify_response": OK}},
    ],
    ids=str,
)
async def test_anything_but_a_well_formed_answer_is_an_error(board: Board, answer: dict[str, Any]) -> None:
    board.butler.answer = answer

    told = await board.deliver(SEND)

    assert (told["status"], told["error_class"]) == ("error", "internal_error")
    with pytest.raises(InternalError):
        read_route_response(answer)


async def test_a_messenger_that_is_away_is_told(board: Board) -> None:
    board.butler.answer = TargetUnavailable("messenger cannot be reached")

    answer = await board.deliver(SEND)

    assert (answer["error_class"], answer["retryable"]) == ("target_unavailable", True)
    assert await board.told() == [("r", "health", "the messenger cannot be reached; nothing was sent")]


@pytest.mark.parametrize("failure", [StoreUnavailable("away"), RuntimeError("no such table")], ids=repr)
async def test_a_refusal_is_told_even_if_it_cannot_be_written_down(
    board: Board, failure: Exception, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def fails(_store: StoredRefusedCalls, _call: RefusedCall) -> None:
        raise failure

    monkeypatch.setattr(StoredRefusedCalls, "note", fails)

    with capture_logs() as logged:
        answer = await board.deliver({})

    assert (answer["status"], answer["error_class"]) == ("error", "validation_error")
    assert [(one["event"], one["exc_info"]) for one in logged] == [("switchboard.note_lost", failure)]


async def test_a_refusal_does_not_wait_for_a_store_that_hangs(board: Board, monkeypatch: pytest.MonkeyPatch) -> None:
    async def hangs(_store: StoredRefusedCalls, _call: RefusedCall) -> None:
        await asyncio.Event().wait()

    monkeypatch.setattr(notify, "_NOTE_SECONDS", 0.01)
    monkeypatch.setattr(StoredRefusedCalls, "note", hangs)

    with capture_logs() as logged:
        async with asyncio.timeout(PATIENCE_SECONDS):
            answer = await board.deliver({})

    assert answer["error_class"] == "validation_error"
    assert [type(one["exc_info"]) for one in logged] == [TimeoutError]


async def test_without_a_messenger_in_the_registry_nothing_is_routed(database: Database, clock: FakeClock) -> None:
    board = Board(database, clock)

    answer = await board.deliver(SEND)

    assert answer["status"] == "error"
    assert board.butler.calls == []
    assert await board.told() == [("r", "health", answer["error"]["message"])]


@pytest.mark.requirement("house:buttons-are-the-households-own")
async def test_buttons_are_taken_from_the_household_itself_and_refused_from_a_butler(board: Board) -> None:
    markup = {"buttons": [[{"label": "Yes", "token": "q1:yes"}]]}
    card = {**SEND, "household": {"markup": markup, "revises": None}}

    theirs = await board.deliver(card, request_id="r-1")
    ours = await board.deliver(card, request_id="r-2", caller=OPERATOR)

    assert [one["field"] for one in theirs["error"]["fields"]] == ["household"]
    assert ours == OK
    [call] = board.butler.calls
    assert call["route"]["input"]["context"]["notify_request"] == card


# `route`: one butler asks another.

GENERAL = Principal(Role.BUTLER, "general")


ACCEPTED = {"schema_version": "route_response.v1", "status": "accepted"}


async def test_a_registered_butler_gets_the_route_with_the_callers_identity(board: Board) -> None:
    await board.register()
    board.butler.answer = ACCEPTED

    answer = await board.switchboard.route(GENERAL, "health", "How is she?", context={"a": 1})

    [call] = board.butler.calls
    assert answer["status"] == "accepted"
    assert call["tool"] == "route.execute"
    assert call["route"]["source_metadata"]["identity"] == "butler:general"
    assert call["route"]["request_context"]["source_sender_identity"] == "general"


async def test_lineage_is_kept_and_the_caller_is_still_named(board: Board) -> None:
    await board.register()
    lineage = {"request_id": "q1", "source_channel": "telegram", "source_sender_identity": "7", "received_at": "x"}

    await board.switchboard.route(GENERAL, "health", "p", request_context=lineage)

    route = board.butler.calls[0]["route"]
    assert route["request_context"]["request_id"] == "q1"
    assert route["source_metadata"]["identity"] == "butler:general"


@pytest.mark.parametrize(
    ("silent_seconds", "error_class", "word"),
    [
        pytest.param(301, "target_unavailable", "stale", id="stale"),
        pytest.param(601, "target_unavailable", "quarantined", id="long-silent"),
    ],
)
async def test_a_silent_butler_is_not_called(
    board: Board, clock: FakeClock, silent_seconds: float, error_class: str, word: str
) -> None:
    await board.register()
    await clock.advance(silent_seconds)

    answer = await board.switchboard.route(GENERAL, "health", "p")

    assert board.butler.calls == []
    assert (answer["status"], answer["error"]["class"]) == ("error", error_class)
    assert word in answer["error"]["message"]


async def test_an_unknown_butler_is_a_final_error(board: Board) -> None:
    answer = await board.switchboard.route(GENERAL, "nobody", "p")

    assert (answer["error"]["class"], answer["error"]["retryable"]) == ("validation_error", False)


async def test_the_operators_quarantine_outlives_a_new_registration(board: Board) -> None:
    board.butler.answer = ACCEPTED
    await board.register()
    await board.switchboard.registry.quarantine("health", "it misbehaved")
    await board.register()

    answer = await board.switchboard.route(GENERAL, "health", "p")
    assert "it misbehaved" in answer["error"]["message"]

    await board.switchboard.registry.quarantine("health", None)
    assert (await board.switchboard.route(GENERAL, "health", "p"))["status"] == "accepted"


@pytest.mark.parametrize("error", [TargetUnavailable("gone"), DeliveryTimeout("slow")], ids=["down", "hangs"])
async def test_a_butler_that_does_not_answer_is_an_error_with_class(board: Board, error: Exception) -> None:
    await board.register()
    board.butler.answer = error

    answer = await board.switchboard.route(GENERAL, "health", "p")

    assert answer["error"]["retryable"] is True


async def test_an_answer_proves_that_a_butler_lives(board: Board, clock: FakeClock) -> None:
    board.butler.answer = ACCEPTED
    await board.register()
    await clock.advance(299)
    await board.switchboard.route(GENERAL, "health", "p")
    await clock.advance(299)

    assert (await board.switchboard.route(GENERAL, "health", "p"))["status"] == "accepted"


async def test_the_messenger_cannot_be_reached_by_route(board: Board) -> None:
    await board.register("messenger")

    answer = await board.switchboard.route(GENERAL, "messenger", "send this")

    assert "use notify" in answer["error"]["message"]
    assert board.butler.calls == []


@pytest.mark.parametrize("failure", [StoreUnavailable("away"), RuntimeError("no such table")], ids=repr)
async def test_what_a_butler_has_accepted_is_accepted_even_if_it_cannot_be_noted(
    board: Board, failure: Exception, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def fails(_registry: Registry, _name: str, _now_us: int) -> None:
        raise failure

    await board.register()
    board.butler.answer = ACCEPTED
    monkeypatch.setattr(Registry, "seen", fails)

    with capture_logs() as logged:
        answer = await board.switchboard.route(GENERAL, "health", "p")

    assert (answer["status"], len(board.butler.calls)) == ("accepted", 1)
    assert [one["exc_info"] for one in logged] == [failure]


async def test_a_lineage_that_cannot_be_taken_over_is_refused_and_not_made_fit(board: Board) -> None:
    await board.register()
    lineage = {"request_id": 7, "source_chanel": "telegram", "received_at": ["x"]}

    answer = await board.switchboard.route(GENERAL, "health", "p", request_context=lineage)

    named = [one["field"] for one in answer["error"]["fields"]]
    assert sorted(named) == [f"request_context.{name}" for name in ("received_at", "request_id", "source_chanel")]
    assert board.butler.calls == []


@pytest.mark.parametrize(
    ("target", "request_id"), [("health", "a\x00b"), ("he\x00alth", "a")], ids=["lineage", "butler"]
)
async def test_a_name_no_database_can_keep_is_refused(board: Board, target: str, request_id: str) -> None:
    await board.register()

    answer = await board.switchboard.route(GENERAL, target, "p", request_context={"request_id": request_id})

    assert (answer["status"], answer["error"]["class"]) == ("error", "validation_error")
    assert board.butler.calls == []
