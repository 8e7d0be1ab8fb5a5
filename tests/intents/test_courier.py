from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from sqlalchemy import update
from tests.intents.office import MINT, Office, build_office, delivered, overloaded

from postroom.butlers.model import Session, SessionEvent, SessionOutcome, SessionStatus
from postroom.butlers.store import StoredSessions
from postroom.intents.model import (
    AddedMessage,
    IntentEventType,
    IntentStatus,
    MoveContext,
    Reminders,
    WaitingReason,
    unchanged,
)
from postroom.intents.runner import MAX_TRIES, followed, worked
from postroom.intents.store import RoutedSession, intents
from postroom.kernel.values.errors import (
    InternalError,
    PostroomError,
    StoreUnavailable,
    TargetUnavailable,
    ValidationError,
)
from postroom.kernel.values.ids import seconds, to_text
from postroom.kernel.values.principal import HOUSEHOLD_OWNER, SessionId
from postroom.message.delivery import Status
from postroom.message.outgoing import Outgoing
from postroom.message.wire import notify_error

OTHER = "agent://somewhere/else"


async def test_an_ask_to_a_person_is_delivered_once_on_their_channel(office: Office) -> None:
    bob = await office.person("Bob", telegram="2001", email="bob@x.org")

    intent = await office.ask(bob.agent_address, "The train is late", context="Platform 3")
    await office.work()
    await office.later(60)

    assert await office.events(intent) == ["created", "submitted", "delivered"]
    (sent,) = office.post.sent
    assert (sent["channel"], sent["recipient"], sent["request_id"]) == ("telegram", "2001", intent.id)
    assert sent["message"] == "The train is late\n\nPlatform 3\n\n— Olivia (reply to this message to answer)"


async def test_somebody_without_telegram_gets_an_email_with_a_subject(office: Office) -> None:
    anna = await office.person("Anna", email="anna@x.org")

    await office.ask(anna.agent_address, "First line\nsecond line " + "x" * 100)
    await office.work()

    (sent,) = office.post.sent
    assert (sent["channel"], sent["recipient"]) == ("email", "anna@x.org")
    assert sent["subject"].startswith("Olivia asks: First line second line x")
    assert len(sent["subject"]) <= 60 and "\n" not in sent["subject"]


async def test_a_butler_may_ask_the_owner(office: Office) -> None:
    await office.ask("agent://household/owner", sender="agent://butler/health")
    await office.work()

    assert office.post.said == [("1000", "Late?")]


@pytest.mark.parametrize("crash", ["before", "after"])
async def test_a_restart_continues_where_the_last_process_stopped(office: Office, crash: str) -> None:
    """The step is done again under the same key, so the delivery path makes one message of it."""
    bob = await office.person("Bob", telegram="2001")
    intent = await office.ask(bob.agent_address)
    if crash == "after":
        again = Outgoing(origin_butler="intents", channel="telegram", message="", idempotency_key=f"{intent.id}:0")
        await office.courier.outbound.submit(again, request_id=intent.id, wait_seconds=0)

    restarted = build_office(office.database, office.clock)
    await restarted.work()

    assert (await restarted.now(intent)).status is IntentStatus.DELIVERED
    assert {one["key"] for one in (*office.post.sent, *restarted.post.sent)} == {f"{intent.id}:0"}


async def test_reminders_escalation_and_giving_up_come_at_their_times_over_restarts(office: Office) -> None:
    bob, carl = await office.person("Bob", telegram="2001"), await office.person("Carl", telegram="2002")
    params = {"remind_after_seconds": 60, "max_reminders": 2, "step_deadline_seconds": 300}
    workflow = {"macro_id": "macro.remind_then_escalate.v1", "params": {**params, "escalate_to": carl.agent_address}}
    intent = await office.ask(bob.agent_address, "Come?", workflow=workflow)
    seen: list[Any] = []

    for pause in (0, 59, 1, 60, 180, 300):
        restarted = build_office(office.database, office.clock)
        await restarted.later(pause)
        seen.append(restarted.post.said)

    assert seen == [
        [("2001", "Come?")],
        [],
        [("2001", "A reminder: Come?")],
        [("2001", "A reminder: Come?")],
        [("2002", "Nobody has answered yet: Come?")],
        [],
    ]
    assert (await office.now(intent)).status is IntentStatus.TIMED_OUT
    assert await office.events(intent) == [
        "created", "submitted", "delivered", "reminder", "reminder", "escalated", "timed_out",
    ]  # fmt: skip


