"""`postroom approvals`: what a person sees before deciding is what is sent."""

from __future__ import annotations

import asyncio
import json
import re
import sqlite3
from collections.abc import Awaitable, Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from tests.approvals.gated_household import Gated, gated_household
from tests.cli.command import Done, postroom_beside
from tests.household.living import QUICK, Living, living
from tests.patience import PATIENCE_SECONDS
from tests.services.ports import free_port

from postroom.approvals.store.approvals import HeardThreads
from postroom.butlers.messenger.server import APPROVAL_TOOL_NAMES
from postroom.kernel.database.sqlite import SqliteDatabase
from postroom.kernel.values.principal import OPERATOR, Principal, Role

ON = {"approvals": {"enabled": True, "ask_owner": False}}


async def parked(household: Living, message: str = "Hello stranger") -> str:
    return str((await household.notify(recipient="4242", message=message))["action_id"])


def ports() -> dict[str, dict[str, int]]:
    return {"ports": {"api": free_port()}}


async def run(household: Living, *arguments: str) -> Done:
    """The command reads where the API is from its settings, as always."""
    file = household.settings.home / "postroom.toml"
    file.write_text(f"[ports]\napi = {household.settings.ports.api}\n")
    return await postroom_beside("approvals", *arguments)


async def test_what_waits_is_listed_shown_and_sent_once(home: Path) -> None:
    async with living(home, QUICK, ON, ports()) as household:
        action = await parked(household)
        listed, shown = await run(household, "list"), await run(household, "show", action)
        approved, again = (
            await run(household, "approve", action, "--yes"),
            await run(household, "approve", action, "-y"),
        )
        answer = await household.notify(recipient="4242", message="unrelated")
        received = await household.texts()

    assert action in listed.out and "health to 4242 over telegram" in listed.out
    assert "message: Hello stranger" in shown.out
    assert approved.code == 0 and "on its way" in approved.out
    assert again.code == 1 and "approved" in again.error
    assert received == ["Hello stranger"] and answer["status"] == "pending_approval"


async def test_until_when_it_can_be_sent_and_when_it_was_decided_is_said_in_the_persons_zone(home: Path) -> None:
    async with living(home, QUICK, ON, ports()) as household:
        await postroom_beside("people", "edit", "owner", "--zone", "Asia/Kolkata")
        action = await parked(household)
        shown = await run(household, "show", action)
        await run(household, "approve", action, "--yes")
        again = await run(household, "approve", action, "--yes")

    assert re.search(r"expires [\d-]+ \d\d:\d\d IST\n", shown.out), shown.out
    assert "already approved" in again.error and "T" not in again.error.partition("already")[2]


async def test_a_no_at_the_question_sends_nothing(home: Path) -> None:
    async with living(home, QUICK, ON, ports()) as household:
        action = await parked(household, "Pay \u202eevil")
        refused = await run(household, "approve", action)
        left = json.loads((await run(household, "list", "--json")).out)

    assert refused.code == 1
    assert "RIGHT-TO-LEFT OVERRIDE" in refused.out
    assert [one["action_id"] for one in left] == [action]


async def test_a_rejection_tells_the_sender_why(home: Path) -> None:
    async with living(home, QUICK, ON, ports()) as household:
        action = await parked(household)
        rejected = await run(household, "reject", action, "--reason", "not today")
        empty = await run(household, "list")
        told = await postroom_beside("why", action)

    assert rejected.code == 0 and empty.out == "Nothing waits.\n"
    assert "not today" in told.out


async def test_without_approvals_the_command_says_so(home: Path) -> None:
    async with living(home, QUICK, ports()) as household:
        done = await run(household, "list")

    assert done.code == 1
    assert "approvals" in done.error and "enabled" in done.error


