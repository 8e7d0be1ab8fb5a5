"""Dead letters: listed, inspected, replayed and discarded through the messenger's MCP server."""

from __future__ import annotations

from typing import Any

import pytest
from tests.butlers.messenger.house import House, context, envelope, opened, together

from postroom.message.delivery import Status
from postroom.settings import Settings

UNKNOWN = "01980000-0000-7000-8000-000000000000"

pytestmark = pytest.mark.requirement("messenger:dead-letter-management")


async def replay(house: House, dead_letter_id: str, **arguments: Any) -> dict[str, Any]:
    return await house.call("messenger_dead_letter_replay", {"dead_letter_id": dead_letter_id, **arguments})


async def inspect(house: House, dead_letter_id: str) -> dict[str, Any]:
    return await house.call("messenger_dead_letter_inspect", {"dead_letter_id": dead_letter_id})


async def discard(house: House, dead_letter_id: str, reason: str) -> dict[str, Any]:
    return await house.call("messenger_dead_letter_discard", {"dead_letter_id": dead_letter_id, "reason": reason})


@pytest.mark.requirement("messenger:dead-letter-listing")
async def test_the_list_is_newest_first_and_says_why(settings: Settings) -> None:
    async with opened(settings) as house:
        first = await house.dead_letter("one")
        second = await house.dead_letter("two", channel="email", origin_butler="general")

        listed = await house.call("messenger_dead_letter_list")

        assert [one["dead_letter_id"] for one in listed["dead_letters"]] == [
            second["dead_letter_id"],
            first["dead_letter_id"],
        ]
        assert (listed["count"], listed["limit"], listed["include_discarded"], listed["next_cursor"]) == (
            2,
            50,
            False,
            None,
        )
        assert first["quarantine_reason"] == "retries_exhausted"
        assert first["error_class"] == "target_unavailable"
        assert "503" in first["error_summary"]
        assert (first["total_attempts"], first["replay_eligible"], first["replay_count"]) == (2, True, 0)


@pytest.mark.requirement("messenger:dead-letter-listing")
async def test_the_list_is_filtered(settings: Settings) -> None:
    async with opened(settings) as house:
        telegram = await house.dead_letter("one")
        email = await house.dead_letter("two", channel="email", origin_butler="general")
        uncertain = await house.dead_letter("three", uncertain=True)
        cases: dict[str, tuple[dict[str, Any], list[dict[str, Any]]]] = {
            "channel": ({"channel": "email"}, [email]),
            "origin": ({"origin_butler": "general"}, [email]),
            "class": ({"error_class": "timeout"}, [uncertain]),
            "both": ({"channel": "telegram", "error_class": "target_unavailable"}, [telegram]),
            "since": ({"since": email["created_at"]}, [uncertain, email]),
            "nobody's": ({"origin_butler": "nobody"}, []),
        }
        for name, (filters, expected) in cases.items():
            listed = await house.call("messenger_dead_letter_list", filters)
            found = [one["dead_letter_id"] for one in listed["dead_letters"]]
            assert found == [one["dead_letter_id"] for one in expected], name


@pytest.mark.requirement("messenger:dead-letter-listing")
async def test_pages_do_not_shift_while_letters_arrive(settings: Settings) -> None:
    async with opened(settings) as house:
        known = [(await house.dead_letter(f"number {n}"))["dead_letter_id"] for n in range(5)]
        seen: list[str] = []
        cursor = None
        for page in range(3):
            arguments: dict[str, Any] = {"limit": 2, "cursor": cursor}
            listed = await house.call("messenger_dead_letter_list", arguments)
            seen += [one["dead_letter_id"] for one in listed["dead_letters"]]
            cursor = listed["next_cursor"]
            await house.dead_letter(f"late {page}")

        assert seen == known[::-1]
        assert cursor is None


@pytest.mark.requirement("messenger:dead-letter-inspection")
async def test_an_inspection_shows_envelope_attempts_and_eligibility(settings: Settings) -> None:
    async with opened(settings) as house:
        letter = await house.dead_letter("look at me", subject="A subject")

        shown = await inspect(house, letter["dead_letter_id"])

        assert shown["original_request_envelope"] == envelope("look at me", subject="A subject")
        assert [one["attempt_number"] for one in shown["all_attempt_outcomes"]] == [1, 2]
        assert {one["outcome"] for one in shown["all_attempt_outcomes"]} == {"retryable_error"}
        assert shown["first_attempt_at"] <= shown["last_attempt_at"]
        assert shown["idempotency_key"] and shown["target_identity"] == "1000"
        assert shown["replay_eligibility_assessment"] == {
            "eligible": True,
            "reasons": [],
            "requires_accept_duplicate": False,
            "current_replay_count": 0,
        }


