"""A part of the same process is asked under the same token and rule as over a wire, without one."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from tests.patience import PATIENCE_SECONDS

from postroom.household.peers import InsideDoor, MemoryPeer
from postroom.kernel.guard.tools import GuardedServer, ToolPolicy, any_butler, operator
from postroom.kernel.running.clock import Overdue
from postroom.kernel.values.errors import (
    DeliveryTimeout,
    InternalError,
    StoreUnavailable,
    TargetUnavailable,
    ValidationError,
)
from postroom.kernel.values.principal import OPERATOR, Principal, Role
from postroom.message.outgoing import AnswerStatus, Outcome, Outgoing

HEALTH = Principal(Role.BUTLER, "health")
ADA = Principal(Role.PERSON, "ada")
MESSAGE = Outgoing(origin_butler="health", channel="telegram", message="Hello")
TAKEN = Outcome(status=AnswerStatus.OK, request_id="r")


class Tokens:
    def verify(self, token: str) -> Principal | None:
        return {"health's": HEALTH, "ada's": ADA}.get(token)


def door(work: Callable[[], Awaitable[Outcome]], seen: list[Principal]) -> InsideDoor:
    async def takes(caller: Principal, outgoing: Outgoing, *, request_id: str, wait_seconds: float) -> Outcome:
        seen.append(caller)
        return await work()

    policy = ToolPolicy({"deliver": any_butler}, Tokens())
    overdue = Overdue(look_every_seconds=0.01)
    return InsideDoor(
        part="switchboard", tool="deliver", policy=policy, takes=takes, margin_seconds=0.02, overdue=overdue
    )


async def fine() -> Outcome:
    return TAKEN


async def silent() -> Outcome:
    await asyncio.Event().wait()
    return TAKEN


async def away() -> Outcome:
    raise StoreUnavailable("away")


async def broken() -> Outcome:
    raise RuntimeError("Hello")


async def test_the_part_learns_who_is_calling_from_the_token() -> None:
    seen: list[Principal] = []

    outcome = await door(fine, seen).for_token("health's").submit(MESSAGE, request_id="r", wait_seconds=0)

    assert (outcome, seen) == (TAKEN, [HEALTH])


@pytest.mark.requirement("house:inside-as-over-a-wire")
@pytest.mark.parametrize("token", ["", "nobody's", "ada's"])
async def test_without_the_right_the_part_is_not_asked(token: str) -> None:
    seen: list[Principal] = []

    outcome = await door(fine, seen).for_token(token).submit(MESSAGE, request_id="r", wait_seconds=0)

    assert seen == []
    assert outcome.error is not None
    assert (outcome.error.error_class, outcome.retryable) == ("validation_error", False)


@pytest.mark.parametrize(
    ("work", "error_class", "retryable"),
    [
        pytest.param(silent, "timeout", True, id="silent"),
        pytest.param(away, "target_unavailable", True, id="away"),
        pytest.param(broken, "internal_error", False, id="broken"),
    ],
)
async def test_what_goes_wrong_is_an_outcome_that_repeats_no_words_of_the_message(
    work: Callable[[], Awaitable[Outcome]], error_class: str, retryable: bool
) -> None:
    async with asyncio.timeout(PATIENCE_SECONDS):
        outcome = await door(work, []).for_token("health's").submit(MESSAGE, request_id="r", wait_seconds=0)

    assert outcome.error is not None
    assert (outcome.error.error_class, outcome.retryable) == (error_class, retryable)
    assert "Hello" not in outcome.error.message


class MemoryTokens:
    def verify(self, token: str) -> Principal | None:
        return OPERATOR if token == "good" else None


def server(hold: asyncio.Event | None = None) -> GuardedServer:
    rules = {"echo": operator, "fail": operator, "hang": operator}
    one = GuardedServer("part", ToolPolicy(rules, MemoryTokens()))

    async def echo(word: str) -> dict[str, Any]:
        return {"word": word}

    async def fail() -> dict[str, Any]:
        raise RuntimeError("secret words")

    async def hang() -> dict[str, Any]:
        await (hold or asyncio.Event()).wait()
        return {}

    for tool in (echo, fail, hang):
        one.add_tool(tool)
    return one


async def test_a_tool_answers_with_its_structured_content() -> None:
    peer = MemoryPeer(server(), "good")
    await peer.connect()
    try:
        answers = await asyncio.gather(*(peer.call("echo", {"word": str(n)}, 5) for n in range(50)))
        assert answers == [{"word": str(n)} for n in range(50)]
    finally:
        await peer.close()


async def test_every_failure_has_its_own_name() -> None:
    peer = MemoryPeer(server(), "good")
    with pytest.raises(TargetUnavailable, match="part is not running"):
        await peer.call("echo", {}, 5)
    await peer.connect()
    try:
        with pytest.raises(InternalError) as caught:
            await peer.call("fail", {}, 5)
        assert "secret" not in caught.value.message
        with pytest.raises(InternalError):
            await peer.call("echo", {"word": 5, "wrong": 1}, 5)
        with pytest.raises(ValidationError, match="may not call unknown"):
            await peer.call("unknown", {}, 5)
        with pytest.raises(DeliveryTimeout):
            await peer.call("hang", {}, 0.05)
        assert await peer.call("echo", {"word": "still there"}, 5) == {"word": "still there"}
    finally:
        await peer.close()
    with pytest.raises(TargetUnavailable):
        await peer.call("echo", {"word": "x"}, 5)


@pytest.mark.parametrize("token", ["", "bad"])
async def test_inside_the_process_a_token_is_needed_too(token: str) -> None:
    peer = MemoryPeer(server(), token)
    await peer.connect()
    try:
        with pytest.raises(ValidationError, match="nobody may not call echo"):
            await peer.call("echo", {"word": "x"}, 5)
    finally:
        await peer.close()


async def test_a_call_may_be_made_in_the_name_of_somebody_else() -> None:
    peer = MemoryPeer(server(), "bad")
    await peer.connect()
    try:
        with pytest.raises(ValidationError):
            await peer.call("echo", {"word": "mine"}, 5)
        assert await peer.call("echo", {"word": "theirs"}, 5, token="good") == {"word": "theirs"}
    finally:
        await peer.close()
