"""Corrections on either database: one transaction each, one winner, and nothing that a kill could cut in half."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest
from sqlalchemy import Connection, select
from tests.approvals.parked import deciding_desk
from tests.clock import FakeClock
from tests.opened_database import ledger_of
from tests.support.sample_deliveries import LEASE, LEASE_US, NOON_US, ending, new_delivery

from postroom.approvals.model import ActionStatus, Parking
from postroom.approvals.store.steps import ParkedDeliveries, StandingTerms
from postroom.delivery.afterwards.rules import CorrectionAct, CorrectionStanding, How, KeptCorrection
from postroom.delivery.afterwards.store import StoredCorrections
from postroom.delivery.model import NewDelivery
from postroom.delivery.store.tables import delivery_corrections, delivery_requests
from postroom.kernel.database.engine import Database
from postroom.kernel.values.errors import ValidationError
from postroom.kernel.values.ids import DeliveryId, IdMint
from postroom.kernel.values.principal import OPERATOR
from postroom.message.delivery import DeliveryEvent, Format, Receipt, Status
from postroom.message.wishes import Risk

MINT = IdMint()
LATER_US = NOON_US + 60_000_000
TERMS = StandingTerms(
    parking=Parking(risk=Risk.MEDIUM, expires_at_us=LATER_US * 2, most_pending=10), choose=lambda rules: ()
)


def record(database: Database) -> StoredCorrections:
    return StoredCorrections(database, MINT.mint, ParkedDeliveries())


def kept(new: NewDelivery, act: CorrectionAct = CorrectionAct.REVISE, how: How = How.IN_PLACE) -> KeptCorrection:
    return KeptCorrection(
        id=MINT.mint(LATER_US),
        delivery_id=new.id,
        act=act,
        how=how,
        version=2,
        actor="butler:health",
        fingerprint="f",
        at_us=LATER_US,
    )


def worded(seen: CorrectionStanding, message: str = "Dinner at 9") -> NewDelivery:
    return seen.worded(message=message, subject=None, format=Format.PLAIN, envelope=seen.envelope)


async def stored(database: Database, **changes: object) -> tuple[NewDelivery, CorrectionStanding]:
    new = new_delivery(message="Dinner at 8", **changes)
    await ledger_of(database).insert(new, None)
    return new, await seen(database, new)


async def seen(database: Database, new: NewDelivery) -> CorrectionStanding:
    found = await record(database).standing(new.id)
    assert found is not None
    return found


async def row(database: Database, delivery_id: DeliveryId) -> dict[str, object]:
    def work(connection: Connection) -> dict[str, object]:
        found = connection.execute(select(delivery_requests).where(delivery_requests.c.id == delivery_id))
        return dict(found.mappings().one())

    return await database.read(work)


async def many(database: Database) -> int:
    return len(await database.read(lambda connection: connection.execute(select(delivery_corrections)).all()))


@pytest.mark.requirement("content:not-yet-sent-is-changed-in-place")
async def test_a_pending_row_is_worded_anew_and_keeps_its_time_and_its_key(database: Database) -> None:
    new, before = await stored(database)

    snapshot = await record(database).reword(before, worded(before), kept(new), None)

    after = await row(database, new.id)
    assert snapshot is not None and snapshot.status is Status.PENDING
    assert (after["message_content"], after["fingerprint"]) == ("Dinner at 9", new.fingerprint)
    assert after["not_before"] == NOON_US


async def test_what_was_claimed_meanwhile_is_left_alone(database: Database) -> None:
    new, before = await stored(database)
    await ledger_of(database).claim("telegram", now_us=NOON_US, lease_until_us=LEASE_US, limit=1)

    reworded = await record(database).reword(before, worded(before), kept(new), None)
    withdrawn = await record(database).withdraw(before, kept(new, CorrectionAct.RECALL), "withdrawn")

    assert (reworded, withdrawn, await many(database)) == (None, None, 0)
    assert (await row(database, new.id))["message_content"] == "Dinner at 8"


async def test_of_two_corrections_that_saw_the_same_one_is_written(database: Database) -> None:
    new, before = await stored(database)
    one, two = record(database), record(database)

    done = await asyncio.gather(
        one.reword(before, worded(before, "One"), kept(new), None),
        two.reword(before, worded(before, "Two"), kept(new), None),
    )

    assert sum(each is not None for each in done) == 1
    assert await many(database) == 1


async def test_of_a_claim_and_a_withdrawal_one_wins(database: Database) -> None:
    for number in range(8):
        new, before = await stored(database, channel=f"race-{number}", address=str(number))

        claimed, withdrawn = await asyncio.gather(
            ledger_of(database).claim(f"race-{number}", now_us=LATER_US, lease_until_us=LEASE_US, limit=1),
            record(database).withdraw(before, kept(new, CorrectionAct.RECALL), "withdrawn by its sender"),
        )

        assert bool(claimed) is (withdrawn is None)
        status = (await row(database, new.id))["status"]
        assert status == ("in_progress" if claimed else "failed")


@pytest.mark.requirement("content:not-yet-sent-is-withdrawn-in-place")
async def test_what_is_withdrawn_is_over_and_says_so(database: Database) -> None:
    new, before = await stored(database)

    snapshot = await record(database).withdraw(before, kept(new, CorrectionAct.RECALL), "withdrawn by its sender")

    assert snapshot is not None and snapshot.failure is not None
    assert (snapshot.status, snapshot.failure.message) == (Status.FAILED, "withdrawn by its sender")
    assert await ledger_of(database).claim("telegram", now_us=LATER_US, lease_until_us=LEASE_US, limit=1) == []


async def test_what_may_have_left_does_not_wait(database: Database) -> None:
    ledger, new = ledger_of(database), new_delivery()
    claim = (await ledger.insert(new, LEASE)).claim
    assert claim is not None
    await ledger.advance(claim, Receipt("76"), now_us=NOON_US, lease_until_us=LEASE_US)
    [claim] = await ledger.reclaim(expired_before_us=LEASE_US + 1, now_us=NOON_US, lease_until_us=LEASE_US, limit=1)
    await ledger.settle(ending(claim, DeliveryEvent.RETRY))

    found = await seen(database, new)

    assert (found.status, found.waits, found.is_under_way) == (Status.PENDING, False, True)


@pytest.mark.requirement("content:a-revised-text-is-approved-anew")
async def test_what_was_approved_and_not_yet_sent_is_parked_anew(database: Database) -> None:
    desk, new = deciding_desk(database, FakeClock(NOON_US)), new_delivery(message="Dinner at 8")
    await desk.record.park(new, TERMS)
    agreed = await desk.now(new.id)
    await desk.approvals.approve(OPERATOR, new.id, content_hash=agreed.content_hash)

    before = await seen(database, new)
    snapshot = await record(database).reword(before, worded(before), kept(new), TERMS)
    again = await desk.now(new.id)

    assert before.status is Status.PENDING
    assert snapshot is not None and snapshot.status is Status.AWAITING_APPROVAL
    assert (again.status, again.revised, again.decided_by) == (ActionStatus.PENDING, True, None)
    assert again.content_hash == again.content.hash != agreed.content_hash


@pytest.mark.requirement("content:a-revised-text-is-approved-anew")
async def test_of_an_approval_and_a_new_text_one_wins(database: Database) -> None:
    desk = deciding_desk(database, FakeClock(NOON_US))
    for number in range(6):
        new = new_delivery(message="Dinner at 8", address=str(number))
        await desk.record.park(new, TERMS)
        old, before = (await desk.now(new.id)).content_hash, await seen(database, new)

        decided, reworded = await asyncio.gather(
            desk.approvals.approve(OPERATOR, new.id, content_hash=old),
            record(database).reword(before, worded(before), kept(new), TERMS),
            return_exceptions=True,
        )

        approved = not isinstance(decided, ValidationError)
        assert approved is (reworded is None)
        after = await row(database, new.id)
        wanted = ("pending", "Dinner at 8") if approved else ("awaiting_approval", "Dinner at 9")
        assert (after["status"], after["message_content"]) == wanted


async def test_a_correction_finds_its_delivery_by_the_key_it_was_given_before(database: Database) -> None:
    new, before = await stored(database)
    written = replace(kept(new, how=How.EDIT), carried_key="its-own-key")

    assert await record(database).keep(before, written)
    cut_short = (await seen(database, new)).corrections  # a kill here has lost nothing that was answered
    carrier = new_delivery(idempotency_key="its-own-key")
    await ledger_of(database).insert(carrier, None)

    assert [(one.happened, one.stands) for one in cut_short] == [(False, False)]
    [found] = (await seen(database, new)).corrections
    assert (found.carried_by, found.status, found.stands) == (carrier.id, Status.PENDING, True)
