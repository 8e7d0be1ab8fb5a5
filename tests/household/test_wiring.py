"""The wiring: break each stage in turn, and what `notify` answers must change accordingly."""

from __future__ import annotations

import asyncio
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from postroom.delivery.store.sqlite import SqliteLedger
from postroom.kernel.database import sqlite
from tests.household.living import LIFTED, QUICK, living
from tests.patience import PATIENCE_SECONDS
from tests.services.ports import free_port


def error(answer: dict[str, Any]) -> tuple[str, str, bool, str | None]:
    told = answer["error"]
    return answer["status"], told["class"], told["retryable"], told.get("limit_type") or told.get("type")


async def test_with_nothing_broken_it_is_ok(tmp_path: Path) -> None:
    async with living(tmp_path, LIFTED, QUICK) as home:
        answer = await home.notify()

        assert (answer["status"], answer["delivery"]["status"]) == ("ok", "delivered")
        assert await home.texts() == ["Hello"]


@pytest.mark.requirement("messenger:global-admission-control", "messenger:per-recipient-anti-flood")
@pytest.mark.parametrize(
    ("limits", "kind"),
    [
        ({"global_per_minute": 1}, "global"),
        ({"channels": {"telegram.bot": 1}}, "channel"),
        ({"recipient_per_minute": 1}, "recipient"),
    ],
    ids=["global", "channel", "recipient"],
)
async def test_a_full_limit(tmp_path: Path, limits: dict[str, Any], kind: str) -> None:
    async with living(tmp_path, LIFTED, QUICK, {"limits": limits}) as home:
        await home.notify(message="first")

        answer = await home.notify(message="second")

        assert error(answer) == ("error", "overload_rejected", True, kind)
        assert answer["error"]["retry_after_seconds"] > 0
        assert await home.texts() == ["first"]
        assert [row["limit_type"] for row in home.rows("delivery_refusals")] == [kind]


async def test_too_much_in_flight(tmp_path: Path) -> None:
    async with living(tmp_path, LIFTED, QUICK, {"limits": {"in_flight": 1}}) as home:
        await home.fault(channel="telegram", times=1, delay_seconds=2)
        first = await home.notify(message="first", wait_seconds=0)

        second = await home.notify(message="second", recipient="2000")

        assert first["status"] == "accepted"
        assert error(second) == ("error", "overload_rejected", True, "global_in_flight")


@pytest.mark.requirement("messenger:circuit-breaker", "messenger:closed-to-open-transition")
async def test_an_open_circuit(tmp_path: Path) -> None:
    trouble = {"breaker": {"failure_threshold": 1}, "retry": {"max_attempts": 1}}
    async with living(tmp_path, LIFTED, QUICK, trouble) as home:
        await home.fault(channel="telegram", times=1, status=503)
        assert (await home.notify())["status"] == "error"

        answer = await home.notify()

        assert error(answer) == ("error", "target_unavailable", True, "CircuitOpenError")
        assert 0 < answer["error"]["retry_after_seconds"] <= 60
        assert await home.texts() == []
        mail = await home.notify(channel="email", subject="S")
        assert mail["status"] == "ok"


@pytest.mark.requirement("messenger:provider-throttle-passthrough")
async def test_a_provider_that_says_429(tmp_path: Path) -> None:
    async with living(tmp_path, LIFTED, QUICK) as home:
        await home.fault(channel="telegram", times=1, status=429, retry_after=60)

        first = await home.notify(message="first", wait_seconds=0.5)
        second = await home.notify(message="second", recipient="2000")

        assert (first["status"], first["delivery"]["status"]) == ("accepted", "pending")
        assert first["delivery"]["waiting_reason"].startswith("throttled by the provider")
        assert error(second) == ("error", "target_unavailable", True, "provider")
        assert 50 < second["error"]["retry_after_seconds"] <= 60
        assert await home.texts() == []


@pytest.mark.requirement("messenger:non-retryable-errors")
async def test_a_provider_that_says_400(tmp_path: Path) -> None:
    async with living(tmp_path, LIFTED, QUICK) as home:
        await home.fault(channel="telegram", times=1, status=400)

        answer = await home.notify()

        assert error(answer)[:3] == ("error", "validation_error", False)
        assert answer["delivery"]["status"] == "failed"
        assert len(home.rows("delivery_requests")) == 1


@pytest.mark.requirement("messenger:dead-letter-management", "messenger:retry-policy")
async def test_a_provider_that_says_500_until_the_message_is_a_dead_letter(tmp_path: Path) -> None:
    async with living(tmp_path, LIFTED, QUICK) as home:
        await home.fault(channel="telegram", times=3, status=500)

        answer = await home.notify()

        assert error(answer)[:3] == ("error", "target_unavailable", False)
        assert answer["delivery"]["status"] == "dead_lettered"
        [letter] = home.rows("delivery_dead_letter")
        assert (letter["delivery_request_id"], letter["total_attempts"]) == (answer["delivery"]["delivery_id"], 3)
        assert (await home.notify(message="next"))["status"] == "ok"


async def test_a_provider_that_takes_the_message_and_hangs_up(tmp_path: Path) -> None:
    async with living(tmp_path, LIFTED, QUICK) as home:
        await home.fault(channel="telegram", times=1, mode="accept_then_cut")

        answer = await home.notify()

        assert (answer["status"], answer["delivery"]["possible_duplicate"]) == ("ok", True)
        assert await home.texts() == ["Hello", "Hello\n\n(possibly repeated)"]
        assert [row["message_content"] for row in home.rows("delivery_requests")] == ["Hello"]


