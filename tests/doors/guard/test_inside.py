"""A part of the same process is asked under the same token and rule as over a wire, without one."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import pytest
from tests.patience import PATIENCE_SECONDS

from postroom.domain.errors import StoreUnavailable
from postroom.domain.outcome import AnswerStatus, Outcome
from postroom.domain.outgoing import Outgoing
from postroom.domain.principal import Principal, Role
from postroom.doors.guard.inside import InsideDoor
from postroom.doors.guard.tool_policy import ToolPolicy, any_butler
from postroom.system.overdue import Overdue

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