@pytest.mark.requirement("messenger:dead-letter-replay", "messenger:replay-lineage")
async def test_a_replay_is_a_new_delivery_that_really_arrives(settings: Settings) -> None:
    async with opened(settings) as house:
        letter = await house.dead_letter("try again")

        answer = await replay(house, letter["dead_letter_id"])

        assert (answer["status"], answer["replay_number"], answer["delivery_status"]) == ("ok", 1, "pending")
        assert answer["original_dead_letter_id"] == letter["dead_letter_id"]
        assert answer["idempotency_key"] == f"{letter['idempotency_key']}::replay-1"
        assert answer["possible_duplicate"] is False
        settled = await house.settled(answer["replayed_delivery_id"])
        assert settled.status is Status.DELIVERED
        assert house.texts() == ["try again"]
        status = await house.call("messenger_delivery_status", {"delivery_id": answer["replayed_delivery_id"]})
        assert (status["replay_of"], status["replay_number"]) == (letter["delivery_id"], 1)
        assert (await inspect(house, letter["dead_letter_id"]))["replay_count"] == 1


@pytest.mark.requirement("messenger:replay-lineage", "messenger:duplicate-detection")
async def test_after_a_successful_replay_the_original_key_answers_with_its_success(settings: Settings) -> None:
    async with opened(settings) as house:
        letter = await house.dead_letter("once", idempotency_key="pills")
        again = await house.notify("once", idempotency_key="pills")
        assert again["status"] == "error"

        answer = await replay(house, letter["dead_letter_id"])
        await house.settled(answer["replayed_delivery_id"])

        again = await house.notify("once", idempotency_key="pills")
        assert again["status"] == "ok"
        assert again["delivery"]["delivery_id"] == answer["replayed_delivery_id"]
        assert house.texts() == ["once"]


@pytest.mark.requirement("messenger:replay-lineage")
async def test_a_replay_of_a_replay_keeps_counting_on_the_original(settings: Settings) -> None:
    async with opened(settings) as house:
        original = await house.dead_letter("stubborn")
        key = original["idempotency_key"]
        house.break_channel(status=503, times=2)
        first = await replay(house, original["dead_letter_id"])
        assert (await house.settled(first["replayed_delivery_id"])).status is Status.DEAD_LETTERED
        listed = await house.call("messenger_dead_letter_list")
        second_letter = listed["dead_letters"][0]
        assert second_letter["delivery_id"] == first["replayed_delivery_id"]
        assert second_letter["original_delivery_id"] == original["delivery_id"]

        second = await replay(house, second_letter["dead_letter_id"])

        assert (await house.settled(second["replayed_delivery_id"])).status is Status.DELIVERED
        assert (second["replay_number"], second["idempotency_key"]) == (2, f"{key}::replay-2")
        status = await house.call("messenger_delivery_status", {"delivery_id": second["replayed_delivery_id"]})
        assert (status["replay_of"], status["replay_number"]) == (original["delivery_id"], 2)
        assert (await inspect(house, original["dead_letter_id"]))["replay_count"] == 2
        assert (await inspect(house, second_letter["dead_letter_id"]))["replay_count"] == 1


@pytest.mark.requirement("messenger:dead-letter-replay")
async def test_fifty_replays_at_once_make_one_delivery(settings: Settings) -> None:
    async with opened(settings) as house:
        letter = await house.dead_letter("only once")

        answers = await together(*(replay(house, letter["dead_letter_id"]) for _ in range(50)))

        made = [one for one in answers if one.get("status") == "ok"]
        refused = [one for one in answers if "error" in one]
        assert (len(made), len(refused)) == (1, 49)
        assert all("replay 1" in one["reasons"][0] for one in refused)
        await house.settled(made[0]["replayed_delivery_id"])
        rows = await house.rows("SELECT id FROM {messenger}delivery_requests WHERE replay_of IS NOT NULL")
        assert len(rows) == 1
        assert house.texts() == ["only once"]


@pytest.mark.requirement("messenger:dead-letter-replay")
async def test_the_letters_of_one_lineage_cannot_be_replayed_side_by_side(settings: Settings) -> None:
    async with opened(settings) as house:
        original = await house.dead_letter("family")
        house.break_channel(status=503, times=2)
        first = await replay(house, original["dead_letter_id"])
        await house.settled(first["replayed_delivery_id"])
        child = (await house.call("messenger_dead_letter_list"))["dead_letters"][0]
        both = [original["dead_letter_id"], child["dead_letter_id"]] * 10

        answers = await together(*(replay(house, one) for one in both))

        made = [one for one in answers if one.get("status") == "ok"]
        assert len(made) == 1
        assert made[0]["replay_number"] == 2
        await house.settled(made[0]["replayed_delivery_id"])
        assert house.texts() == ["family"]


