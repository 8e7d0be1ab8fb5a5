"""Each stage of the way out and of the way back is broken in turn, and the public result changes."""

from __future__ import annotations

import asyncio
import sqlite3
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from postroom.delivery.store.sqlite import SqliteLedger
from postroom.kernel.database import sqlite
from postroom.kernel.values.errors import StoreUnavailable
from postroom.kernel.values.principal import HOUSEHOLD_OWNER, OWNER
from postroom.people.model import NewPerson, Person
from postroom.questions.model import PresentationStatus
from postroom.questions.shapes import QuestionView, ask_body
from tests.household.asked_household import HEALTH, SECONDS, ask, parts, phone, press, shown, until
from tests.household.living import LIFTED, QUICK, Living, living
from tests.patience import PATIENCE_SECONDS
from tests.services.ports import free_port
from tests.support.envelopes import CONTEXT, notify_route


# The wiring: break each stage in turn, and what `notify` answers must change accordingly.
def error(answer: dict[str, Any]) -> tuple[str, str, bool, str | None]:
    told = answer["error"]
    return answer["status"], told["class"], told["retryable"], told.get("limit_type") or told.get("type")


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
async def test_a_provider_that_says_429(small: Living) -> None:
    await small.fault(channel="telegram", times=1, status=429, retry_after=60)

    first = await small.notify(message="first", wait_seconds=0.5)
    second = await small.notify(message="second", recipient="2000")

    assert (first["status"], first["delivery"]["status"]) == ("accepted", "pending")
    assert first["delivery"]["waiting_reason"].startswith("throttled by the provider")
    assert error(second) == ("error", "target_unavailable", True, "provider")
    assert 50 < second["error"]["retry_after_seconds"] <= 60
    assert await small.texts() == []


@pytest.mark.requirement("messenger:non-retryable-errors")
async def test_a_provider_that_says_400(small: Living) -> None:
    await small.fault(channel="telegram", times=1, status=400)

    answer = await small.notify()

    assert error(answer)[:3] == ("error", "validation_error", False)
    assert answer["delivery"]["status"] == "failed"
    assert len(small.rows("delivery_requests")) == 1


@pytest.mark.requirement("messenger:dead-letter-management", "messenger:retry-policy")
async def test_a_provider_that_says_500_until_the_message_is_a_dead_letter(small: Living) -> None:
    await small.fault(channel="telegram", times=3, status=500)

    answer = await small.notify()

    assert error(answer)[:3] == ("error", "target_unavailable", False)
    assert answer["delivery"]["status"] == "dead_lettered"
    [letter] = small.rows("delivery_dead_letter")
    assert (letter["delivery_request_id"], letter["total_attempts"]) == (answer["delivery"]["delivery_id"], 3)
    assert (await small.notify(message="next"))["status"] == "ok"


async def test_a_provider_that_takes_the_message_and_hangs_up(small: Living) -> None:
    await small.fault(channel="telegram", times=1, mode="accept_then_cut")

    answer = await small.notify()

    assert (answer["status"], answer["delivery"]["possible_duplicate"]) == ("ok", True)
    assert await small.texts() == ["Hello", "Hello\n\n(possibly repeated)"]
    assert [row["message_content"] for row in small.rows("delivery_requests")] == ["Hello"]


async def test_a_second_copy_is_sent_as_written_where_the_household_wants_no_mark(tmp_path: Path) -> None:
    async with living(tmp_path, LIFTED, QUICK, {"messages": {"mark_repeats": False}}) as home:
        await home.fault(channel="telegram", times=1, mode="accept_then_cut")

        answer = await home.notify()

        assert (answer["status"], answer["delivery"]["possible_duplicate"]) == ("ok", True)
        assert await home.texts() == ["Hello", "Hello"]


async def test_an_uncertain_outcome_that_is_to_be_held(small: Living) -> None:
    await small.fault(channel="telegram", times=1, mode="accept_then_cut")

    answer = await small.notify(on_uncertain="hold")

    assert error(answer)[:3] == ("error", "timeout", False)
    assert answer["delivery"]["status"] == "dead_lettered"
    assert await small.texts() == ["Hello"]


async def test_a_store_that_cannot_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sqlite, "_PATIENCE_SECONDS", 0.1)
    async with living(tmp_path, LIFTED, QUICK) as home:
        holder = sqlite3.connect(tmp_path / "postroom.db", isolation_level=None)
        try:
            holder.execute("BEGIN IMMEDIATE")
            answer = await home.notify()
            wrong = await home.notify(channel="sms")
        finally:
            holder.close()

        assert error(answer)[:3] == ("error", "target_unavailable", True)
        assert wrong["error"] == "Unsupported channel 'sms'. Supported channels: email, telegram.", "noted or not"
        assert "the store is not available" in answer["error"]["message"]
        assert await home.texts() == []
        assert (await home.notify())["status"] == "ok"


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


async def test_a_retry_that_meets_an_open_circuit(tmp_path: Path) -> None:
    async with living(tmp_path, LIFTED, QUICK, {"breaker": {"failure_threshold": 1}}) as home:
        await home.fault(channel="telegram", times=1, status=503)

        answer = await home.notify(wait_seconds=1)

        assert (answer["status"], answer["delivery"]["status"]) == ("accepted", "pending")
        async with asyncio.timeout(PATIENCE_SECONDS):
            while home.rows("delivery_requests")[0]["waiting_reason"] != "circuit":
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


async def test_a_crash_during_the_first_call_cannot_be_taken_for_one_before_it(small: Living) -> None:
    await small.fault(channel="telegram", times=1, delay_seconds=2)

    await small.notify(wait_seconds=0)

    [row] = small.rows("delivery_requests")
    assert (row["status"], row["sending"], row["fence"]) == ("in_progress", 1, 1)