async def test_the_beginning_of_an_action_is_enough_while_it_is_unique(home: Path) -> None:
    async with living(home, QUICK, ON, ports()) as household:
        action = await parked(household)
        shown = await run(household, "show", action[:8])
        approved = await run(household, "approve", action[:8], "--yes")
        again = await run(household, "show", action[:8])
        first, second = await parked(household, "One"), await parked(household, "Two")
        several = await run(household, "reject", first[:6], "--reason", "no")
        missing = await run(household, "show", "zz")

    assert "message: Hello stranger" in shown.out and "approved" in again.out
    assert approved.code == 0 and action in approved.out
    assert several.code == 1 and first in several.error and second in several.error
    assert missing.code == 1 and missing.out == ""


ANN = Principal(Role.USER, "ann")
MESSENGER = Principal(Role.BUTLER, "messenger")
STRANGER = {"channel": "telegram", "recipient": "555", "message": "See you at eight"}


async def texts(gated: Gated, chat_id: str = "555") -> list[str]:
    return [one["text"] for one in await gated.received("telegram/messages") if str(one["chat_id"]) == chat_id]


async def strangers_have(gated: Gated) -> int:
    """Messages and mails, without the cards that the owner is shown meanwhile."""
    mails = [one for one in await gated.received("email/messages") if "x@y.example" in one["recipients"]]
    return len(await texts(gated)) + len(mails)


async def approval_tools_parked(gated: Gated, **changes: Any) -> str:
    answer = await gated.notify(**{**STRANGER, **changes})
    assert answer["status"] == "pending_approval", answer
    return str(answer["action_id"])


async def settled(gated: Gated, action_id: str) -> dict[str, Any]:
    """The messenger's own record, once the delivery has come to an end."""
    async with asyncio.timeout(PATIENCE_SECONDS):
        while True:
            told = await gated.call(OPERATOR, "messenger", "messenger_delivery_status", delivery_id=action_id)
            if told["status"] not in ("pending", "in_progress"):
                return told


def code(answer: dict[str, Any]) -> str:
    assert answer["status"] == "error", answer
    return str(answer["error"]["fields"][0]["code"])


Send = Callable[[Gated], Awaitable[dict[str, Any]]]
DOORS: dict[str, Send] = {
    "notify": lambda gated: gated.notify(**STRANGER),
    "the messenger's notify": lambda gated: gated.call(MESSENGER, "messenger", "notify", **STRANGER),
    "telegram_send_message": lambda gated: gated.call(
        MESSENGER, "messenger", "telegram_send_message", chat_id="555", text="hi"
    ),
    "email_send_message": lambda gated: gated.call(
        MESSENGER, "messenger", "email_send_message", to="x@y.example", subject="s", body="hi"
    ),
    "telegram_reply_to_message": lambda gated: gated.call(
        MESSENGER, "messenger", "telegram_reply_to_message", chat_id="555", message_id=1, text="hi"
    ),
    "the operator's notify": lambda gated: gated.call(OPERATOR, "general", "notify", **STRANGER),
}


@pytest.mark.requirement("messenger:gated-tools", "messenger:approval-gated-delivery")
async def test_every_door_waits_for_a_person_and_sends_when_one_agrees(home: Path) -> None:
    async with gated_household(home) as gated:
        for door, send in DOORS.items():
            before = await strangers_have(gated)
            answer = await send(gated)

            assert answer["status"] == "pending_approval", door
            assert answer["delivery"]["status"] == "awaiting_approval"
            assert answer["action_id"] == answer["delivery"]["delivery_id"]
            approved = await gated.decide("approve_action", action_id=answer["action_id"])
            assert approved["decision"] == "approved", (door, approved)
            ended = await settled(gated, answer["action_id"])
            if "reply" not in door:  # there is no message in the sandbox to reply to
                assert ended["status"] == "delivered", door
                assert await strangers_have(gated) == before + 1


async def test_the_owner_and_a_trusted_contact_are_written_to_at_once(home: Path) -> None:
    async with gated_household(home) as gated:
        owner = await gated.notify(channel="telegram", message="hello")
        alice = await gated.notify(channel="email", recipient="Alice", message="hello")
        bob = await gated.notify(channel="email", recipient="Bob", message="hello")

        assert [one["status"] for one in (owner, alice, bob)] == ["ok", "ok", "pending_approval"]


