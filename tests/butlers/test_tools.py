from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from tests.butlers.test_model import session
from tests.clock import FakeClock
from tests.opened_database import KINDS, opened_database

from postroom.butlers.acts import CORE_ACTS, accepted, details, summary
from postroom.butlers.daemon import Butler, route_accepted
from postroom.butlers.model import SessionStatus
from postroom.butlers.store import StoredState
from postroom.kernel.acts.tools import add_tools
from postroom.kernel.guard.tokens import TokenFile
from postroom.kernel.guard.tools import GuardedServer, ToolPolicy
from postroom.kernel.values.principal import OPERATOR


def test_a_request_that_is_stored_is_accepted_under_its_id() -> None:
    stored = replace(session(None), status=SessionStatus.QUEUED)

    assert accepted(stored) == {"status": "accepted", "session_id": "s1", "session_status": "queued"}
    answer = route_accepted(stored, {"request_id": "r1"}, 1.23456)
    assert answer["schema_version"] == "route_response.v1"
    assert (answer["status"], answer["inbox_id"], answer["request_context"]) == ("accepted", "s1", {"request_id": "r1"})
    assert answer["timing"] == {"duration_ms": 1.235}


def test_a_list_does_not_tell_what_was_said_and_details_do() -> None:
    failed = replace(
        session({"request_id": "r1"}),
        status=SessionStatus.FAILED,
        started_at_us=1_000_000,
        finished_at_us=3_500_000,
        error_class="timeout",
        error_message="too late",
        transcript={"text": "canary"},
    )

    assert "canary" not in str(summary(failed))
    assert summary(failed)["duration_ms"] == 2_500.0
    assert summary(failed)["error"] == {"class": "timeout", "message": "too late"}
    assert details(failed)["transcript"] == {"text": "canary"}
    assert details(failed)["prompt"] == "canary"


@pytest.fixture(params=KINDS)
async def server(request: pytest.FixtureRequest, tmp_path: Path, clock: FakeClock) -> AsyncIterator[GuardedServer]:
    tokens = TokenFile(tmp_path / "tokens.json")
    tokens.ensure([OPERATOR])
    async with opened_database(request.param, tmp_path, request) as database:
        server = GuardedServer("health", ToolPolicy({}, tokens))
        kept = SimpleNamespace(state=StoredState(database, "health"), clock=clock)
        add_tools(server, CORE_ACTS, cast(Butler, kept), butler="health")
        yield server


async def call(server: GuardedServer, tool: str, **arguments: Any) -> Any:
    return await server.from_caller(OPERATOR, tool, arguments)


async def test_what_is_kept_is_found_until_it_is_forgotten(server: GuardedServer) -> None:
    assert await call(server, "state_set", key="mood", value=["ü", None]) == {
        "status": "ok",
        "key": "mood",
        "version": 1,
    }
    assert (await call(server, "state_get", key="mood"))["value"] == ["ü", None]
    assert (await call(server, "state_list", prefix="m"))["keys"] == ["mood"]
    assert (await call(server, "state_delete", key="mood"))["deleted"] is True
    assert (await call(server, "state_get", key="mood"))["found"] is False


async def test_a_key_no_database_can_keep_is_refused_in_words(server: GuardedServer) -> None:
    for tool in ("state_get", "state_set", "state_delete", "state_list"):
        name = "prefix" if tool == "state_list" else "key"
        refused = await call(server, tool, **{name: "a\x00"}, **({"value": 1} if tool == "state_set" else {}))

        assert refused["status"] == "error" and "must not contain NUL" in refused["error"]["message"], tool


@pytest.mark.parametrize("odd", ["a\x00", "a\ud800"], ids=["NUL", "half a character"])
async def test_a_value_that_could_not_be_given_back_is_refused_with_its_place(server: GuardedServer, odd: str) -> None:
    answer = await call(server, "state_set", key="mood", value={"notes": ["fine", odd]})

    assert answer["status"] == "error"
    assert answer["error"]["message"].startswith("value.notes[1]: ")
    assert (await call(server, "state_get", key="mood"))["found"] is False
