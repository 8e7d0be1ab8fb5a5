"""The ledger: one suite for SQLite and PostgreSQL; how rows are settled, guarded and doubted."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest
from sqlalchemy.exc import DBAPIError
from tests.delivery.stored import Store
from tests.support.sample_deliveries import LEASE_US, NOON_US, SECOND, ending, mint, new_delivery

from postroom.delivery.model import Refusal, WaitKind, WaitReason
from postroom.delivery.rules.retry import failed
from postroom.delivery.store.tables import (
    delivery_attempts,
    delivery_dead_letter,
    delivery_receipts,
    delivery_refusals,
    delivery_requests,
)
from postroom.kernel.database.engine import Database
from postroom.kernel.http.answers import throttled
from postroom.kernel.values.errors import ErrorClass
from postroom.message.delivery import (
    TRANSITIONS,
    AttemptResult,
    AttemptVerdict,
    DeliveryEvent,
    DeliveryFailure,
    Receipt,
    Status,
)

EDGES = {(before, after) for (before, _), after in TRANSITIONS.items()}


# -- settle ------------------------------------------------------------------------------------------------------


async def test_a_delivery_is_settled_with_its_attempt_and_its_receipt(store: Store) -> None:
    claim = await store.leased(new_delivery())
    await store.ledger.mark_sending(claim, now_us=NOON_US, lease_until_us=LEASE_US)

    assert await store.ledger.settle(ending(claim, DeliveryEvent.DELIVER))

    row = await store.row(claim.id)
    assert (row["status"], row["attempts"], row["calls"], row["provider_delivery_id"]) == ("delivered", 1, 1, "77")
    assert (row["sending"], row["lease_until"], row["terminal_at"]) == (False, None, NOON_US + 1000)
    [attempt] = await store.rows(delivery_attempts)
    assert (attempt["attempt_number"], attempt["outcome"], attempt["latency_ms"]) == (1, "success", 1.0)
    [receipt] = await store.rows(delivery_receipts)
    assert (receipt["part"], receipt["provider_delivery_id"], receipt["receipt_type"]) == (1, "77", "sent")
    assert not await store.ledger.settle(ending(claim, DeliveryEvent.DELIVER))  # once
    assert len(await store.rows(delivery_attempts)) == 1


async def test_a_retry_keeps_its_reason_and_counts_its_attempts(store: Store) -> None:
    claim = await store.leased(new_delivery())
    await store.ledger.settle(ending(claim, DeliveryEvent.RETRY, delay_seconds=2))

    found = await store.ledger.get(claim.id)

    assert found is not None
    assert (found.status, found.attempts, found.not_before_us) == (Status.PENDING, 1, NOON_US + 2 * SECOND)
    waiting = WaitReason(kind=WaitKind.RETRY, detail="target_unavailable: the provider answered 503")
    assert found.waiting == waiting
    assert found.failure is None
    [again] = await store.claim(now_us=NOON_US + 2 * SECOND)
    assert (again.fence, again.attempts, again.calls, again.sending) == (2, 1, 1, False)
    await store.ledger.settle(ending(again, DeliveryEvent.DELIVER))
    assert [row["attempt_number"] for row in await store.rows(delivery_attempts)] == [1, 2]


async def test_a_wait_that_was_cut_is_kept_with_what_the_provider_asked_for(store: Store) -> None:
    claim, error = await store.leased(new_delivery()), throttled("telegram answered 429", 10.0**9)
    verdict = AttemptVerdict(DeliveryEvent.POSTPONE, error.retry_after_seconds or 0.0)

    await store.ledger.settle(failed(claim, error, verdict, started_us=NOON_US, now_us=NOON_US, dead_letter_id="d"))

    found = await store.ledger.get(claim.id)
    assert found is not None
    assert found.waiting == WaitReason(kind=WaitKind.THROTTLE, detail=error.message, asked_seconds=10.0**9)
    assert found.not_before_us == NOON_US + 3600 * SECOND


@pytest.mark.requirement("messenger:dead-letter-management")
@pytest.mark.parametrize(
    ("event", "reason", "outcome"),
    [
        (DeliveryEvent.EXHAUST, "retries_exhausted", AttemptResult.RETRYABLE_ERROR),
        (DeliveryEvent.HOLD, "outcome_uncertain", AttemptResult.UNCERTAIN),
    ],
)
async def test_what_cannot_be_delivered_is_quarantined_with_its_reason(
    store: Store, event: DeliveryEvent, reason: str, outcome: AttemptResult
) -> None:
    claim = await store.leased(new_delivery())

    assert await store.ledger.settle(ending(claim, event))

    [letter] = await store.rows(delivery_dead_letter)
    assert (letter["delivery_request_id"], letter["quarantine_reason"]) == (claim.id, reason)
    assert (letter["total_attempts"], letter["replay_count"], letter["created_at"]) == (1, 0, NOON_US)
    [attempt] = await store.rows(delivery_attempts)
    assert attempt["outcome"] == outcome
    found = await store.ledger.get(claim.id)
    assert found is not None
    assert found.status is Status.DEAD_LETTERED
    assert found.failure is not None
    assert (found.failure.error_class, found.failure.message) == (letter["error_class"], letter["error_summary"])


async def test_a_settlement_is_written_whole_or_not_at_all(store: Store) -> None:
    claim = await store.leased(new_delivery())
    done = ending(claim, DeliveryEvent.EXHAUST)
    assert done.quarantine is not None
    impossible = replace(done, quarantine=replace(done.quarantine, reason="no such reason"))

    with pytest.raises(Exception, match="quarantine_reason"):
        await store.ledger.settle(impossible)

    assert (await store.row(claim.id))["status"] == "in_progress"
    for table in (delivery_attempts, delivery_receipts, delivery_dead_letter):
        assert await store.rows(table) == []
    assert await store.ledger.settle(done)


async def test_a_refusal_leaves_a_trace_and_does_not_burn_its_key(store: Store) -> None:
    new = new_delivery()
    refusal = Refusal(
        id=mint(),
        idempotency_key=new.idempotency_key,
        request_id=new.request_id,
        origin_butler=new.origin_butler,
        channel=new.channel,
        intent=new.intent,
        target_identity=new.target_identity,
        failure=DeliveryFailure(ErrorClass.OVERLOAD, "too many", 1.5),
        limit_type="recipient",
        trace_id=None,
        created_at_us=NOON_US,
    )

    await asyncio.gather(store.ledger.refuse(refusal), store.ledger.refuse(replace(refusal, id=mint())))

    rows = await store.rows(delivery_refusals)
    assert [(row["error_class"], row["limit_type"], row["retry_after_seconds"]) for row in rows] == [
        ("overload_rejected", "recipient", 1.5)
    ] * 2
    assert await store.ledger.find(new.idempotency_key) is None
    assert (await store.ledger.insert(new, None)).created


# -- the database's own guard ------------------------------------------------------------------------------------


@pytest.mark.parametrize("before", Status, ids=str)
async def test_the_database_itself_refuses_every_move_that_is_not_in_the_table(store: Store, before: Status) -> None:
    possible = []
    for after in Status:
        new = new_delivery(status=before)
        await store.ledger.insert(new, None)
        if await _moves(store.database, new.id, after):
            possible.append((before, after))

    assert set(possible) == {edge for edge in EDGES if edge[0] is before} | {(before, before)}


async def _moves(database: Database, delivery_id: str, status: Status) -> bool:
    changed = delivery_requests.update().where(delivery_requests.c.id == delivery_id).values(status=str(status))
    try:
        await database.write(lambda connection: connection.execute(changed).rowcount)
    except DBAPIError:
        return False
    return True


# -- doubt -------------------------------------------------------------------------------------------------------


@pytest.mark.requirement("chan:ask-first")
async def test_a_lost_worker_s_delivery_is_in_doubt_since_its_mark(store: Store) -> None:
    claim = await store.leased(new_delivery())
    await store.ledger.mark_sending(claim, now_us=NOON_US + 7, lease_until_us=LEASE_US)

    [taken] = await store.ledger.reclaim(
        expired_before_us=LEASE_US + 1, now_us=LEASE_US + 1, lease_until_us=LEASE_US + SECOND, limit=10
    )

    assert (taken.sending, taken.doubtful_since_us) == (True, NOON_US + 7)


async def test_one_that_was_lost_before_its_mark_is_not(store: Store) -> None:
    await store.leased(new_delivery())

    [taken] = await store.ledger.reclaim(
        expired_before_us=LEASE_US + 1, now_us=LEASE_US + 1, lease_until_us=LEASE_US + SECOND, limit=10
    )

    assert (taken.sending, taken.doubtful_since_us) == (False, None)


async def test_doubt_stays_until_the_part_has_arrived(store: Store) -> None:
    claim = await store.leased(new_delivery(channel="doubt"))
    await store.ledger.settle(replace(ending(claim, DeliveryEvent.RETRY), doubtful_since_us=NOON_US))

    [claim] = await store.claim("doubt", now_us=NOON_US + SECOND)
    await store.ledger.advance(claim, Receipt("1"), now_us=NOON_US, lease_until_us=LEASE_US)

    assert claim.doubtful_since_us == NOON_US
    assert (await store.row(claim.id))["doubtful_since"] is None


async def test_a_copy_is_announced_before_it_leaves(store: Store) -> None:
    claim = await store.leased(new_delivery())

    repeats = replace(claim, possible_duplicate=True)
    await store.ledger.mark_sending(repeats, now_us=NOON_US, lease_until_us=LEASE_US)

    row = await store.row(claim.id)
    assert (row["sending"], row["possible_duplicate"]) == (True, True)