async def test_where_the_first_cannot_be_reached_whoever_it_is_passed_on_to_is_asked_at_once(office: Office) -> None:
    bob, carl = await office.person("Bob", telegram="2001"), await office.person("Carl", telegram="2002")
    params = {"remind_after_seconds": 60, "max_reminders": 2, "step_deadline_seconds": 3600}
    workflow = {"macro_id": "macro.remind_then_escalate.v1", "params": {**params, "escalate_to": carl.agent_address}}
    office.post.answers = [notify_error(ValidationError("the chat is gone"))]

    intent = await office.ask(bob.agent_address, "Come?", workflow=workflow)
    await office.work()

    assert [to for to, _ in office.post.said] == ["2001", "2002"]
    assert await office.events(intent) == ["created", "submitted", "delivery_failed", "escalated", "delivered"]
    await office.later(7200)
    assert (await office.now(intent)).status is IntentStatus.TIMED_OUT
    assert len(office.post.sent) == 2


@pytest.mark.requirement("ask:sent-in-time")
async def test_an_ask_does_not_end_before_what_was_sent_in_time_has_been_read(office: Office) -> None:
    bob, clock, listening = await office.person("Bob", telegram="2001"), office.clock, office.times.listening
    listening.expect("telegram")
    intent = await office.ask(bob.agent_address, deadline_at=to_text(clock.now_us() + seconds(90)))
    await office.work()
    await delivered(office.database, intent.id, "2001", "m1")
    await office.later(95)  # and meanwhile the channel is out of reach
    assert (await office.now(intent)).is_open

    await listening.looked("telegram", clock.now_us(), everything=True)
    await office.later(1)

    assert (await office.now(intent)).status is IntentStatus.TIMED_OUT


async def test_a_plan_stops_when_the_answer_is_there(office: Office) -> None:
    bob = await office.person("Bob", telegram="2001")
    intent = await office.ask(bob.agent_address, reminders=Reminders(remind_after_seconds=10, max_reminders=3))
    await office.work()
    reply = {"intent_type": "intent.reply.v1", "correlation_id": intent.correlation_id, "sender": bob.agent_address}
    await office.ask("agent://household/owner", "Yes", **reply)

    await office.later(100)

    assert (await office.now(intent)).status is IntentStatus.COMPLETED
    assert [one for one in office.post.said if "reminder" in one[1]] == []


async def test_the_first_of_many_to_answer_counts(office: Office) -> None:
    people = [await office.person(f"P{n}", telegram=f"300{n}") for n in range(3)]
    workflow = {
        "macro_id": "macro.ask_first_answer.v1",
        "params": {"recipients": [one.agent_address for one in people]},
    }
    intent = await office.ask(people[0].agent_address, "Who is in?", workflow=workflow)
    await office.work()
    assert sorted(one["recipient"] for one in office.post.sent) == ["3000", "3001", "3002"]

    for number in (1, 2):
        await office.ask(
            "agent://household/owner",
            f"I am {number}",
            sender=people[number].agent_address,
            intent_type="intent.reply.v1",
            correlation_id=intent.correlation_id,
        )

    done = await office.now(intent)
    assert (done.status, done.result and done.result["answer"]) == (IntentStatus.COMPLETED, "I am 1")


async def test_our_own_limits_postpone_a_step_and_lose_nothing(office: Office) -> None:
    bob = await office.person("Bob", telegram="2001")
    office.post.answers = [overloaded(30.0)]
    intent = await office.ask(bob.agent_address)
    await office.work()
    waiting = await office.now(intent)
    assert (waiting.status, waiting.waiting_reason) == (IntentStatus.WAITING, WaitingReason.TOOL)

    await office.later(29)
    assert len(office.post.sent) == 1
    await office.later(1)

    assert [one["key"] for one in office.post.sent] == [f"{intent.id}:0"] * 2
    assert (await office.now(intent)).status is IntentStatus.IN_PROGRESS


async def test_a_delivery_that_can_never_work_fails_the_ask(office: Office) -> None:
    bob = await office.person("Bob", telegram="2001")
    office.post.answers = [notify_error(ValidationError("no such chat"))]

    intent = await office.ask(bob.agent_address)
    await office.work()

    failed = await office.now(intent)
    assert (failed.status, failed.result) == (
        IntentStatus.FAILED,
        {"error": {"code": "validation_error", "message": "no such chat"}},
    )


async def test_a_delivery_that_waits_for_approval_makes_the_ask_wait(office: Office) -> None:
    bob = await office.person("Bob", telegram="2001")
    office.post.answers = [{"status": "pending_approval"}]

    intent = await office.ask(bob.agent_address)
    await office.work()

    found = await office.now(intent)
    assert (found.status, found.waiting_reason, found.carried) == (IntentStatus.WAITING, WaitingReason.HUMAN, True)