async def test_a_duplicate_gets_the_same_action_and_after_the_decision_its_outcome(home: Path) -> None:
    async with gated_household(home) as gated:
        first = await approval_tools_parked(gated, idempotency_key="dinner")
        assert await approval_tools_parked(gated, idempotency_key="dinner") == first
        other = await gated.notify(**{**STRANGER, "message": "At nine"}, idempotency_key="dinner")
        assert other["status"] == "error"

        await gated.decide("approve_action", action_id=first)
        again = await gated.notify(**STRANGER, idempotency_key="dinner")

        assert (again["status"], again["delivery"]["delivery_id"]) == ("ok", first)
        assert await texts(gated) == ["See you at eight"]


@pytest.mark.parametrize(
    "who",
    [
        Principal(Role.USER, "ci"),
        Principal(Role.PERSON, "ben"),
        Principal(Role.PROGRAM, "ann", person="owner"),
        Principal(Role.CONNECTOR, "ann"),
        Principal(Role.BUTLER, "general"),
    ],
    ids=str,
)
async def test_a_token_that_is_not_an_approvers_sees_and_decides_nothing(home: Path, who: Principal) -> None:
    async with gated_household(home) as gated:
        action_id = await approval_tools_parked(gated)

        for tool, arguments in (
            ("list_pending_actions", {}),
            ("show_pending_action", {"action_id": action_id}),
            ("approve_action", {"action_id": action_id}),
            ("reject_action", {"action_id": action_id, "reason": "no"}),
            ("create_approval_rule", {"constraints": {"recipient": "555"}, "max_uses": 1}),
        ):
            assert (await gated.decide(tool, who=who, **arguments))["status"] == "refused", tool
        assert await texts(gated) == []

        by_owner = await gated.decide("approve_action", who=Principal(Role.PERSON, "owner"), action_id=action_id)
        assert by_owner["action"]["decided_by"] == "person:owner"


async def test_fifty_people_who_agree_at_once_send_one_message(home: Path) -> None:
    async with gated_household(home) as gated:
        action_id = await approval_tools_parked(gated)

        answers = await asyncio.gather(*(gated.decide("approve_action", action_id=action_id) for _ in range(50)))

        assert sorted(one["status"] for one in answers) == ["error"] * 49 + ["ok"]
        assert {code(one) for one in answers if one["status"] == "error"} == {"already_decided"}
        await settled(gated, action_id)
        assert await texts(gated) == ["See you at eight"]


async def test_what_is_shown_is_the_exact_content_with_nothing_hidden(home: Path) -> None:
    async with gated_household(home) as gated:
        message = "Pay p\u0430ypal\u202e now"
        action_id = await approval_tools_parked(gated, message=message)

        shown = (await gated.decide("show_pending_action", who=ANN, action_id=action_id))["action"]

        assert shown["content"]["message"] == message
        assert shown["visible"]["message"] == (
            "Pay p\u0430⟦U+0430 CYRILLIC SMALL LETTER A⟧ypal⟦U+202E RIGHT-TO-LEFT OVERRIDE⟧ now"
        )
        assert [one["kind"] for one in shown["warnings"]] == ["look_alike", "bidi_control"]
        assert (shown["risk_tier"], shown["intact"]) == ("high", True)
        assert [one["type"] for one in shown["events"]] == ["action_queued"]


async def test_an_edited_message_is_what_arrives(home: Path) -> None:
    async with gated_household(home) as gated:
        action_id = await approval_tools_parked(gated)
        shown = (await gated.decide("show_pending_action", action_id=action_id))["action"]

        wrong = await gated.decide("approve_action", action_id=action_id, content_hash="0" * 64)
        misspelt = await gated.decide("approve_action", action_id=action_id, edit={"message": "At nine"})
        invalid = await gated.decide("approve_action", action_id=action_id, edits={"message": " "})
        done = await gated.decide(
            "approve_action",
            who=ANN,
            action_id=action_id,
            content_hash=shown["content_hash"],
            edits={"message": "At nine"},
        )

        assert [code(wrong), code(invalid), misspelt["status"]] == ["hash_mismatch", "blank", "error"]
        assert (done["action"]["edited"], done["action"]["decided_by"]) == (True, "user:ann")
        await settled(gated, action_id)
        assert await texts(gated) == ["At nine"]