async def test_a_second_copy_is_sent_as_written_where_the_household_wants_no_mark(tmp_path: Path) -> None:
    async with living(tmp_path, LIFTED, QUICK, {"messages": {"mark_repeats": False}}) as home:
        await home.fault(channel="telegram", times=1, mode="accept_then_cut")

        answer = await home.notify()

        assert (answer["status"], answer["delivery"]["possible_duplicate"]) == ("ok", True)
        assert await home.texts() == ["Hello", "Hello"]


async def test_an_uncertain_outcome_that_is_to_be_held(tmp_path: Path) -> None:
    async with living(tmp_path, LIFTED, QUICK) as home:
        await home.fault(channel="telegram", times=1, mode="accept_then_cut")

        answer = await home.notify(on_uncertain="hold")

        assert error(answer)[:3] == ("error", "timeout", False)
        assert answer["delivery"]["status"] == "dead_lettered"
        assert await home.texts() == ["Hello"]


async def test_a_store_that_cannot_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sqlite, "_PATIENCE_SECONDS", 0.1)
    async with living(tmp_path, LIFTED, QUICK) as home:
        holder = sqlite3.connect(tmp_path / "postroom.db", isolation_level=None)
        try:
            holder.execute("BEGIN IMMEDIATE")
            answer = await home.notify()
        finally:
            holder.close()

        assert error(answer)[:3] == ("error", "target_unavailable", True)
        assert "the store is not available" in answer["error"]["message"]
        assert await home.texts() == []
        assert (await home.notify())["status"] == "ok"


async def test_a_recipient_nobody_knows(tmp_path: Path) -> None:
    async with living(tmp_path, LIFTED, QUICK) as home:
        answer = await home.notify(recipient="Nobody")

        assert error(answer)[:3] == ("error", "validation_error", False)
        assert answer["error"]["fields"][0]["code"] == "unknown_recipient"
        assert home.rows("delivery_requests") == []


async def test_a_contact_is_reached_by_name(tmp_path: Path) -> None:
    async with living(tmp_path, LIFTED, QUICK, {"contacts": [{"name": "Ann", "telegram_chat_id": "77"}]}) as home:
        assert (await home.notify(recipient="ann"))["status"] == "ok"
        assert [message["chat_id"] for message in await home.received()] == ["77"]


async def test_a_channel_without_credentials(tmp_path: Path) -> None:
    only_telegram = {"telegram": {"token": "123:abcdef", "api_base_url": f"http://127.0.0.1:{free_port()}"}}
    async with living(tmp_path, LIFTED, QUICK, only_telegram) as home:
        answer = await home.notify(channel="email", recipient="ann@example.com")

        assert error(answer)[:3] == ("error", "target_unavailable", True)
        assert answer["error"]["message"] == "no credentials for email are set"
        assert home.rows("delivery_requests") == []


async def test_no_switchboard(tmp_path: Path) -> None:
    async with living(tmp_path, {"ports": {"switchboard": free_port()}}, only=["health"]) as home:
        answer = await home.notify()

        assert error(answer)[:3] == ("error", "target_unavailable", True)
        assert answer["error"]["message"] == "the switchboard cannot be reached; nothing was sent"


async def test_no_messenger(tmp_path: Path) -> None:
    parts = ["switchboard", "health"]
    async with living(tmp_path, {"ports": {"messenger": free_port()}}, only=parts) as home:
        answer = await home.notify()

        assert error(answer)[:3] == ("error", "target_unavailable", True)
        assert "the messenger has not reported" in answer["error"]["message"]
        [row] = home.rows("delivery_refusals")
        assert (row["origin_butler"], row["error_class"]) == ("health", "target_unavailable")


async def test_a_message_somebody_has_to_agree_to(tmp_path: Path) -> None:
    async with living(tmp_path, LIFTED, QUICK, {"approvals": {"enabled": True, "ask_owner": False}}) as home:
        answer = await home.notify(recipient="4242")

        assert (answer["status"], answer["delivery"]["status"]) == ("pending_approval", "awaiting_approval")
        assert await home.texts() == []


async def test_a_retry_that_meets_an_open_circuit(tmp_path: Path) -> None:
    async with living(tmp_path, LIFTED, QUICK, {"breaker": {"failure_threshold": 1}}) as home:
        await home.fault(channel="telegram", times=1, status=503)

        answer = await home.notify(wait_seconds=1)

        assert (answer["status"], answer["delivery"]["status"]) == ("accepted", "pending")
        async with asyncio.timeout(PATIENCE_SECONDS):
            while home.rows("delivery_requests")[0]["waiting_reason"] != "the circuit of telegram is open":
                await asyncio.sleep(0)
        assert await home.texts() == []


async def test_a_delivery_that_somebody_else_owns_by_now(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def lost(*_: object, **__: object) -> bool:
        return False

    monkeypatch.setattr(SqliteLedger, "mark_sending", lost)
    async with living(tmp_path, LIFTED, QUICK) as home:
        await home.fault(channel="telegram", times=1, status=503)  # what is tried again is marked by itself

        answer = await home.notify(wait_seconds=1)

        assert (answer["status"], answer["delivery"]["status"]) == ("accepted", "in_progress")
        assert await home.texts() == []


async def test_a_crash_during_the_first_call_cannot_be_taken_for_one_before_it(tmp_path: Path) -> None:
    async with living(tmp_path, LIFTED, QUICK) as home:
        await home.fault(channel="telegram", times=1, delay_seconds=2)

        await home.notify(wait_seconds=0)

        [row] = home.rows("delivery_requests")
        assert (row["status"], row["sending"], row["fence"]) == ("in_progress", 1, 1)
