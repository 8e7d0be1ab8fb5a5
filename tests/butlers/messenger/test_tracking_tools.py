"""What became of a delivery, asked through the messenger's MCP server."""

from __future__ import annotations

from typing import Any

import pytest
from tests.butlers.messenger.house import House, context, opened, together

from postroom.delivery.notify import deliver_envelope
from postroom.settings import Settings

UNKNOWN = "01980000-0000-7000-8000-000000000000"

pytestmark = pytest.mark.requirement("messenger:delivery-tracking-and-tracing")


async def search(house: House, **filters: Any) -> dict[str, Any]:
    return await house.call("messenger_delivery_search", filters)


@pytest.mark.requirement("messenger:delivery-status-lookup")
async def test_a_delivered_message_shows_its_moments_attempt_and_receipt(settings: Settings) -> None:
    async with opened(settings) as house:
        answer = await house.notify("secret words")

        status = await house.call("messenger_delivery_status", {"delivery_id": answer["delivery"]["delivery_id"]})

        assert status["delivery_id"] == answer["delivery"]["delivery_id"]
        assert (status["status"], status["attempts"], status["priority"]) == ("delivered", 1, "medium")
        assert status["provider_delivery_id"] == answer["delivery"]["provider_delivery_id"]
        assert status["created_at"] <= status["latest_attempt"]["started_at"] <= status["terminal_at"]
        assert status["latest_attempt"]["outcome"] == "success"
        assert status["latest_attempt"]["latency_ms"] > 0
        assert (status["next_attempt_at"], status["dead_letter_id"]) == (None, None)
        assert "secret words" not in str(status)


@pytest.mark.requirement("messenger:delivery-status-lookup")
async def test_a_failed_message_shows_the_latest_attempt_and_its_error(settings: Settings) -> None:
    async with opened(settings) as house:
        letter = await house.dead_letter()

        status = await house.call("messenger_delivery_status", {"delivery_id": letter["delivery_id"].upper()})

        assert (status["status"], status["dead_letter_id"]) == ("dead_lettered", letter["dead_letter_id"])
        assert status["latest_attempt"]["attempt_number"] == 2
        assert status["latest_attempt"]["error_class"] == "target_unavailable"
        assert status["terminal_error_class"] == "target_unavailable"
        assert status["provider_delivery_id"] is None


async def test_a_message_that_waits_says_for_what_and_until_when(settings: Settings) -> None:
    patient = settings.model_copy(update={"retry": settings.retry.model_copy(update={"base_seconds": 50.0})})
    async with opened(patient) as house:
        house.break_channel(status=503)
        answer = await deliver_envelope(
            house.plane,
            {
                "schema_version": "notify.v1",
                "origin_butler": "health",
                "delivery": {"intent": "send", "channel": "telegram", "message": "later", "recipient": "1000"},
            },
            request_id="later-1",
            wait_seconds=0.5,
        )
        assert answer["status"] == "accepted"

        status = await house.call("messenger_delivery_status", {"delivery_id": answer["delivery"]["delivery_id"]})

        assert status["status"] == "pending"
        assert status["waiting_reason"].startswith("retry after target_unavailable")
        assert status["next_attempt_at"] > status["updated_at"]


@pytest.mark.requirement("messenger:attempt-log")
async def test_attempts_are_listed_in_order_with_the_providers_answer(settings: Settings) -> None:
    async with opened(settings) as house:
        house.break_channel(status=500)
        answer = await house.notify()

        log = await house.call("messenger_delivery_attempts", {"delivery_id": answer["delivery"]["delivery_id"]})

        first, second = log["attempts"]
        assert (log["total_attempts"], first["attempt_number"], second["attempt_number"]) == (2, 1, 2)
        assert (first["outcome"], first["error_class"]) == ("retryable_error", "target_unavailable")
        assert "500" in first["error_message"] and first["provider_response"].startswith("500: ")
        assert (second["outcome"], second["error_class"]) == ("success", None)
        assert second["provider_response"] == answer["delivery"]["provider_delivery_id"]
        assert first["completed_at"] <= second["started_at"]