async def test_a_reply_is_done_when_it_is_delivered(office: Office) -> None:
    bob = await office.person("Bob", telegram="2001")

    intent = await office.ask(bob.agent_address, "At nine", intent_type="intent.reply.v1")
    await office.work()

    assert (await office.now(intent)).status is IntentStatus.COMPLETED
    assert office.post.said == [("2001", "At nine")]


async def test_an_answer_is_sent_on_to_whoever_wants_it(office: Office) -> None:
    bob, carl = await office.person("Bob", telegram="2001"), await office.person("Carl", telegram="2002")
    intent = await office.ask(bob.agent_address, "Come?", reply_to=carl.agent_address)
    await office.work()
    reply = {"intent_type": "intent.reply.v1", "correlation_id": intent.correlation_id, "sender": bob.agent_address}
    await office.ask("agent://household/owner", "Yes", **reply)

    await office.later(2)
    await office.later(2)

    assert [one for one in office.post.said if one[0] == "2002"] == [("2002", "Yes")]
    assert not (await office.now(intent)).carried


async def test_an_answer_for_somebody_who_is_gone_is_noted_once_and_let_go(office: Office) -> None:
    bob, carl = await office.person("Bob", telegram="2001"), await office.person("Carl", telegram="2002")
    intent = await office.ask(bob.agent_address, "Come?", reply_to=carl.agent_address)
    await office.work()
    await office.contacts.delete(HOUSEHOLD_OWNER, carl.id)
    reply = {"intent_type": "intent.reply.v1", "correlation_id": intent.correlation_id, "sender": bob.agent_address}
    await office.ask("agent://household/owner", "Yes", **reply)

    await office.later(2)
    await office.later(2)

    ended = await office.now(intent)
    assert (ended.status, ended.carried) == (IntentStatus.COMPLETED, False)
    assert (await office.events(intent)).count("delivery_failed") == 1


async def test_a_butler_is_asked_over_a_route_and_its_answer_completes_the_ask(office: Office) -> None:
    office.butlers.answers = [{"status": "ok", "result": {"output": "Twelve"}}]

    intent = await office.ask("agent://butler/health", "How many?")
    await office.work()

    ((butler, route),) = office.butlers.routes
    assert (butler, route.prompt) == ("health", "How many?")
    assert route.request_context["source_sender_identity"] == "agent://household/owner"
    done = await office.now(intent)
    assert (done.status, done.result and done.result["answer"]) == (IntentStatus.COMPLETED, "Twelve")


async def test_a_butler_that_has_only_begun_leaves_the_ask_in_progress(office: Office) -> None:
    office.butlers.answers = [{"status": "accepted"}]

    intent = await office.ask("agent://butler/health")
    await office.work()

    assert (await office.now(intent)).status is IntentStatus.IN_PROGRESS


async def test_a_butler_that_cannot_be_reached_is_tried_again(office: Office) -> None:
    intent = await office.ask("agent://butler/health")
    await office.work()
    assert (await office.now(intent)).status is IntentStatus.WAITING

    office.butlers.answers = [{"status": "ok", "result": {"text": "Here"}}]
    await office.later(10)

    assert (await office.now(intent)).status is IntentStatus.COMPLETED


UNSTORABLE = "noon \x00 \ud800"


async def test_words_that_no_store_can_hold_still_complete_the_ask(office: Office) -> None:
    office.butlers.answers = [{"status": "ok", "result": {"text": UNSTORABLE}}]

    intent = await office.ask("agent://butler/health")
    await office.work()

    done = await office.now(intent)
    assert (done.status, done.result and done.result["answer"]) == (IntentStatus.COMPLETED, "noon \ufffd \ufffd")


async def test_words_that_were_kept_as_they_came_complete_the_ask_too(office: Office) -> None:
    office.butlers.answers = [{"status": "accepted"}]
    intent = await office.ask("agent://butler/health")
    await office.work()
    sessions, now = StoredSessions(office.database), office.clock.now_us()
    new = Session(
        id=SessionId("s"),
        butler="health",
        runtime="codex",
        trigger_source="route",
        caller="operator",
        prompt="ask",
        created_at_us=now,
        request_id=intent.id,
    )
    await sessions.add(new, most_queued=1)
    session = await sessions.claim("health", now_us=now)
    assert session is not None
    await sessions.end(session, SessionOutcome(event=SessionEvent.FINISH, transcript={"text": UNSTORABLE}), now_us=now)

    await office.later(2)

    done = await office.now(intent)
    assert (done.status, done.result and done.result["answer"]) == (IntentStatus.COMPLETED, "noon \ufffd \ufffd")