# The wiring of the way back: break each stage in turn, and what the asker hears must change accordingly.
async def heard(house: Living, view: QuestionView, wait_seconds: float = SECONDS) -> dict[str, Any]:
    asking = parts(house).asking
    ended = await asking.wait(HEALTH, ask_id=view.question.id, key=None, wait_seconds=wait_seconds)
    return ask_body(ended).model_dump(mode="json")


def cards(answer: dict[str, Any]) -> list[tuple[str, str, str | None]]:
    return [(one["channel"], one["status"], one.get("reason")) for one in answer["presentations"]]


async def test_a_store_that_cannot_be_written_to_takes_no_answer(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sqlite, "_PATIENCE_SECONDS", 0.1)
    async with living(home, LIFTED, QUICK) as house:
        holder = sqlite3.connect(home / "postroom.db", isolation_level=None)
        try:
            holder.execute("BEGIN IMMEDIATE")
            with pytest.raises(StoreUnavailable):
                await ask(house)
        finally:
            holder.close()

        assert house.rows("questions") == []
        assert await house.texts() == []


async def test_a_person_without_an_address(small: Living) -> None:
    made = NewPerson(name="Anna")
    await house_people(small).create(HOUSEHOLD_OWNER, made, source="api", now_us=parts(small).world.clock.now_us())

    answer = ask_body(await ask(small, to="Anna")).model_dump(mode="json")

    assert cards(answer) == [("telegram", "not_shown", "no address on telegram")]
    assert await small.texts() == []


async def test_a_provider_that_refuses_the_card(small: Living) -> None:
    await small.fault(channel="telegram", times=1, status=400)
    view = await ask(small)
    await shown(small, view, PresentationStatus.FAILED)

    answer = await heard(small, view, wait_seconds=0)

    assert [one[:2] for one in cards(answer)] == [("telegram", "not_shown")]
    assert answer["status"] == "open"


async def test_an_address_that_is_no_longer_verified(small: Living) -> None:
    view = await ask(small)
    card = await phone(small, "Ship it?")
    await house_people(small).change(HOUSEHOLD_OWNER, OWNER, unverified, now_us=parts(small).world.clock.now_us())
    await press(small, card, "yes")

    async def tried() -> bool:
        return len(await parts(small).store.attempts(view.question.id)) == 1

    await until(tried)
    assert (await heard(small, view, wait_seconds=0))["status"] == "open"


async def test_a_provider_that_refuses_the_edit(small: Living) -> None:
    view = await ask(small)
    card = await phone(small, "Ship it?")
    await shown(small, view, PresentationStatus.SHOWN)
    await small.fault(channel="telegram", times=2, status=400)  # the answer to the press, and the edit
    await press(small, card, "yes")

    answer = await heard(small, view)
    await shown(small, view, PresentationStatus.LEFT)

    assert (answer["status"], answer["answer"]["value"]) == ("answered", "yes")
    assert [one[:2] for one in cards(await heard(small, view, wait_seconds=0))] == [("telegram", "left")]


def house_people(house: Living) -> Any:
    return parts(house).planning.people.book  # type: ignore[attr-defined]


def unverified(person: Person) -> NewPerson:
    addresses = tuple(replace(one, verified_at_us=None) for one in person.addresses)
    return replace(person.as_written, addresses=addresses)


# Who called which part for a request, and when: a trace tells it from what every call leaves anyway.
def hop_shown(hop: dict[str, Any]) -> tuple[Any, ...]:
    return hop["source_butler"], hop["part"], hop["channel"], hop["intent"], hop["status"], hop["error_message"]


@pytest.mark.requirement("messenger:end-to-end-trace")
async def test_every_call_for_one_request_is_shown_also_those_that_led_to_nothing(small: Living) -> None:
    first = await small.notify(message="A question?")
    thread = f"1000:{first['delivery']['provider_delivery_id']}"
    asked = {**CONTEXT, "request_id": "inbound-of-hops", "source_thread_identity": thread}
    await small.notify(intent="reply", message="So it is", request_context=asked)
    refused = await small.notify(intent="react", message=None, emoji=None, request_context=asked)

    traced = await small.traced("inbound-of-hops")

    assert [hop_shown(hop) for hop in traced["hops"]] == [
        ("health", "switchboard", "telegram", "reply", "ok", None),
        ("health", "switchboard", "telegram", "react", "error", refused["error_message"]),
    ]
    assert traced["hops"][0]["delivery_id"] == traced["deliveries"][0]["id"]
    assert traced["refusals"] == []  # no limit had a word in it


async def test_a_route_that_came_over_a_wire_shows_the_same_hop(small: Living) -> None:
    delivery = {"intent": "send", "channel": "telegram", "message": "By wire"}
    envelope = {"schema_version": "notify.v1", "origin_butler": "health", "delivery": delivery}
    route = notify_route(envelope, "by-wire")

    await small.call("messenger", "route.execute", {"route": route}, caller="switchboard")

    [hop] = (await small.traced("by-wire"))["hops"]
    assert hop_shown(hop) == ("health", "switchboard", "telegram", "send", "ok", None)


async def test_what_the_messenger_says_itself_has_no_hop(small: Living) -> None:
    answer = await small.call("messenger", "notify", {"channel": "telegram", "message": "Mine"}, caller="messenger")

    traced = await small.traced(answer["request_context"]["request_id"])

    assert (len(traced["deliveries"]), traced["hops"]) == (1, [])