async def test_a_rejected_message_is_never_sent_and_its_sender_learns_why(home: Path) -> None:
    async with gated_household(home) as gated:
        action_id = await approval_tools_parked(gated, idempotency_key="k")

        await gated.decide("reject_action", action_id=action_id, reason="not today")
        answer = await gated.notify(**STRANGER, idempotency_key="k")

        assert (answer["status"], answer["retryable"]) == ("error", False)
        assert answer["error"]["message"] == "a person rejected this message: not today"
        assert code(await gated.decide("approve_action", action_id=action_id)) == "already_decided"
        assert code(await gated.decide("reject_action", action_id=action_id, reason=" ")) == "blank"
        assert await texts(gated) == []


async def test_an_approval_after_the_expiry_is_too_late_and_says_so(home: Path) -> None:
    async with gated_household(home, {"approvals": {"expiry_hours": 0.0000001}}) as gated:
        action_id = await approval_tools_parked(gated, idempotency_key="k")

        answer = await gated.decide("approve_action", action_id=action_id)

        assert code(answer) in ("too_late", "already_decided")
        assert (await gated.decide("list_pending_actions"))["actions"] == []
        sender = await gated.notify(**STRANGER, idempotency_key="k")
        assert sender["error"]["message"].startswith("nobody approved this message within")
        assert await texts(gated) == []


async def test_a_rule_lets_the_next_ones_pass_until_it_is_used_up_or_revoked(home: Path) -> None:
    async with gated_household(home) as gated:
        made = await gated.decide(
            "create_approval_rule", constraints={"recipient": {"type": "pattern", "value": "55*"}}, max_uses=2
        )
        statuses = [(await gated.notify(**STRANGER))["status"] for _ in range(3)]
        assert statuses == ["ok", "ok", "pending_approval"]
        [rule] = (await gated.decide("list_approval_rules"))["rules"]
        assert (rule["rule_id"], rule["use_count"], rule["active"]) == (made["rule"]["rule_id"], 2, False)

        action_id = await approval_tools_parked(gated)
        approved = await gated.decide("approve_action", action_id=action_id, create_rule=True)
        assert (await gated.notify(**{**STRANGER, "message": "Other words"}))["status"] == "ok"
        await gated.decide("revoke_approval_rule", rule_id=approved["rule"]["rule_id"])
        assert (await gated.notify(**STRANGER))["status"] == "pending_approval"


async def test_what_is_wrong_with_a_rule_is_named_where_it_stands_in_the_call(home: Path) -> None:
    rule = {"bogus": 1, "max_uses": 0}
    async with gated_household(home) as gated:
        action_id = await approval_tools_parked(gated)
        refused = await gated.decide("approve_action", action_id=action_id, create_rule=rule)
        inside = await gated.decide("approve_action", action_id=action_id, create_rule={"constraints": {"chanel": "x"}})

        named = [[one["field"] for one in answer["error"]["fields"]] for answer in (refused, inside)]
        assert named == [["create_rule.bogus", "create_rule.max_uses"], ["create_rule.constraints.chanel"]]


async def test_lists_go_page_by_page(home: Path) -> None:
    async with gated_household(home) as gated:
        ids = [await approval_tools_parked(gated) for _ in range(3)]

        first = await gated.decide("list_pending_actions", limit=2)
        second = await gated.decide("list_pending_actions", limit=2, cursor=first["next_cursor"])

        listed = [one["action_id"] for one in [*first["actions"], *second["actions"]]]
        assert (listed, second["next_cursor"]) == (ids[::-1], None)


@pytest.mark.parametrize(
    "who", [Principal(Role.BUTLER, "general"), MESSENGER, Principal(Role.CONNECTOR, "chatgpt")], ids=str
)
async def test_no_token_that_a_model_holds_gets_past_the_policy(home: Path, who: Principal) -> None:
    async with gated_household(home) as gated:
        answers = [await gated.decide(tool, who=who) for tool in APPROVAL_TOOL_NAMES]

        assert {one["status"] for one in answers} == {"refused"}