async def test_a_step_that_fails_keeps_its_distance_and_in_the_end_fails_the_ask(office: Office) -> None:
    bob = await office.person("Bob", telegram="2001")
    office.post.breaks_for["2001"] = RuntimeError("secret words")
    intent = await office.ask(bob.agent_address)
    tries = []

    for pause in (0, 1.9, 0.1, 3.9, 0.1, 8, 16, 31.9, 0.1, 100):
        await office.later(pause)
        tries.append(len(office.post.sent))

    assert tries == [1, 1, 2, 2, 3, 4, 5, 5, 6, 6]
    failed = await office.now(intent)
    reason = "it failed 6 times and was given up (RuntimeError)"
    assert (failed.status, failed.result) == (
        IntentStatus.FAILED,
        {"error": {"code": "internal_error", "message": reason}},
    )


async def test_many_that_fail_never_starve_the_others(office: Office) -> None:
    bob, carl = await office.person("Bob", telegram="2001"), await office.person("Carl", telegram="2002")
    office.post.breaks_for["2001"] = RuntimeError("poison")
    for _ in range(130):
        await office.ask(bob.agent_address)
    await office.clock.advance(1)
    healthy = await office.ask(carl.agent_address)

    await office.work()
    assert (await office.now(healthy)).status is IntentStatus.DELIVERED
    restarted = build_office(office.database, office.clock)
    restarted.post.breaks_for["2001"] = RuntimeError("poison")
    another = await restarted.ask(carl.agent_address)
    await restarted.work()

    assert (await restarted.now(another)).status is IntentStatus.DELIVERED


async def test_an_outage_of_the_store_costs_an_intent_no_try(office: Office) -> None:
    bob = await office.person("Bob", telegram="2001")
    office.post.breaks_for["2001"] = StoreUnavailable("away")
    intent = await office.ask(bob.agent_address)
    for _ in range(MAX_TRIES + 1):
        await office.later(1)
    assert len(office.post.sent) > MAX_TRIES

    office.post.breaks_for.clear()
    await office.later(1)

    assert (await office.now(intent)).status is IntentStatus.DELIVERED


@pytest.mark.parametrize(
    ("error", "status"),
    [
        pytest.param(TargetUnavailable("the switchboard is away"), IntentStatus.SUBMITTED, id="may come back"),
        pytest.param(InternalError("a bug"), IntentStatus.FAILED, id="never works"),
    ],
)
async def test_an_error_of_ours_that_may_pass_is_waited_for(
    office: Office, error: PostroomError, status: IntentStatus
) -> None:
    bob = await office.person("Bob", telegram="2001")
    office.post.breaks_for["2001"] = error
    intent = await office.ask(bob.agent_address)

    for _ in range(8):
        await office.later(60)

    assert (await office.now(intent)).status is status


async def test_a_row_that_cannot_be_read_hides_no_other(office: Office) -> None:
    bob = await office.person("Bob", telegram="2001")
    damaged, healthy = await office.ask(bob.agent_address), await office.ask(bob.agent_address)
    spoil = update(intents).where(intents.c.id == damaged.id).values(plan="no plan")
    await office.database.write(lambda connection: connection.execute(spoil))

    await office.work()

    assert (await office.now(healthy)).status is IntentStatus.DELIVERED


async def test_an_answer_that_cannot_be_sent_on_is_noted_and_let_go(office: Office) -> None:
    bob = await office.person("Bob", telegram="2001")
    office.butlers.answers = [{"status": "ok", "result": {"text": "Noon"}}]
    office.post.breaks_for["2001"] = RuntimeError("poison")
    intent = await office.ask("agent://butler/health", reply_to=bob.agent_address)

    for _ in range(8):
        await office.later(60)

    done = await office.now(intent)
    assert (done.status, done.carried) == (IntentStatus.COMPLETED, False)
    assert (await office.events(intent))[-1] == "delivery_failed"


async def test_a_contact_that_vanished_before_its_turn_is_noted(office: Office) -> None:
    bob = await office.person("Bob", telegram="2001")
    intent = await office.ask(bob.agent_address)
    await office.contacts.delete("agent://household/owner", bob.id)

    await office.work()

    assert (await office.now(intent)).status is IntentStatus.FAILED


async def test_an_unclear_answer_keeps_the_ask_open(office: Office) -> None:
    bob = await office.person("Bob", telegram="2001")
    intent = await office.ask(bob.agent_address)
    unclear = {"status": "needs_clarification", "clarification_question": "Which train?"}

    for _ in range(2):
        await office.ask(
            "agent://household/owner", "Hm", sender=bob.agent_address, intent_type="intent.reply.v1",
            correlation_id=intent.correlation_id, **unclear,
        )  # fmt: skip

    found = await office.now(intent)
    assert (found.status, found.waiting_reason) == (IntentStatus.WAITING, WaitingReason.AGENT)