@pytest.mark.requirement("messenger:attempt-log")
@pytest.mark.parametrize(
    ("channel", "fault", "said"),
    [
        ("telegram", {"status": 400}, "400: "),
        ("telegram", {"status": 401}, "401: "),
        ("telegram", {"status": 429, "retry_after": 1}, "429: "),
        ("telegram", {"mode": "accept_then_cut"}, "no complete answer came back"),
        ("email", {"status": 550}, "550: "),
        ("email", {"mode": "refuse"}, "could not be reached"),
    ],
)
async def test_a_failed_attempt_keeps_what_the_provider_answered_or_that_it_did_not(
    settings: Settings, channel: str, fault: dict[str, Any], said: str
) -> None:
    async with opened(settings) as house:
        house.break_channel(channel, **fault)
        answer = await house.notify("my private words", channel=channel)

        log = await house.call("messenger_delivery_attempts", {"delivery_id": answer["delivery"]["delivery_id"]})

    kept = log["attempts"][0]["provider_response"]
    assert said in kept and len(kept) <= 240
    assert "my private words" not in kept and "http" not in kept


@pytest.mark.requirement("messenger:delivery-search")
async def test_a_search_combines_filters(settings: Settings) -> None:
    async with opened(settings) as house:
        one = (await house.notify("one"))["delivery"]["delivery_id"]
        two = (await house.notify("two", origin_butler="general", channel="email"))["delivery"]["delivery_id"]
        dead = (await house.dead_letter("three"))["delivery_id"]
        reply = (await house.notify("four", intent="reply", request_context=context("r", thread="1000:1")))["delivery"][
            "delivery_id"
        ]
        moment = (await house.call("messenger_delivery_status", {"delivery_id": two}))["created_at"]
        cases: dict[str, tuple[dict[str, Any], list[str]]] = {
            "everything": ({}, [reply, dead, two, one]),
            "origin": ({"origin_butler": "general"}, [two]),
            "channel": ({"channel": "telegram"}, [reply, dead, one]),
            "intent": ({"intent": "reply"}, [reply]),
            "status": ({"status": "dead_lettered"}, [dead]),
            "combined": ({"status": "delivered", "intent": "send", "channel": "telegram"}, [one]),
            "since, included": ({"since": moment}, [reply, dead, two]),
            "until, included": ({"until": moment}, [two, one]),
            "both": ({"since": moment, "until": moment}, [two]),
            "none": ({"origin_butler": "nobody"}, []),
            "nulls": ({"origin_butler": None, "channel": None, "cursor": None}, [reply, dead, two, one]),
        }
        for name, (filters, expected) in cases.items():
            found = await search(house, **filters)
            assert [row["delivery_id"] for row in found["deliveries"]] == expected, name
            assert (found["count"], found["limit"], found["next_cursor"]) == (len(expected), 50, None), name
        assert "message_content" not in found["deliveries"][0]


@pytest.mark.requirement("messenger:delivery-search")
async def test_pages_neither_repeat_nor_skip_while_messages_arrive(settings: Settings) -> None:
    async with opened(settings) as house:
        answers = await together(*(house.notify(f"number {n}", recipient=str(1000 + n)) for n in range(25)))
        known = {one["delivery"]["delivery_id"] for one in answers}
        seen: list[str] = []
        cursor = None
        while True:
            page = await search(house, limit=4, cursor=cursor)
            seen += [row["delivery_id"] for row in page["deliveries"]]
            await house.notify("a late one")
            if (cursor := page["next_cursor"]) is None:
                break

        assert sorted(seen, reverse=True) == seen
        assert len(seen) == len(set(seen)) == 25
        assert set(seen) == known


async def test_a_limit_is_brought_into_range(settings: Settings) -> None:
    async with opened(settings) as house:
        for asked, used in ((0, 1), (-7, 1), (501, 500), (10**12, 500), ("3", 3), (2.0, 2)):
            assert (await search(house, limit=asked))["limit"] == used, asked


@pytest.mark.requirement("messenger:end-to-end-trace")
async def test_a_trace_holds_every_delivery_of_a_request_with_attempts_and_receipts(settings: Settings) -> None:
    async with opened(settings) as house:
        house.break_channel(status=503)
        await house.notify("to the phone", request_context=context("request-5"))
        await house.notify("by mail", channel="email", request_context=context("request-5"))
        await house.notify("another request", request_context=context("request-6"))

        found = await house.call("messenger_delivery_trace", {"request_id": "request-5"})

        assert (found["request_id"], found["delivery_count"]) == ("request-5", 2)
        phone, mail = found["deliveries"]
        assert (phone["message_content"], mail["message_content"]) == ("to the phone", "by mail")
        assert [one["outcome"] for one in phone["attempts"]] == ["retryable_error", "success"]
        assert [one["provider_delivery_id"] for one in phone["receipts"]] == [phone["provider_delivery_id"]]
        assert mail["request_envelope"]["request_context"]["request_id"] == "request-5"
        assert (found["refusals"], phone["dead_letter"]) == ([], None)


