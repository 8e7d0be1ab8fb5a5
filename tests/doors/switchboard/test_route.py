"""The switchboard finds a butler, or says why not."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest
from tests.clock import FakeClock

from postroom.butlers.model import Registration
from postroom.butlers.registry import StoredRegistry
from postroom.butlers.switchboard import Router
from postroom.kernel.database.engine import Database
from postroom.kernel.values.errors import DeliveryTimeout, StoreUnavailable, TargetUnavailable
from postroom.kernel.values.ids import IdMint
from postroom.kernel.values.principal import Principal, Role

GENERAL = Principal(Role.BUTLER, "general")


class HealthButler:
    """The other end of a route: keeps what it is given."""

    def __init__(self, error: Exception | None = None) -> None:
        self.error = error
        self.calls: list[Mapping[str, Any]] = []

    async def call(self, tool: str, arguments: Mapping[str, Any], timeout_seconds: float) -> dict[str, Any]:
        self.calls.append({"tool": tool, **arguments})
        if self.error:
            raise self.error
        return {"schema_version": "route_response.v1", "status": "accepted"}


class Board:
    def __init__(self, database: Database, clock: FakeClock, butler: HealthButler) -> None:
        self.database, self.clock, self.butler = database, clock, butler
        self.registry = StoredRegistry(database)
        self.lost: list[BaseException] = []
        self.router = Router(
            registry=self.registry, peer_of=lambda _: butler, clock=clock, mint=IdMint().mint, lost=self.lost.append
        )

    async def register(self, name: str = "health") -> None:
        await self.registry.register(
            Registration(
                name=name,
                endpoint_url="http://127.0.0.1:1/mcp",
                description="",
                modules=("calendar",),
                last_seen_at_us=self.clock.now_us(),
            )
        )


@pytest.fixture
def board(database: Database, clock: FakeClock) -> Board:
    return Board(database, clock, HealthButler())


async def test_a_registered_butler_gets_the_route_with_the_callers_identity(board: Board) -> None:
    await board.register()

    answer = await board.router.route(GENERAL, "health", "How is she?", context={"a": 1})

    [call] = board.butler.calls
    assert answer["status"] == "accepted"
    assert call["tool"] == "route.execute"
    assert call["route"]["source_metadata"]["identity"] == "butler:general"
    assert call["route"]["request_context"]["source_sender_identity"] == "general"


async def test_lineage_is_kept_and_the_caller_is_still_named(board: Board) -> None:
    await board.register()
    lineage = {"request_id": "q1", "source_channel": "telegram", "source_sender_identity": "7", "received_at": "x"}

    await board.router.route(GENERAL, "health", "p", request_context=lineage)

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

    answer = await board.router.route(GENERAL, "health", "p")

    assert board.butler.calls == []
    assert (answer["status"], answer["error"]["class"]) == ("error", error_class)
    assert word in answer["error"]["message"]


async def test_an_unknown_butler_is_a_final_error(board: Board) -> None:
    answer = await board.router.route(GENERAL, "nobody", "p")

    assert (answer["error"]["class"], answer["error"]["retryable"]) == ("validation_error", False)


async def test_the_operators_quarantine_outlives_a_new_registration(board: Board) -> None:
    await board.register()
    await board.registry.quarantine("health", "it misbehaved")
    await board.register()

    answer = await board.router.route(GENERAL, "health", "p")
    assert "it misbehaved" in answer["error"]["message"]

    await board.registry.quarantine("health", None)
    assert (await board.router.route(GENERAL, "health", "p"))["status"] == "accepted"


@pytest.mark.parametrize("error", [TargetUnavailable("gone"), DeliveryTimeout("slow")], ids=["down", "hangs"])
async def test_a_butler_that_does_not_answer_is_an_error_with_class(board: Board, error: Exception) -> None:
    await board.register()
    board.butler.error = error

    answer = await board.router.route(GENERAL, "health", "p")

    assert answer["error"]["retryable"] is True


async def test_an_answer_proves_that_a_butler_lives(board: Board, clock: FakeClock) -> None:
    await board.register()
    await clock.advance(299)
    await board.router.route(GENERAL, "health", "p")
    await clock.advance(299)

    assert (await board.router.route(GENERAL, "health", "p"))["status"] == "accepted"


async def test_the_messenger_cannot_be_reached_by_route(board: Board) -> None:
    await board.register("messenger")

    answer = await board.router.route(GENERAL, "messenger", "send this")

    assert "use notify" in answer["error"]["message"]
    assert board.butler.calls == []


class Forgetful(StoredRegistry):
    """Finds whom it knows, and cannot write."""

    failure: Exception

    async def seen(self, name: str, now_us: int) -> None:
        raise self.failure


@pytest.mark.parametrize("failure", [StoreUnavailable("away"), RuntimeError("no such table")], ids=repr)
async def test_what_a_butler_has_accepted_is_accepted_even_if_it_cannot_be_noted(
    board: Board, failure: Exception
) -> None:
    await board.register()
    forgetful = Forgetful(board.database)
    forgetful.failure = failure
    board.router = replace(board.router, registry=forgetful)

    answer = await board.router.route(GENERAL, "health", "p")

    assert (answer["status"], len(board.butler.calls)) == ("accepted", 1)
    assert board.lost == [failure]


@pytest.mark.parametrize(
    ("target", "request_id"), [("health", "a\x00b"), ("he\x00alth", "a")], ids=["lineage", "butler"]
)
async def test_a_name_no_database_can_keep_is_refused(board: Board, target: str, request_id: str) -> None:
    await board.register()

    answer = await board.router.route(GENERAL, target, "p", request_context={"request_id": request_id})

    assert (answer["status"], answer["error"]["class"]) == ("error", "validation_error")
    assert board.butler.calls == []
