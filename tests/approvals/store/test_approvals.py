"""Approvals on disk: one suite for SQLite and PostgreSQL."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Connection, func, insert, inspect, select, text, update
from sqlalchemy.exc import DBAPIError
from tests.approvals.parked import HOUR_US, MINT, PARKING, DecidingDesk, content, deciding_desk, new_delivery, terms
from tests.clock import START_US, FakeClock
from tests.opened_database import ledger_of, opened_database, opened_file

from postroom.approvals.model import ActionStatus, ApprovalEventType, StandingRule, content_of
from postroom.approvals.rules import arguments_of, parse_constraints, parse_rule_request, standing
from postroom.approvals.store.approvals import StoredApprovals
from postroom.approvals.store.tables import approval_events, approval_rules, pending_actions
from postroom.delivery.model import Inserted, NewDelivery
from postroom.delivery.store.tables import delivery_requests
from postroom.kernel.database.engine import Database, Marks
from postroom.kernel.database.moments import StoredMoments
from postroom.kernel.running.timekeeper import Timekeeper
from postroom.kernel.values.errors import OverloadRejected, PostroomError, ValidationError
from postroom.kernel.values.ids import DeliveryId
from postroom.kernel.values.moments import Due
from postroom.kernel.values.principal import Principal, Role
from postroom.message.delivery import Status
from postroom.message.wishes import Risk
from postroom.questions.questions import Questions
from postroom.questions.store.steps import MOMENTS
from postroom.questions.store.tables import questions

ANN, BOB = Principal(Role.USER, "ann"), Principal(Role.USER, "bob")
NOW = START_US + HOUR_US
Refused = (DBAPIError, PostroomError)


@pytest.fixture
def desk(database: Database, clock: FakeClock) -> DecidingDesk:
    return deciding_desk(database, clock)


@pytest.fixture
def record(desk: DecidingDesk) -> StoredApprovals:
    return desk.record


def codes(outcomes: Sequence[object]) -> list[str]:
    """Why those were refused who were."""
    return [one.fields[0].code for one in outcomes if isinstance(one, ValidationError)]


def choosing(new: NewDelivery) -> Callable[[Sequence[StandingRule]], Sequence[StandingRule]]:
    arguments = arguments_of(content_of(new), new.origin_butler)
    return partial(standing, arguments=arguments, risk=Risk.MEDIUM, now_us=new.created_at_us)


def rule(constraints: dict[str, Any], **changes: Any) -> StandingRule:
    values = {"description": "", "created_by": "operator", "created_at_us": START_US} | changes
    return StandingRule(id=MINT.mint(START_US), constraints=parse_constraints(constraints), **values)


async def rows(database: Database, statement: Any) -> list[Any]:
    return await database.read(lambda connection: list(connection.execute(statement)))


async def change(database: Database, statement: Any) -> None:
    def work(connection: Connection) -> None:
        connection.execute(statement)

    await database.write(work)


async def event_types(record: StoredApprovals, action_id: DeliveryId) -> list[ApprovalEventType]:
    return [event.type for event in await record.events(action_id)]


async def status_of(database: Database, delivery_id: DeliveryId) -> Status | None:
    snapshot = await ledger_of(database).get(delivery_id)
    return snapshot.status if snapshot else None


@pytest.mark.requirement("messenger:approval-gated-delivery")
async def test_a_parked_delivery_its_action_and_the_audit_are_one_transaction(
    database: Database, record: StoredApprovals
) -> None:
    new = new_delivery()

    inserted = await record.park(new, terms())

    assert (inserted.created, inserted.snapshot.status) == (True, Status.AWAITING_APPROVAL)
    action = await record.action(new.id)
    assert action is not None
    assert (action.content, action.content_hash) == (content_of(new), content_of(new).hash)
    assert (action.status, action.expires_at_us) == (ActionStatus.PENDING, PARKING.expires_at_us)
    assert await event_types(record, new.id) == [ApprovalEventType.ACTION_QUEUED]


async def test_when_a_step_of_parking_fails_nothing_is_left_behind(database: Database, record: StoredApprovals) -> None:
    def broken(_: Sequence[StandingRule]) -> Sequence[StandingRule]:
        raise LookupError("rules")

    new = new_delivery()
    with pytest.raises(LookupError):
        await record.park(new, terms(broken))

    assert await status_of(database, new.id) is None
    assert await rows(database, select(approval_events)) == []


async def test_a_parked_delivery_is_never_claimed(database: Database, record: StoredApprovals) -> None:
    await record.park(new_delivery(), terms())

    claims = await ledger_of(database).claim("telegram", now_us=NOW * 2, lease_until_us=NOW * 3, limit=10)

    assert list(claims) == []


async def test_a_key_that_is_taken_gets_the_first_one_and_a_rule_loses_no_use(
    database: Database, record: StoredApprovals
) -> None:
    first, again = new_delivery(idempotency_key="same"), new_delivery(idempotency_key="same")
    await record.park(first, terms())
    await record.add_rule(rule({}, max_uses=1))

    inserted = await record.park(again, terms(choosing(again)))

    assert (inserted.created, inserted.snapshot.id) == (False, first.id)
    assert [one.use_count for one in await record.rules()] == [0]


async def test_fifty_arrivals_with_one_key_make_one_action(database: Database, record: StoredApprovals) -> None:
    arrivals = [new_delivery(idempotency_key="same") for _ in range(50)]

    inserted = await asyncio.gather(*(record.park(new, terms()) for new in arrivals))

    assert sum(one.created for one in inserted) == 1
    assert len({one.snapshot.id for one in inserted}) == 1
    assert len(await rows(database, select(pending_actions.c.id))) == 1


async def test_one_origin_cannot_fill_a_persons_day(database: Database, record: StoredApprovals) -> None:
    few = terms(most_pending=2)
    for _ in range(2):
        await record.park(new_delivery(), few)

    with pytest.raises(OverloadRejected) as caught:
        await record.park(new_delivery(), few)
    other = await record.park(new_delivery(origin_butler="health"), few)

    assert caught.value.limit_type == "approvals"
    assert other.created
    assert len(await rows(database, select(delivery_requests.c.id))) == 3


async def test_fifty_people_who_agree_at_once_release_one_delivery(database: Database, desk: DecidingDesk) -> None:
    action = await desk.park()

    people = [Principal(Role.USER, str(number)) for number in range(50)]
    agreed = [desk.approvals.approve(who, action.id) for who in people]
    outcomes = await asyncio.gather(*agreed, return_exceptions=True)

    assert codes(outcomes) == ["already_decided"] * 49
    assert await desk.types(action.id) == [ApprovalEventType.ACTION_QUEUED, ApprovalEventType.ACTION_APPROVED]
    ledger = ledger_of(database)
    claims = [await ledger.claim("telegram", now_us=NOW, lease_until_us=NOW + 1, limit=10) for _ in range(2)]
    assert [len(one) for one in claims] == [1, 0]
    assert claims[0][0].message == action.content.message


async def test_agreeing_rejecting_and_running_out_of_time_at_once_ends_in_one_of_them(
    desk: DecidingDesk, database: Database, clock: FakeClock
) -> None:
    parked = [await desk.park() for _ in range(20)]
    later = deciding_desk(database, FakeClock(clock.now_us() + 100 * HOUR_US))

    decided = [desk.approvals.approve(ANN, one.id) for one in parked]
    decided += [desk.approvals.reject(BOB, one.id, "no") for one in parked]
    await asyncio.gather(*decided, *(later.approvals.page(ANN) for _ in range(3)), return_exceptions=True)

    for one in parked:
        action = await desk.now(one.id)
        expected = Status.PENDING if action.status is ActionStatus.APPROVED else Status.FAILED
        assert (action.delivery_status, len(await desk.types(one.id))) == (expected, 2)


async def test_an_edit_is_what_is_sent_and_the_audit_knows_both_hashes(database: Database, desk: DecidingDesk) -> None:
    action = await desk.park()

    done, _ = await desk.approvals.approve(ANN, action.id, edits={"message": "At nine", "recipient": "777"})

    claims = await ledger_of(database).claim("telegram", now_us=NOW, lease_until_us=NOW + 1, limit=10)
    assert [(one.message, one.address, one.order_key) for one in claims] == [("At nine", "777", "telegram:777")]
    _, decided = await desk.record.events(action.id)
    after = content(message="At nine", address="777").hash
    assert done.edited and done.content_hash == after
    assert decided.metadata == {
        "content_hash": action.content_hash,
        "edited": ["message", "recipient"],
        "content_hash_after": after,
    }
    assert (await desk.question(action)).reason == "edited: message, recipient"


async def test_a_byte_changed_behind_our_back_is_refused_and_recorded(database: Database, desk: DecidingDesk) -> None:
    action = await desk.park()
    await change(database, update(delivery_requests).values(message_content="See you at eighT"))

    with pytest.raises(ValidationError) as caught:
        await desk.approvals.approve(ANN, action.id)

    assert codes([caught.value]) == ["content_changed"]
    assert await status_of(database, action.id) is Status.AWAITING_APPROVAL
    assert await desk.types(action.id) == [ApprovalEventType.ACTION_QUEUED, ApprovalEventType.DECISION_REFUSED]


async def test_once_it_may_be_sent_the_database_refuses_to_change_a_word(
    database: Database, desk: DecidingDesk
) -> None:
    action = await desk.park()
    await desk.approvals.approve(ANN, action.id)

    for column in ("message_content", "address", "subject", "thread", "channel", "emoji", "intent"):
        with pytest.raises(Refused):
            await change(database, update(delivery_requests).values({column: "reply" if column == "intent" else "x"}))

    assert (await desk.now(action.id)).content == action.content


async def test_a_rejection_fails_the_delivery_with_the_reason(database: Database, desk: DecidingDesk) -> None:
    action = await desk.park()

    await desk.approvals.reject(ANN, action.id, "not today")

    snapshot = await ledger_of(database).get(action.id)
    assert snapshot is not None and snapshot.failure is not None
    assert (snapshot.status, snapshot.failure.message) == (Status.FAILED, "a person rejected this message: not today")
    assert [event.reason for event in await desk.record.events(action.id)] == [None, "not today"]


async def test_what_nobody_decided_expires_when_its_time_is_over(
    database: Database, desk: DecidingDesk, clock: FakeClock
) -> None:
    """By whoever keeps the time of questions, and by whoever looks at what waits."""
    soon = await desk.park(parking={"expires_at_us": NOW})
    later = await desk.park()
    engine, times = Questions(desk.questions, clock), Timekeeper(StoredMoments(database), Marks(database), clock)

    async def take(due: Due) -> int | None:
        await engine.take(due)
        return None

    times.keep(MOMENTS, take)
    await clock.advance(3599)
    await times.look()
    await times.idle()
    assert await status_of(database, soon.id) is Status.AWAITING_APPROVAL
    await clock.advance(1)
    await times.look()
    await times.idle()

    assert await status_of(database, soon.id) is Status.FAILED
    assert await status_of(database, later.id) is Status.AWAITING_APPROVAL
    assert await desk.types(soon.id) == [ApprovalEventType.ACTION_QUEUED, ApprovalEventType.ACTION_EXPIRED]
    ended = await desk.now(soon.id)
    assert (ended.status, ended.decided_by, ended.decided_at_us) == (ActionStatus.EXPIRED, "expiry", NOW)


async def test_a_decision_that_comes_too_late_ends_it(database: Database, desk: DecidingDesk, clock: FakeClock) -> None:
    action = await desk.park(parking={"expires_at_us": NOW})
    await clock.advance(3600)

    with pytest.raises(ValidationError) as caught:
        await desk.approvals.approve(ANN, action.id)

    assert codes([caught.value]) == ["too_late"]
    found = await desk.now(action.id)
    assert (found.status, await status_of(database, action.id)) == (ActionStatus.EXPIRED, Status.FAILED)


async def test_a_standing_rule_lets_pass_and_is_counted(database: Database, record: StoredApprovals) -> None:
    made = rule({"recipient": "555"}, max_uses=3)
    await record.add_rule(made)
    new = new_delivery()

    inserted = await record.park(new, terms(choosing(new)))

    assert inserted.snapshot.status is Status.PENDING
    action = await record.action(new.id)
    assert action is not None
    assert (action.status, action.decided_by, action.rule_id) == (ActionStatus.APPROVED, f"rule:{made.id}", made.id)
    assert action.expires_at_us == terms(choosing(new)).parking.expires_at_us
    assert [one.use_count for one in await record.rules()] == [1]
    assert await event_types(record, new.id) == [ApprovalEventType.ACTION_AUTO_APPROVED]


async def test_the_last_uses_of_a_rule_go_to_as_many_as_there_are(database: Database, record: StoredApprovals) -> None:
    await record.add_rule(rule({"recipient": "555"}, max_uses=7))
    arrivals = [new_delivery() for _ in range(50)]

    async def arrive(new: NewDelivery) -> Inserted:
        return await record.park(new, terms(choosing(new)))

    inserted = await asyncio.gather(*map(arrive, arrivals))

    assert sum(one.snapshot.status is Status.PENDING for one in inserted) == 7
    assert [one.use_count for one in await record.rules()] == [7]


async def test_when_the_best_rule_is_spent_the_next_one_is_asked(database: Database, record: StoredApprovals) -> None:
    spent, spare = rule({"recipient": "555"}, max_uses=1), rule({"channel": "telegram"})
    await record.add_rule(spent)
    await record.add_rule(spare)

    def both(_: Sequence[StandingRule]) -> Sequence[StandingRule]:
        return [spent, spare]

    for _ in range(2):
        await record.park(new_delivery(), terms(both))

    assert {one.rule_id for one in await record.page(ActionStatus.APPROVED, None, 10)} == {spent.id, spare.id}


@pytest.mark.parametrize("ended", ["revoked", "expired"])
async def test_a_rule_that_ends_after_it_was_read_is_not_used(
    database: Database, record: StoredApprovals, ended: str
) -> None:
    made = rule({}, expires_at_us=START_US if ended == "expired" else None)
    await record.add_rule(made)
    if ended == "revoked":
        await record.revoke_rule(made.id, "user:ann", START_US)

    def stale(_: Sequence[StandingRule]) -> Sequence[StandingRule]:
        return [made]

    inserted = await record.park(new_delivery(), terms(stale))

    assert inserted.snapshot.status is Status.AWAITING_APPROVAL


async def test_revoking_twice_is_revoking_once(database: Database, record: StoredApprovals) -> None:
    made = rule({"recipient": "555"})
    await record.add_rule(made)

    first = await record.revoke_rule(made.id, "user:ann", NOW)
    second = await record.revoke_rule(made.id, "user:bob", NOW + 1)

    assert first == second
    assert first is not None and (first.revoked_by, first.revoked_at_us) == ("user:ann", NOW)
    assert await record.revoke_rule("no-such-rule", "user:ann", NOW) is None
    counted = select(func.count()).select_from(approval_events)
    assert (await rows(database, counted.where(approval_events.c.event_type == "rule_revoked")))[0][0] == 1


async def test_an_approval_can_make_its_rule_in_the_same_step(desk: DecidingDesk) -> None:
    action = await desk.park()
    wish = {"constraints": {"recipient": {"type": "pattern", "value": "5*"}, "subject": {"type": "any"}}}

    _, made = await desk.approvals.approve(ANN, action.id, create_rule=parse_rule_request({**wish, "max_uses": 2}))

    assert await desk.record.rules() == [made]


async def test_pages_are_newest_first_and_go_on_where_the_last_one_ended(desk: DecidingDesk) -> None:
    made = [await desk.park() for _ in range(6)]
    await desk.approvals.approve(ANN, made[0].id)
    await desk.approvals.reject(ANN, made[1].id, "no")

    first = await desk.approvals.page(ANN, limit=3)
    rest = await desk.approvals.page(ANN, cursor=first.next_cursor, limit=3)

    assert [one.id for one in [*first.actions, *rest.actions]] == [one.id for one in reversed(made[2:])]
    for status, wanted in (("approved", [made[0].id]), ("rejected", [made[1].id]), ("expired", [])):
        assert [one.id for one in (await desk.approvals.page(ANN, status=status)).actions] == wanted
    assert len((await desk.approvals.page(ANN, status="all")).actions) == 6


@pytest.mark.parametrize(
    "statement",
    [
        pytest.param(update(approval_events).values(actor="nobody"), id="update"),
        pytest.param(approval_events.delete(), id="delete"),
    ],
)
async def test_the_audit_trail_only_grows(database: Database, record: StoredApprovals, statement: Any) -> None:
    await record.park(new_delivery(), terms())
    before = await rows(database, select(approval_events))

    with pytest.raises(Refused):
        await change(database, statement)

    assert await rows(database, select(approval_events)) == before != []


async def test_postgres_does_not_let_the_audit_trail_be_emptied(tmp_path: Path, request: pytest.FixtureRequest) -> None:
    async with opened_database("postgres", tmp_path, request) as database:
        with pytest.raises(Refused):
            await change(database, text("TRUNCATE messenger.approval_events"))


async def test_an_event_is_about_an_action_or_a_rule(database: Database) -> None:
    event = insert(approval_events).values(
        id="e", event_type="action_queued", actor="x", event_metadata="{}", occurred_at=0
    )

    with pytest.raises(Refused):
        await change(database, event)


async def test_the_database_itself_takes_a_decision_only_once(database: Database, desk: DecidingDesk) -> None:
    action = await desk.park()
    await desk.approvals.reject(ANN, action.id, "no")

    with pytest.raises(Refused):
        await change(database, update(questions).values(answered_by="{}"))
    with pytest.raises(Refused):
        await change(database, update(delivery_requests).values(status="pending"))


async def test_the_database_itself_counts_no_use_too_many(database: Database, record: StoredApprovals) -> None:
    await record.add_rule(rule({}, max_uses=1))

    with pytest.raises(Refused):
        await change(database, update(approval_rules).values(use_count=2))


async def test_the_migration_makes_the_tables_the_code_describes(database: Database) -> None:
    def columns(connection: Connection) -> dict[str, list[str]]:
        schema = "messenger" if connection.dialect.name == "postgresql" else None
        return {
            table.name: [column["name"] for column in inspect(connection).get_columns(table.name, schema=schema)]
            for table in (pending_actions, approval_rules, approval_events)
        }

    assert await database.read(columns) == {
        table.name: list(table.c.keys()) for table in (pending_actions, approval_rules, approval_events)
    }


async def test_a_store_that_is_gone_parks_nothing_and_says_so(tmp_path: Path) -> None:
    async with opened_file(tmp_path) as database:
        await change(database, text("DROP TABLE approval_events"))
        record, new = StoredApprovals(database, MINT.mint), new_delivery()

        with pytest.raises(PostroomError, match="store is not available"):
            await record.park(new, terms())

        assert await status_of(database, new.id) is None