@pytest.mark.requirement("messenger:end-to-end-trace")
async def test_a_trace_shows_what_was_turned_away(settings: Settings) -> None:
    tight = settings.model_copy(update={"limits": settings.limits.model_copy(update={"global_per_minute": 1})})
    async with opened(tight) as house:
        await house.notify("the only one")
        await house.notify("refused", request_context=context("request-9"))

        found = await house.call("messenger_delivery_trace", {"request_id": "request-9"})

        assert found["deliveries"] == []
        assert [(one["error_class"], one["limit_type"]) for one in found["refusals"]] == [
            ("overload_rejected", "global")
        ]


BAD: dict[str, tuple[str, dict[str, Any], str]] = {
    "status malformed": ("status", {"delivery_id": "12"}, "Invalid delivery_id format"),
    "status unknown": ("status", {"delivery_id": UNKNOWN}, f"Delivery {UNKNOWN} not found"),
    "status null": ("status", {"delivery_id": None}, "delivery_id: is required"),
    "status nothing": ("status", {}, "delivery_id: is required"),
    "status object": ("status", {"delivery_id": {"a": 1}}, "Invalid delivery_id format"),
    "attempts malformed": ("attempts", {"delivery_id": "x" * 5000}, "Invalid delivery_id format"),
    "attempts unknown": ("attempts", {"delivery_id": UNKNOWN}, "not found"),
    "trace unknown": ("trace", {"request_id": "nothing like it"}, "not found"),
    "trace blank": ("trace", {"request_id": "  "}, "Invalid request_id format"),
    "trace long": ("trace", {"request_id": "x" * 129}, "Invalid request_id format"),
    "trace NUL": ("trace", {"request_id": "a\x00"}, "request_id: must not contain NUL"),
    "trace number": ("trace", {"request_id": 5}, "Invalid request_id format"),
    "search status": ("search", {"status": "sent"}, "awaiting_approval, pending, in_progress, delivered"),
    "search intent": ("search", {"intent": "shout"}, "send, reply, react"),
    "search channel": ("search", {"channel": "pigeon"}, "email, telegram"),
    "search origin": ("search", {"origin_butler": ["health"]}, "Invalid origin_butler"),
    "search naive time": ("search", {"since": "2026-01-31T08:00:00"}, "Invalid since timestamp"),
    "search no time": ("search", {"until": "soon"}, "Invalid until timestamp"),
    "search number": ("search", {"since": 1700000000}, "Invalid since timestamp"),
    "search upside down": (
        "search",
        {"since": "2026-02-01T00:00:00Z", "until": "2026-01-01T00:00:00Z"},
        "since is later than until",
    ),
    "search limit": ("search", {"limit": True}, "Invalid limit"),
    "search half": ("search", {"limit": 1.5}, "Invalid limit"),
    "search cursor": ("search", {"cursor": "ZGVhZC1sZXR0ZXI6eA"}, "Invalid cursor"),
    "search cursor number": ("search", {"cursor": 4}, "Invalid cursor"),
    "search cursor not base64": ("search", {"cursor": "ü€"}, "Invalid cursor"),
    "search misspelt": ("search", {"chanel": "email"}, "chanel: unknown field, did you mean 'channel'?"),
}


async def test_bad_input_is_told_what_would_be_right(settings: Settings) -> None:
    async with opened(settings) as house:
        for name, (tool, arguments, expected) in BAD.items():
            answer = await house.call(f"messenger_delivery_{tool}", arguments)
            assert set(answer) == {"error"}, name
            assert expected in answer["error"], (name, answer)


async def test_a_cursor_of_another_list_is_refused(settings: Settings) -> None:
    async with opened(settings) as house:
        for _ in range(2):
            await house.dead_letter()
        cursor = (await house.call("messenger_dead_letter_list", {"limit": 1}))["next_cursor"]

        assert "Invalid cursor" in (await search(house, cursor=cursor))["error"]
