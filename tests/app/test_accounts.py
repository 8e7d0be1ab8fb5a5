"""`GET /v1/channels`: each account with what it can do and how it is doing, for people and nobody else."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from postroom.app.accounts import Accounts
from postroom.domain.account import AccountHealth
from postroom.domain.errors import TargetUnavailable
from postroom.domain.principal import Principal, Role
from postroom.world.channels.kinds import KINDS
from tests.app.living import QUICK, Living, living, settings_for
from tests.patience import PATIENCE_SECONDS

SHIPPED_KINDS = {name: KINDS[name] for name in ("telegram", "email")}
ASKED_FOR = (
    *("dedupes_for_seconds", "reconciles", "receipt", "formats", "max_units", "unit", "buttons", "edits", "deletes"),
    *("reacts", "replies", "threads", "files", "inbound"),
)


async def channels(household: Living, token: str) -> tuple[int, dict[str, Any]]:
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    url = household.household.addresses["api"] + "/v1/channels"
    async with household.http.get(url, headers=headers) as response:
        return response.status, await response.json()


@pytest.mark.requirement("house:channels-listed")
async def test_a_person_sees_every_account_with_what_it_can_do(home: Path) -> None:
    async with living(home, QUICK) as household:
        ada = household.tokens.create(Principal(Role.PERSON, "ada"))
        status, answer = await channels(household, ada)
        as_operator = await channels(household, household.token("operator"))

    assert (status, answer["ok"]) == (200, True) and as_operator == (status, answer)
    telegram, email = answer["channels"][:2]
    assert [(one["name"], one["kind"], one["configured"]) for one in (telegram, email)] == [
        ("telegram", "telegram", True),
        ("email", "email", True),
    ]
    assert set(ASKED_FOR) <= telegram["capabilities"].keys()
    assert telegram["capabilities"]["thread_identity"] == "<chat_id>:<message_id>"
    assert telegram["capabilities"]["spacing_seconds"] == 0  # as the household set it
    assert (email["capabilities"]["style"], email["capabilities"]["formats"]) == ("letter", ["plain", "markdown"])
    well = {"circuit": "closed", "reason": None, "retry_after_seconds": None, "throttled_seconds": None}
    assert (telegram["health"], email["health"]) == (well, well)


async def stricken(household: Living) -> tuple[Mapping[str, Any], Mapping[str, Any]]:
    """The health of both, once the answers of their providers are known."""
    async with asyncio.timeout(PATIENCE_SECONDS):
        while True:
            _, answer = await channels(household, household.token("operator"))
            telegram, email = (one["health"] for one in answer["channels"][:2])
            if telegram["throttled_seconds"] and email["circuit"] != "closed":
                return telegram, email
            await asyncio.sleep(0.02)


@pytest.mark.requirement("house:channels-listed")
async def test_an_open_circuit_and_a_throttle_are_seen(home: Path) -> None:
    broken = {"breaker": {"failure_threshold": 1}, "retry": {"max_attempts": 1}}
    async with living(home, QUICK, broken) as household:
        await household.fault(channel="telegram", times=1, status=429, retry_after=90)
        await household.fault(channel="email", times=9, status=421)
        await household.notify(wait_seconds=0)
        await household.notify(channel="email", wait_seconds=0)
        telegram, email = await stricken(household)

    assert 0 < telegram["throttled_seconds"] <= 90
    assert (email["circuit"], bool(email["reason"]), email["retry_after_seconds"] > 0) == ("open", True, True)


async def test_no_token_of_a_model_or_a_program_sees_them(home: Path) -> None:
    async with living(home, QUICK) as household:
        program = household.tokens.create(Principal(Role.PROGRAM, "ci", person="owner"))
        connector = household.tokens.create(Principal(Role.CONNECTOR, "chatgpt"))
        answers = [await channels(household, one) for one in (household.token("health"), program, connector, "")]

    assert [status for status, _ in answers] == [403, 403, 403, 401]
    assert not any("channels" in answer for _, answer in answers)


class Away:
    async def call(self, tool: str, arguments: Mapping[str, Any], timeout_seconds: float) -> dict[str, Any]:
        raise TargetUnavailable("the messenger is not running")


class Answers:
    def __init__(self, **answers: dict[str, Any]) -> None:
        self.answers = answers

    async def call(self, tool: str, arguments: Mapping[str, Any], timeout_seconds: float) -> dict[str, Any]:
        return self.answers[tool]


async def test_without_the_messenger_everything_is_known_but_the_health(home: Path) -> None:
    settings = settings_for(home, {"telegram": {"token": "1:a"}})

    found = await Accounts(settings=settings, channels=SHIPPED_KINDS, messenger=Away()).listed()

    assert [(one.name, one.configured, one.health) for one in found] == [
        ("telegram", True, None),
        ("email", False, None),
    ]


async def test_the_part_that_sends_knows_best_what_is_set_up(home: Path) -> None:
    circuit = {"configured": True, "state": "closed", "trip_reason": None, "retry_after_seconds": None}
    messenger = Answers(
        messenger_circuit_status={"circuits": {"email": circuit}},
        messenger_rate_limit_status={"provider_throttles": {"email": {"retry_after_seconds": 4.0}}},
    )

    found = await Accounts(
        settings=settings_for(home, {"sandbox": False}), channels=SHIPPED_KINDS, messenger=messenger
    ).listed()

    assert [one.configured for one in found] == [False, True]
    assert found[1].health == AccountHealth(circuit="closed", throttled_seconds=4.0)
