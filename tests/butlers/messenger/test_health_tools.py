"""Circuits, limits, queue, figures, validation and dry runs through the messenger's MCP server."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.butlers.messenger.house import House, context, envelope, opened, settings_for, together

from postroom.delivery.notify import deliver_envelope
from postroom.kernel.running.process import Secret
from postroom.kernel.values.ids import parse_text
from postroom.settings import Settings

pytestmark = pytest.mark.requirement("messenger:operational-health-monitoring")


async def dry_run(house: House, notify_request: object) -> dict[str, Any]:
    return await house.call("messenger_dry_run", {"notify_request": notify_request})


async def validate(house: House, notify_request: object) -> dict[str, Any]:
    return await house.call("messenger_validate_notify", {"notify_request": notify_request})


def limited(settings: Settings, **limits: Any) -> Settings:
    return settings.model_copy(update={"limits": settings.limits.model_copy(update=limits)})


def fragile(settings: Settings, failures: int = 2) -> Settings:
    return settings.model_copy(
        update={
            "breaker": settings.breaker.model_copy(update={"failure_threshold": failures}),
            "retry": settings.retry.model_copy(update={"max_attempts": 1}),
        }
    )


WRONG: dict[str, tuple[Any, set[tuple[str, str]]]] = {
    "not an object": ("hello", {("notify_request", "object_required"), ("delivery", "object_required")}),
    "unknown channel": (envelope(channel="carrier-pigeon"), {("delivery.channel", "not_allowed")}),
    "blank message": (envelope("  "), {("delivery.message", "blank")}),
    "reply without context": (envelope(intent="reply"), {("request_context", "reply_context_required")}),
    "reply without thread": (
        envelope(intent="reply", request_context=context()),
        {("request_context.source_thread_identity", "reply_thread_required")},
    ),
    "react without emoji": (
        envelope(intent="react", request_context=context(thread="1:2")),
        {("delivery.emoji", "react_emoji_required")},
    ),
    "several at once": (
        {"schema_version": "notify.v9", "delivery": {"intent": "shout", "message": 5}, "extra": 1},
        {
            ("extra", "unknown_field"),
            ("schema_version", "not_allowed"),
            ("origin_butler", "required"),
            ("delivery.intent", "not_allowed"),
            ("delivery.channel", "required"),
            ("delivery.message", "string_required"),
        },
    ),
}


@pytest.mark.requirement("messenger:envelope-validation")
async def test_validation_and_dry_run_list_every_wrong_field(settings: Settings) -> None:
    async with opened(settings) as house:
        for name, (request, expected) in WRONG.items():
            told = await validate(house, request)
            assert told["valid"] is False, name
            found = {(one["field"], one["code"]) for one in told["errors"]}
            assert found >= expected, (name, found)
            tried = await dry_run(house, request)
            assert (tried["valid"], tried["errors"]) == (False, told["errors"]), name
            assert tried["would_be_admitted"] is False, name


@pytest.mark.requirement("messenger:envelope-validation")
async def test_a_good_envelope_is_valid_and_leaves_no_trace(settings: Settings) -> None:
    async with opened(settings) as house:
        react = envelope("", intent="react", emoji="👍", request_context=context(thread="1000:1"))

        assert await validate(house, envelope()) == {"valid": True, "errors": []}
        assert await validate(house, react) == {"valid": True, "errors": []}
        assert await house.rows("SELECT id FROM {messenger}delivery_requests") == []


@pytest.mark.requirement("messenger:dry-run")
async def test_a_dry_run_tells_target_adapter_headroom_and_circuit(settings: Settings) -> None:
    async with opened(
        limited(settings, global_per_minute=60, recipient_per_minute=10, channels={"telegram.bot": 30})
    ) as house:
        assert await dry_run(house, envelope(recipient="1000")) == {
            "valid": True,
            "errors": [],
            "intent": "send",
            "channel_adapter": "telegram.bot",
            "target_identity": "1000",
            "rate_limit_headroom": {"global": 60.0, "channel": 30.0, "recipient": 10.0},
            "in_flight": 0,
            "circuit": "closed",
            "duplicate_of": None,
            "may_need_approval": False,
            "would_be_admitted": True,
        }
        owner = await dry_run(house, envelope(channel="email", recipient=None))
        assert owner["target_identity"] == "owner@sandbox.example"
        reply = await dry_run(house, envelope(intent="reply", request_context=context(thread="1000:7")))
        assert (reply["target_identity"], reply["intent"]) == ("1000:7", "reply")


@pytest.mark.requirement("messenger:dry-run")
async def test_a_thousand_dry_runs_change_nothing(settings: Settings) -> None:
    async with opened(limited(settings, global_per_minute=5)) as house:
        await house.notify("one token")
        before = await house.call("messenger_rate_limit_status")

        answers = await together(*(dry_run(house, envelope(recipient=str(n + 1))) for n in range(1000)))

        assert all(one["would_be_admitted"] for one in answers)
        after = await house.call("messenger_rate_limit_status")
        assert after["global"]["available"] >= before["global"]["available"]
        assert after["in_flight"] == before["in_flight"]
        assert len(await house.rows("SELECT id FROM {messenger}delivery_requests")) == 1
        assert await house.rows("SELECT id FROM {messenger}delivery_refusals") == []
        assert house.texts() == ["one token"]


REFUSED = {
    "global": ({"global_per_minute": 1}, "global"),
    "channel": ({"channels": {"telegram.bot": 1}}, "channel"),
    "recipient": ({"recipient_per_minute": 1}, "recipient"),
}


@pytest.mark.requirement("messenger:dry-run")
@pytest.mark.parametrize("name", REFUSED)
async def test_a_dry_run_says_what_the_real_request_would_be_told(settings: Settings, name: str) -> None:
    limits, limit_type = REFUSED[name]
    async with opened(limited(settings, **limits)) as house:
        await house.notify("takes the only token")

        told = await dry_run(house, envelope("one more"))
        real = await house.notify("one more")

        assert (told["valid"], told["would_be_admitted"]) == (True, False)
        assert told["refusal"]["limit_type"] == real["error"]["limit_type"] == limit_type
        assert told["refusal"]["class"] == real["error"]["class"] == "overload_rejected"
        assert told["refusal"]["retry_after_seconds"] == pytest.approx(real["error"]["retry_after_seconds"], abs=2)
        assert told["rate_limit_headroom"][name] < 1


@pytest.mark.requirement("messenger:dry-run")
async def test_a_dry_run_sees_open_circuits_throttles_and_what_a_channel_cannot_carry(settings: Settings) -> None:
    async with opened(fragile(settings)) as house:
        house.break_channel("email", status=503, times=2)
        for _ in range(2):
            await house.notify(channel="email")
        house.break_channel(status=429, retry_after=30)
        await deliver_envelope(house.plane, envelope(), request_id="throttled", wait_seconds=1)

        email = await dry_run(house, envelope(channel="email"))
        telegram = await dry_run(house, envelope())
        nobody = await dry_run(house, envelope(recipient="no such person"))
        flag = await dry_run(
            house, envelope("", intent="react", emoji="not an emoji", request_context=context(thread="1000:1"))
        )

        assert (email["circuit"], email["refusal"]["type"]) == ("open", "CircuitOpenError")
        assert telegram["refusal"]["limit_type"] == "provider"
        assert 0 < telegram["refusal"]["retry_after_seconds"] <= 30
        assert nobody["errors"][0]["code"] == "unknown_recipient"
        assert (flag["valid"], flag["errors"][0]["code"]) == (False, "not_deliverable")


@pytest.mark.requirement("messenger:dry-run")
async def test_a_dry_run_knows_a_request_that_was_made_before(settings: Settings) -> None:
    async with opened(limited(settings, global_per_minute=1)) as house:
        first = await house.notify("once", idempotency_key="k")

        same = await dry_run(house, envelope("once", idempotency_key="k"))
        other = await dry_run(house, envelope("something else", idempotency_key="k"))

        assert same["duplicate_of"] == {"delivery_id": first["delivery"]["delivery_id"], "status": "delivered"}
        assert same["would_be_admitted"] is True
        assert (other["valid"], other["errors"][0]["code"]) == (False, "key_reused")


@pytest.mark.requirement("messenger:dry-run")
async def test_a_dry_run_says_when_a_person_may_be_asked_and_asks_nobody(settings: Settings) -> None:
    gated = settings.model_copy(update={"approvals": settings.approvals.model_copy(update={"enabled": True})})
    async with opened(gated) as house:
        stranger = await dry_run(house, envelope(recipient="555"))
        owner = await dry_run(house, envelope(recipient="1000"))

        assert (stranger["may_need_approval"], owner["may_need_approval"]) == (True, False)
        assert await house.rows("SELECT id FROM {messenger}delivery_requests") == []
        assert (await house.notify(recipient="555"))["status"] == "pending_approval"


async def test_without_credentials_a_dry_run_says_so(settings: Settings) -> None:
    only_telegram = settings.model_copy(
        update={"telegram": settings.telegram.model_copy(update={"token": Secret("1:token")})}
    )
    async with opened(only_telegram) as house:
        told = await dry_run(house, envelope(channel="email"))
        circuits = await house.call("messenger_circuit_status")

        assert (told["valid"], told["would_be_admitted"]) == (True, False)
        assert told["refusal"]["class"] == "target_unavailable"
        assert "credentials" in told["refusal"]["message"]
        assert {name: one["configured"] for name, one in circuits["circuits"].items()} == {
            "email": False,
            "telegram": True,
        }


@pytest.mark.requirement("messenger:circuit-status-visibility")
async def test_an_open_circuit_shows_why_since_when_and_how_it_recovers(settings: Settings) -> None:
    async with opened(fragile(settings, failures=3)) as house:
        house.break_channel(status=502, times=3)
        for _ in range(2):
            await house.notify()
        closed = (await house.call("messenger_circuit_status", {"channel": "telegram"}))["circuits"]["telegram"]
        await house.notify()

        answer = await house.call("messenger_circuit_status")

        assert (closed["state"], closed["consecutive_failures"], closed["trip_reason"]) == ("closed", 2, None)
        telegram, email = answer["circuits"]["telegram"], answer["circuits"]["email"]
        assert (telegram["state"], telegram["consecutive_failures"]) == ("open", 3)
        assert "502" in telegram["trip_reason"]
        assert telegram["last_error_class"] == "target_unavailable"
        assert parse_text(telegram["trip_timestamp"]) > 0
        assert 0 < telegram["retry_after_seconds"] <= 60
        assert telegram["recovery"] == {
            "failure_threshold": 3,
            "recovery_timeout_seconds": 60.0,
            "half_open_max_probes": 2,
            "half_open_success_threshold": 2,
        }
        assert (email["state"], email["consecutive_failures"], email["trip_timestamp"]) == ("closed", 0, None)


async def test_rate_limits_are_those_the_plane_decides_with(settings: Settings) -> None:
    channels = {"telegram.bot": 30, "email.bot": 20}
    async with opened(limited(settings, global_per_minute=60, channels=channels, in_flight=100)) as house:
        for n in range(3):
            await house.notify(f"number {n}")

        told = await house.call("messenger_rate_limit_status")

        assert told["global"]["capacity"] == 60
        assert 57 <= told["global"]["available"] < 60
        assert told["global"]["consumed"] == pytest.approx(60 - told["global"]["available"], abs=0.002)
        assert told["global"]["refill_rate"] == 1.0
        assert 0 < told["global"]["window_reset_seconds"] <= 3
        assert told["channels"]["telegram.bot"]["consumed"] > 0
        assert told["channels"]["email.bot"]["consumed"] == 0
        assert set(told["channels"]) >= {"telegram.bot", "telegram.user", "email.bot", "email.user"}
        assert told["in_flight"] == {"current": 0, "maximum": 100}
        assert told["provider_throttles"] == {}
        one = await house.call("messenger_rate_limit_status", {"channel": "email", "identity_scope": "user"})
        assert list(one["channels"]) == ["email.user"]
        assert one["channels"]["email.user"]["capacity"] == 10


async def test_a_throttle_and_what_is_in_flight_are_shown(settings: Settings) -> None:
    async with opened(settings) as house:
        house.break_channel(status=429, retry_after=40)
        await deliver_envelope(house.plane, envelope(), request_id="r1", wait_seconds=1)

        told = await house.call("messenger_rate_limit_status", {"channel": "telegram"})

        assert 0 < told["provider_throttles"]["telegram"]["retry_after_seconds"] <= 40
        assert told["in_flight"]["current"] == 1


@pytest.mark.requirement("messenger:queue-depth-monitoring")
async def test_the_queue_is_counted_by_status_and_channel(settings: Settings) -> None:
    async with opened(settings) as house:
        empty = await house.call("messenger_queue_depth")
        house.break_channel(delay_seconds=1)
        for n in range(3):
            await deliver_envelope(house.plane, envelope(f"number {n}"), request_id=f"r{n}", wait_seconds=0)

        told = await house.call("messenger_queue_depth")
        email = await house.call("messenger_queue_depth", {"channel": "email"})
        telegram = await house.call("messenger_queue_depth", {"channel": "telegram"})

        assert empty == {
            "total_in_flight": 0,
            "by_status": {"pending": 0, "in_progress": 0},
            "by_channel": {"email": 0, "telegram": 0},
            "oldest_age_seconds": None,
        }
        assert (told["total_in_flight"], told["by_status"]) == (3, {"pending": 2, "in_progress": 1})
        assert told["by_channel"] == {**empty["by_channel"], "telegram": 3}
        assert told["oldest_age_seconds"] >= 0
        assert (email["total_in_flight"], email["by_channel"]) == (0, {"email": 0})
        assert telegram["by_channel"] == {"telegram": 3}


@pytest.mark.requirement("messenger:delivery-statistics")
async def test_statistics_come_from_what_happened(settings: Settings) -> None:
    async with opened(settings) as house:
        for n in range(3):
            await house.notify(f"fine {n}")
        house.break_channel(status=503)
        await house.notify("second try")
        await house.dead_letter("never", origin_butler="general")
        house.break_channel("email", status=550)
        await house.notify("no such mailbox", channel="email")

        told = await house.call("messenger_delivery_stats")

        assert (told["total_deliveries"], told["success_count"]) == (6, 4)
        assert (told["failed_count"], told["dead_lettered_count"], told["unfinished_count"]) == (1, 1, 0)
        assert told["success_rate"] == 0.6667
        assert told["retry_rate"] == 0.3333
        assert told["total_attempts"] == 8
        assert 0 < told["p50_latency_ms"] <= told["p95_latency_ms"]
        assert "groups" not in told
        expected = {
            "channel": {"telegram": 5, "email": 1},
            "intent": {"send": 6},
            "origin_butler": {"health": 5, "general": 1},
            "outcome": {"delivered": 4, "dead_lettered": 1, "failed": 1},
            "error_class": {"none": 4, "target_unavailable": 1, "validation_error": 1},
        }
        for group_by, sizes in expected.items():
            grouped = await house.call("messenger_delivery_stats", {"group_by": group_by})
            assert grouped["group_by"] == group_by
            assert {name: one["total_deliveries"] for name, one in grouped["groups"].items()} == sizes, group_by
        assert grouped["groups"]["none"]["success_rate"] == 1.0


@pytest.mark.requirement("messenger:delivery-statistics")
async def test_statistics_keep_to_their_window(settings: Settings) -> None:
    async with opened(settings) as house:
        first = await house.notify("one")
        second = await house.notify("two")
        moments = [
            (await house.call("messenger_delivery_status", {"delivery_id": one["delivery"]["delivery_id"]}))[
                "created_at"
            ]
            for one in (first, second)
        ]

        both = await house.call("messenger_delivery_stats", {"since": moments[0], "until": moments[1]})
        early = await house.call("messenger_delivery_stats", {"until": moments[0]})
        none = await house.call(
            "messenger_delivery_stats", {"since": "2020-01-01T00:00:00Z", "until": "2020-01-02T00:00:00+02:00"}
        )

        assert (both["total_deliveries"], early["total_deliveries"], none["total_deliveries"]) == (2, 1, 0)
        assert both["time_window"] == {"since": moments[0], "until": moments[1]}
        assert (none["success_rate"], none["retry_rate"], none["p50_latency_ms"]) == (None, None, None)
        assert none["time_window"]["until"] == "2020-01-01T22:00:00.000000Z"


BAD: dict[str, tuple[str, dict[str, Any], str]] = {
    "stats group": ("delivery_stats", {"group_by": "colour"}, "channel, intent, origin_butler, outcome, error_class"),
    "stats since": ("delivery_stats", {"since": "x"}, "Invalid since timestamp"),
    "stats until": ("delivery_stats", {"until": "2026-13-01T00:00:00Z"}, "Invalid until timestamp"),
    "stats future": ("delivery_stats", {"since": "2999-01-01T00:00:00Z"}, "since is in the future"),
    "stats unknown": ("delivery_stats", {"window": "1h"}, "window: unknown field"),
    "queue": ("queue_depth", {"channel": "sms"}, "email, telegram"),
    "circuit": ("circuit_status", {"channel": 5}, "email, telegram"),
    "limits channel": ("rate_limit_status", {"channel": "fax"}, "email, telegram"),
    "limits scope": ("rate_limit_status", {"identity_scope": "root"}, "bot, user"),
    "dry run nothing": ("dry_run", {}, "notify_request: is required"),
}


async def test_bad_input_is_told_what_would_be_right(settings: Settings) -> None:
    async with opened(settings) as house:
        for name, (tool, arguments, expected) in BAD.items():
            answer = await house.call(f"messenger_{tool}", arguments)
            assert set(answer) == {"error"}, name
            assert expected in answer["error"], (name, answer)


@pytest.mark.requirement("messenger:dry-run")
async def test_limits_on_redis_are_shown_and_left_alone_too(home: Path, redis_url: str) -> None:
    shared = settings_for(home, redis_url=redis_url, limits={"global_per_minute": 60, "recipient_per_minute": 1})
    async with opened(shared) as house:
        await house.notify("the only one")

        told = [await dry_run(house, envelope()) for _ in range(20)]
        status = await house.call("messenger_rate_limit_status", {"channel": "telegram"})
        circuits = await house.call("messenger_circuit_status")

        assert {one["refusal"]["limit_type"] for one in told} == {"recipient"}
        assert 59 <= status["global"]["available"] < 60
        assert (status["in_flight"]["current"], set(status["channels"])) == (0, {"telegram.bot", "telegram.user"})
        assert {one["state"] for one in circuits["circuits"].values()} == {"closed"}