@pytest.mark.requirement("messenger:dead-letter-replay")
async def test_a_replay_under_way_or_arrived_stands_in_the_way_of_another(settings: Settings) -> None:
    async with opened(settings) as house:
        letter = await house.dead_letter("patience")
        house.break_channel(delay_seconds=0.5)
        first = await replay(house, letter["dead_letter_id"])

        early = await replay(house, letter["dead_letter_id"])
        await house.settled(first["replayed_delivery_id"])
        late = await replay(house, letter["dead_letter_id"])

        assert early["reasons"][0].startswith(f"replay 1 ({first['replayed_delivery_id']}) is ")
        assert late["reasons"] == [f"replay 1 ({first['replayed_delivery_id']}) has delivered it"]
        assessment = (await inspect(house, letter["dead_letter_id"]))["replay_eligibility_assessment"]
        assert assessment["eligible"] is False
        listed = await house.call("messenger_dead_letter_list")
        assert listed["dead_letters"][0]["replay_eligible"] is False


@pytest.mark.requirement("messenger:dead-letter-replay")
async def test_a_letter_that_may_have_arrived_is_replayed_only_with_consent(settings: Settings) -> None:
    async with opened(settings) as house:
        letter = await house.dead_letter("maybe", uncertain=True)
        assert letter["quarantine_reason"] == "outcome_uncertain"
        assert letter["requires_accept_duplicate"] is True
        shown = await inspect(house, letter["dead_letter_id"])
        assert shown["replay_eligibility_assessment"]["eligible"] is True
        assert "accept_duplicate" in shown["replay_eligibility_assessment"]["reasons"][0]

        refused = await replay(house, letter["dead_letter_id"])
        answer = await replay(house, letter["dead_letter_id"], accept_duplicate=True)

        assert "accept_duplicate=true" in refused["error"]
        assert answer["possible_duplicate"] is True
        settled = await house.settled(answer["replayed_delivery_id"])
        assert (settled.status, settled.possible_duplicate) == (Status.DELIVERED, True)
        assert house.texts() == ["maybe", "maybe\n\n(possibly repeated)"]
        status = await house.call("messenger_delivery_status", {"delivery_id": answer["replayed_delivery_id"]})
        assert status["possible_duplicate"] is True


async def test_doubt_in_a_replay_is_doubt_in_the_whole_lineage(settings: Settings) -> None:
    async with opened(settings) as house:
        original = await house.dead_letter("first certain", on_uncertain="hold")
        house.break_channel(mode="accept_then_cut")
        first = await replay(house, original["dead_letter_id"])
        assert (await house.settled(first["replayed_delivery_id"])).status is Status.DEAD_LETTERED

        refused = await replay(house, original["dead_letter_id"])
        answer = await replay(house, original["dead_letter_id"], accept_duplicate=True)

        assert "accept_duplicate=true" in refused["error"]
        assert (answer["replay_number"], answer["possible_duplicate"]) == (2, True)


async def test_parts_that_arrived_are_not_sent_again_by_a_replay(settings: Settings) -> None:
    async with opened(settings) as house:
        long = "\n\n".join([letter * 3000 for letter in "abc"])
        house.break_channel(delay_seconds=0.001)  # the first part passes
        house.break_channel(status=503, times=2)
        answer = await house.notify(long)
        assert answer["delivery"]["status"] == "dead_lettered"
        letter = (await house.call("messenger_dead_letter_list"))["dead_letters"][0]

        replayed = await replay(house, letter["dead_letter_id"])

        assert (await house.settled(replayed["replayed_delivery_id"])).status is Status.DELIVERED
        assert [one.strip()[0] for one in house.texts()] == ["a", "b", "c"]


async def test_a_replay_asks_nothing_of_the_rate_limits(settings: Settings) -> None:
    tight = settings.model_copy(update={"limits": settings.limits.model_copy(update={"recipient_per_minute": 1})})
    async with opened(tight) as house:
        letter = await house.dead_letter("the one token")
        refused = await house.notify("too many")
        assert refused["error"]["limit_type"] == "recipient"

        answer = await replay(house, letter["dead_letter_id"])

        assert (await house.settled(answer["replayed_delivery_id"])).status is Status.DELIVERED


@pytest.mark.requirement("messenger:dead-letter-discard")
async def test_a_discarded_letter_leaves_the_list_and_cannot_be_replayed(settings: Settings) -> None:
    async with opened(settings) as house:
        letter = await house.dead_letter("never mind")

        done = await discard(house, letter["dead_letter_id"], "  the appointment is over  ")

        assert (done["status"], done["discard_reason"]) == ("ok", "the appointment is over")
        assert (await house.call("messenger_dead_letter_list"))["dead_letters"] == []
        everything = await house.call("messenger_dead_letter_list", {"include_discarded": True})
        kept = everything["dead_letters"][0]
        assert (kept["discard_reason"], kept["discarded_at"]) == ("the appointment is over", done["discarded_at"])
        assert (kept["replay_eligible"], everything["include_discarded"]) == (False, True)
        refused = await replay(house, letter["dead_letter_id"], accept_duplicate=True)
        assert refused["reasons"] == ["it was discarded"]