@pytest.mark.parametrize(
    ("session", "status", "answer"),
    [
        (("queued", "", None), IntentStatus.IN_PROGRESS, None),
        (("running", "", None), IntentStatus.IN_PROGRESS, None),
        (("done", "It is noon", None), IntentStatus.COMPLETED, "It is noon"),
        (("done", "", None), IntentStatus.COMPLETED, "done"),
        (("failed", "", "target_unavailable"), IntentStatus.FAILED, None),
        (("lost", "", "internal_error"), IntentStatus.FAILED, None),
    ],
)
async def test_what_becomes_of_a_butlers_session_becomes_of_the_ask(
    office: Office, session: tuple[str, str, str | None], status: IntentStatus, answer: str | None
) -> None:
    office.butlers.answers = [{"status": "accepted"}]
    intent = await office.ask("agent://butler/health")
    await office.work()
    moment = MoveContext(office.clock.now_us(), "postroom", MINT.mint)

    change = worked(await office.now(intent), RoutedSession(SessionStatus(session[0]), *session[1:], "health"), moment)

    assert change.intent.status is status
    assert (change.intent.result or {}).get("answer") == answer


async def test_what_a_butler_said_is_the_butlers_word_whoever_else_was_asked(office: Office) -> None:
    recipients = ["agent://butler/health", "agent://user/ann"]
    workflow = {"macro_id": "macro.ask_first_answer.v1", "params": {"recipients": recipients}}
    office.butlers.answers = [{"status": "accepted"}]
    intent = await office.ask("agent://user/ann", "Who knows?", workflow=workflow)
    await office.work()

    moment = MoveContext(office.clock.now_us(), "postroom", MINT.mint)
    change = worked(await office.now(intent), RoutedSession(SessionStatus.DONE, "I do", None, "health"), moment)

    assert change.says == AddedMessage("agent://butler/health", "I do")
    assert (change.intent.result or {})["responded_by"] == "agent://butler/health"
    assert change.events[-1].actor == "agent://butler/health"


async def test_a_butler_decides_no_approval_that_was_stored_with_it_as_approver(office: Office) -> None:
    intent = await office.ask("agent://user/ann", "May I?", workflow={"macro_id": "macro.approval.v1"})
    step = replace(intent.plan[0], to_agent="agent://butler/health")
    old = replace(intent, plan=(step, *intent.plan[1:]), handler=step.to_agent)
    await office.store.update(intent.id, lambda _: unchanged(old))
    office.butlers.answers = [{"status": "ok", "result": {"text": "approve"}}]

    await office.work()

    assert office.butlers.routes == []
    moment = MoveContext(office.clock.now_us(), "postroom", MINT.mint)
    on_its_way = replace(old, carried=True, status=IntentStatus.IN_PROGRESS)
    assert (
        worked(on_its_way, RoutedSession(SessionStatus.DONE, "approve", None, "health"), moment).intent.status
        is not IntentStatus.COMPLETED
    )
    assert "decision" not in ((await office.now(intent)).result or {})


@pytest.mark.parametrize(
    ("statuses", "carried", "status", "event"),
    [
        ([Status.PENDING], True, IntentStatus.SUBMITTED, None),
        ([Status.DELIVERED], False, IntentStatus.DELIVERED, IntentEventType.DELIVERED),
        ([Status.DEAD_LETTERED], False, IntentStatus.FAILED, IntentEventType.FAILED),
        ([Status.FAILED, Status.DELIVERED], False, IntentStatus.DELIVERED, IntentEventType.DELIVERED),
        ([Status.AWAITING_APPROVAL], True, IntentStatus.WAITING, IntentEventType.WAITING),
        ([], True, IntentStatus.SUBMITTED, None),
    ],
)
async def test_what_becomes_of_a_delivery_becomes_of_the_ask(
    office: Office, statuses: list[Status], carried: bool, status: IntentStatus, event: IntentEventType | None
) -> None:
    bob = await office.person("Bob", telegram="2001")
    office.post.answers = [{"status": "accepted"}]
    intent = await office.ask(bob.agent_address)
    await office.work()
    moment = MoveContext(office.clock.now_us(), "postroom", MINT.mint)

    change = followed(await office.now(intent), statuses, "timeout", moment)

    assert (change.intent.carried, change.intent.status) == (carried, status)
    assert [one.event_type for one in change.events] == ([event] if event else [])