async def test_without_approvals_there_are_no_such_tools_and_nothing_waits(home: Path) -> None:
    async with gated_household(home, {"approvals": {"enabled": False}}) as gated:
        assert (await gated.notify(**STRANGER))["status"] == "ok"
        assert (await gated.decide("list_pending_actions"))["status"] == "refused"


@pytest.mark.requirement("messenger:approval-gated-delivery")
async def test_when_the_gates_store_fails_nothing_is_sent(home: Path) -> None:
    async with gated_household(home) as gated:
        with closing(sqlite3.connect(home / "postroom.db")) as connection:
            connection.execute("DROP TABLE approval_rules")

        answer = await gated.notify(**STRANGER)

        assert (answer["status"], answer["error_class"]) == ("error", "target_unavailable")
        assert gated.rows("SELECT id FROM delivery_requests") == []
        assert await texts(gated) == []
        assert (await gated.notify(channel="telegram", message="hello"))["status"] == "ok"


async def test_an_answer_to_somebody_who_really_wrote_needs_nobody(home: Path) -> None:
    async with gated_household(home) as gated:
        base = gated.household.addresses["sandbox"].removesuffix("/")
        async with gated.http.post(f"{base}/telegram/inbound", json={"chat_id": "555", "text": "hi"}) as response:
            message_id = str((await response.json())["message_id"])
        heard = SqliteDatabase(home / "postroom.db")
        await HeardThreads(heard).hear("telegram", "555", message_id, 1)
        await heard.close()
        context = {
            "request_id": "r",
            "source_channel": "telegram",
            "source_endpoint_identity": "bot",
            "source_sender_identity": "555",
            "source_thread_identity": f"555:{message_id}",
        }

        answer = await gated.notify(channel="telegram", intent="reply", message="hello", request_context=context)
        forged = {**context, "source_thread_identity": "555:99"}
        other = await gated.notify(channel="telegram", intent="reply", message="hello", request_context=forged)

        assert (answer["status"], other["status"]) == ("ok", "pending_approval")


async def test_a_replay_by_a_person_sends_what_was_approved_without_asking_again(home: Path) -> None:
    async with gated_household(home, {"retry": {"max_attempts": 1}}) as gated:
        base = gated.household.addresses["sandbox"].removesuffix("/")
        await gated.http.post(f"{base}/faults", json={"channel": "email", "times": 1, "status": 451})
        # By mail, because the owner's card leaves by Telegram and must not meet the fault.
        action_id = await approval_tools_parked(gated, channel="email", recipient="x@y.example")
        await gated.decide("approve_action", action_id=action_id, edits={"message": "At nine"})
        assert (await settled(gated, action_id))["status"] == "dead_lettered"
        [letter] = (await gated.decide("messenger_dead_letter_list"))["dead_letters"]
        named = {"dead_letter_id": letter["dead_letter_id"]}

        by_model = await gated.call(MESSENGER, "messenger", "messenger_dead_letter_replay", **named)
        replayed = await gated.decide("messenger_dead_letter_replay", who=ANN, **named)

        assert by_model["status"] == "refused"
        assert (await settled(gated, replayed["replayed_delivery_id"]))["status"] == "delivered"
        [mail] = [one for one in await gated.received("email/messages") if "x@y.example" in one["recipients"]]
        assert mail["body"].strip() == "At nine"


async def test_the_owner_is_told_once_of_what_waits_and_of_the_next_after_a_decision(home: Path) -> None:
    async with gated_household(home, {"approvals": {"ask_owner": True}}) as gated:
        action_id = await approval_tools_parked(gated)
        await approval_tools_parked(gated, idempotency_key="k")
        await approval_tools_parked(gated, idempotency_key="k")

        async with asyncio.timeout(PATIENCE_SECONDS):
            while not (told := await texts(gated, "1000")):
                pass
            await gated.decide("reject_action", action_id=action_id, reason="no")
            while len(then := await texts(gated, "1000")) < 2:
                pass

        assert (len(told), len(then)) == (1, 2)
        assert all("See you at eight" in one for one in told)