@pytest.mark.requirement("messenger:dead-letter-discard")
async def test_a_second_discard_shows_the_first(settings: Settings) -> None:
    async with opened(settings) as house:
        letter = await house.dead_letter("never mind")

        answers = await together(*(discard(house, letter["dead_letter_id"], f"reason {n}") for n in range(20)))

        (first,) = [one for one in answers if one.get("status") == "ok"]
        others = [one for one in answers if "error" in one]
        assert len(others) == 19
        assert {one["discard_reason"] for one in others} == {first["discard_reason"]}
        assert {one["discarded_at"] for one in others} == {first["discarded_at"]}
        assert "already discarded" in others[0]["error"]


async def test_of_a_replay_and_a_discard_at_once_the_database_decides(settings: Settings) -> None:
    async with opened(settings) as house:
        letter = await house.dead_letter("race")

        replayed, discarded = await together(
            replay(house, letter["dead_letter_id"]), discard(house, letter["dead_letter_id"], "too late")
        )

        rows = await house.rows("SELECT id FROM {messenger}delivery_requests WHERE replay_of IS NOT NULL")
        assert discarded["status"] == "ok"
        assert len(rows) == (1 if replayed.get("status") == "ok" else 0)


BAD = {
    "replay malformed": ("replay", {"dead_letter_id": "no"}, "Invalid dead_letter_id format"),
    "replay unknown": ("replay", {"dead_letter_id": UNKNOWN}, "not found"),
    "replay number": ("replay", {"dead_letter_id": 7}, "Invalid dead_letter_id format"),
    "replay flag": ("replay", {"dead_letter_id": UNKNOWN, "accept_duplicate": "yes"}, "true or false"),
    "inspect malformed": ("inspect", {"dead_letter_id": "'; DROP TABLE x; --"}, "Invalid dead_letter_id format"),
    "inspect unknown": ("inspect", {"dead_letter_id": UNKNOWN}, "not found"),
    "discard unknown": ("discard", {"dead_letter_id": UNKNOWN, "reason": "x"}, "not found"),
    "discard malformed": ("discard", {"dead_letter_id": "", "reason": "x"}, "dead_letter_id: is required"),
    "discard blank": ("discard", {"dead_letter_id": UNKNOWN, "reason": " \t\n"}, "must not be blank"),
    "discard null": ("discard", {"dead_letter_id": UNKNOWN, "reason": None}, "reason: is required"),
    "discard long": ("discard", {"dead_letter_id": UNKNOWN, "reason": "x" * 1001}, "1000"),
    "discard NUL": ("discard", {"dead_letter_id": UNKNOWN, "reason": "a\x00b"}, "reason: must not contain NUL"),
    "discard unsaid": ("discard", {"dead_letter_id": UNKNOWN}, "reason: is required"),
    "list channel": ("list", {"channel": "sms"}, "email, telegram"),
    "list class": ("list", {"error_class": "sad"}, "validation_error, overload_rejected"),
    "list since": ("list", {"since": "yesterday"}, "Invalid since timestamp"),
    "list limit": ("list", {"limit": "many"}, "Invalid limit"),
    "list cursor": ("list", {"cursor": "made up"}, "Invalid cursor"),
    "list flag": ("list", {"include_discarded": 1}, "true or false"),
    "list unknown": ("list", {"butler": "health"}, "butler: unknown field"),
}


async def test_bad_input_is_told_what_would_be_right(settings: Settings) -> None:
    async with opened(settings) as house:
        for name, (tool, arguments, expected) in BAD.items():
            answer = await house.call(f"messenger_dead_letter_{tool}", arguments)
            assert set(answer) == {"error"}, name
            assert expected in answer["error"], name


async def test_a_trace_shows_the_original_and_its_replay(settings: Settings) -> None:
    async with opened(settings) as house:
        letter = await house.dead_letter("traced", request_context=context("request-77"))
        answer = await replay(house, letter["dead_letter_id"])
        await house.settled(answer["replayed_delivery_id"])

        found = await house.call("messenger_delivery_trace", {"request_id": "request-77"})

        assert [one["delivery_id"] for one in found["deliveries"]] == [
            letter["delivery_id"],
            answer["replayed_delivery_id"],
        ]
        original, again = found["deliveries"]
        assert original["dead_letter"]["replay_count"] == 1
        assert (again["replay_of"], again["message_content"]) == (letter["delivery_id"], "traced")
        assert len(again["receipts"]) == 1
