"""The ledger: one suite for SQLite and PostgreSQL; how rows are written, found, claimed and marked."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace

import pytest
from tests.delivery.stored import Store
from tests.support.sample_deliveries import (
    AT_ONCE,
    ENDINGS,
    LEASE,
    LEASE_US,
    NOON_US,
    SECOND,
    ending,
    mint,
    new_delivery,
)

from postroom.delivery.model import Claim, Inserted, Lease
from postroom.delivery.store.tables import delivery_attempts, delivery_dead_letter, delivery_receipts, delivery_requests
from postroom.kernel.values.ids import DeliveryId
from postroom.message.delivery import DeliveryEvent, Priority, Receipt, Status

LINES = (("a", 5), ("b", 3), ("c", 2))

# -- insert ------------------------------------------------------------------------------------------------------


async def test_a_row_that_is_sent_at_once_is_written_with_the_mark_unless_something_is_ahead_of_it(
    store: Store,
) -> None:
    first, behind = new_delivery(address="1"), new_delivery(address="1")

    inserted, waiting = await asyncio.gather(*(store.ledger.insert(one, AT_ONCE) for one in (first, behind)))

    assert inserted.claim is not None
    assert (inserted.claim, waiting.claim) == (first.claimed(sending=True), None)
    rows = [await store.row(one.id) for one in (first, behind)]
    assert [(row["status"], row["fence"], row["sending"]) for row in rows] == [
        ("in_progress", 1, True),
        ("pending", 1, False),
    ]
    [taken] = await store.ledger.reclaim(
        expired_before_us=LEASE_US + 1, now_us=LEASE_US + 1, lease_until_us=LEASE_US + SECOND, limit=10
    )
    assert taken.sending, "nobody can know whether it has left"


async def test_a_marked_row_found_again_has_to_be_marked_again(store: Store) -> None:
    new = new_delivery()
    await store.ledger.insert(new, AT_ONCE)

    assert (await store.ledger.insert(new, AT_ONCE)).claim == new.claimed(sending=False)


async def test_a_row_written_again_because_the_answer_was_lost_is_still_one_row_and_one_claim(store: Store) -> None:
    new, waiting = new_delivery(), new_delivery()
    first = await store.leased(new)
    await store.ledger.insert(waiting, None)

    again, waiting_again = await store.ledger.insert(new, LEASE), await store.ledger.insert(waiting, LEASE)

    assert (again.created, again.claim) == (True, first)
    assert (waiting_again.created, waiting_again.claim) == (True, None)
    assert len(await store.rows(delivery_requests)) == 2


@pytest.mark.parametrize("lease", [None, LEASE, AT_ONCE], ids=["no lease", "leased", "marked"])
async def test_a_row_that_waited_and_was_claimed_before_it_is_found_again_belongs_to_the_one_who_claimed_it(
    store: Store, lease: Lease | None
) -> None:
    new = new_delivery()
    await store.ledger.insert(new, None)
    [claimed] = await store.claim()

    again = await store.ledger.insert(new, lease)

    ours = again.claim or new.claimed(sending=True)
    assert not await store.ledger.mark_sending(ours, now_us=NOON_US, lease_until_us=LEASE_US)
    assert not await store.ledger.settle(ending(ours, DeliveryEvent.RELEASE))
    assert await store.ledger.mark_sending(claimed, now_us=NOON_US, lease_until_us=LEASE_US)


async def test_a_claim_given_at_insert_is_the_claim_that_a_later_reader_would_get(store: Store) -> None:
    new = new_delivery(subject="S", emoji="👍", thread="9", trace_id="t" * 32, priority=Priority.LOW)
    given = await store.leased(new)

    [taken] = await store.ledger.reclaim(
        expired_before_us=LEASE_US + 1, now_us=LEASE_US, lease_until_us=LEASE_US + SECOND, limit=5
    )

    assert replace(taken, fence=1) == given


async def test_a_row_that_awaits_approval_is_never_leased_nor_claimed(store: Store) -> None:
    new = new_delivery(status=Status.AWAITING_APPROVAL)

    inserted = await store.ledger.insert(new, LEASE)

    assert (inserted.claim, inserted.snapshot.status) == (None, Status.AWAITING_APPROVAL)
    assert await store.claim() == []
    assert await store.ledger.next_due_us(0) is None


@pytest.mark.requirement("messenger:duplicate-detection", "messenger:idempotent-delivery-requests")
async def test_a_second_row_under_one_key_is_the_first_one(store: Store) -> None:
    first = new_delivery()
    again = replace(first, id=DeliveryId(mint()), message="other")
    await store.ledger.insert(first, LEASE)

    inserted = await store.ledger.insert(again, LEASE)

    assert (inserted.created, inserted.claim, inserted.snapshot.id) == (False, None, first.id)
    assert len(await store.rows(delivery_requests)) == 1


async def test_one_key_many_times_at_once_makes_one_row(store: Store) -> None:
    keyed = [replace(new_delivery(), idempotency_key="same", address="1") for _ in range(200)]

    inserted = await asyncio.gather(*(store.ledger.insert(one, LEASE) for one in keyed))

    assert sum(one.created for one in inserted) == 1
    assert sum(one.claim is not None for one in inserted) == 1
    assert len({one.snapshot.id for one in inserted}) == 1
    assert len(await store.rows(delivery_requests)) == 1


async def test_a_bad_row_spoils_nothing_for_those_written_with_it(store: Store) -> None:
    bad = new_delivery(priority=Priority.HIGH, created_at_us=None)
    good = [new_delivery() for _ in range(5)]

    results = await asyncio.gather(
        *(store.ledger.insert(one, None) for one in [*good[:2], bad, *good[2:]]), return_exceptions=True
    )

    failed = [one for one in results if isinstance(one, BaseException)]
    assert len(failed) == 1
    assert all(isinstance(one, Inserted) and one.created for one in results if one is not failed[0])


# -- find and get ------------------------------------------------------------------------------------------------


async def test_what_was_never_written_is_not_found(store: Store) -> None:
    assert await store.ledger.find("nothing") is None
    assert await store.ledger.get(DeliveryId("nothing")) is None


@pytest.mark.requirement("messenger:replay-lineage")
async def test_after_a_successful_replay_the_original_key_answers_with_it(store: Store) -> None:
    original = new_delivery()
    await store.ledger.settle(ending(await store.leased(original), DeliveryEvent.EXHAUST))
    replays = [
        new_delivery(replay_of=original.id, replay_number=number, idempotency_key=f"{original.id}::replay-{number}")
        for number in (1, 2)
    ]
    for replay in replays:
        claim = await store.leased(replay)
        before = await store.ledger.find(original.idempotency_key)
        assert before is not None
        assert before.id == original.id  # an unfinished or failed replay changes nothing
        await store.ledger.settle(
            ending(claim, DeliveryEvent.EXHAUST if replay is replays[0] else DeliveryEvent.DELIVER)
        )

    found = await store.ledger.find(original.idempotency_key)
    again = await store.ledger.insert(replace(original, id=DeliveryId(mint())), LEASE)

    assert found is not None
    assert (found.id, found.status) == (replays[1].id, Status.DELIVERED)
    assert (again.created, again.snapshot.id) == (False, replays[1].id)


# -- order -------------------------------------------------------------------------------------------------------


async def test_within_one_batch_only_the_first_to_an_address_is_leased(store: Store) -> None:
    batch = [new_delivery(address="1") for _ in range(5)]

    inserted = await asyncio.gather(*(store.ledger.insert(one, LEASE) for one in batch))

    assert [one.snapshot.status for one in inserted] == [Status.IN_PROGRESS, *[Status.PENDING] * 4]
    assert [one.claim is not None for one in inserted] == [True, False, False, False, False]


async def test_senders_to_one_address_take_turns_and_each_keeps_its_order(store: Store) -> None:
    texts = {name: [new_delivery(address="1", origin_butler=name) for _ in range(count)] for name, count in LINES}
    for one in sorted((one for line in texts.values() for one in line), key=lambda one: one.origin_butler):
        await store.ledger.insert(one, None)

    left = []
    while claims := await store.claim():
        [claim] = claims  # never two at once
        left.append(claim)
        await store.ledger.settle(ending(claim, DeliveryEvent.DELIVER))

    assert [claim.origin_butler for claim in left] == [*"abcabcabaa"]
    for name, line in texts.items():
        assert [claim.id for claim in left if claim.origin_butler == name] == [one.id for one in line]


async def test_an_alarm_passes_what_others_send_to_its_address_but_nothing_of_its_own_sender(store: Store) -> None:
    first, second = (new_delivery(address="1", origin_butler="a") for _ in range(2))
    own = new_delivery(address="1", origin_butler="b", priority=Priority.LOW)
    alarm = new_delivery(address="1", origin_butler="b", priority=Priority.HIGH)
    louder = new_delivery(address="1", origin_butler="c", priority=Priority.HIGH)
    claim = await store.leased(first)
    for one in (second, own, alarm, louder):
        await store.ledger.insert(one, LEASE)
    assert await store.claim() == []  # not even an alarm goes beside what is being sent

    left = []
    while claim:
        await store.ledger.settle(ending(claim, DeliveryEvent.DELIVER))
        claim = next(iter(await store.claim()), None)
        left.append(claim and claim.id)

    assert left == [louder.id, second.id, own.id, alarm.id, None]


async def test_the_same_address_on_another_channel_is_another_line(store: Store) -> None:
    await store.leased(new_delivery(address="1"))

    other = await store.ledger.insert(new_delivery(address="1", channel="email"), LEASE)

    assert other.claim is not None


# -- claim -------------------------------------------------------------------------------------------------------


async def test_a_claim_takes_its_channel_only_and_what_is_due_only(store: Store) -> None:
    due, mail = new_delivery(), new_delivery(channel="email")
    later = await store.leased(new_delivery())
    await store.ledger.settle(ending(later, DeliveryEvent.POSTPONE, delay_seconds=10))
    await store.ledger.insert(due, None)
    await store.ledger.insert(mail, None)

    assert [one.id for one in await store.claim()] == [due.id]
    assert await store.claim(now_us=NOON_US + 10 * SECOND - 1) == []
    assert [one.id for one in await store.claim(now_us=NOON_US + 10 * SECOND)] == [later.id]


async def test_what_matters_more_is_claimed_first(store: Store) -> None:
    ranked = [new_delivery(priority=priority) for priority in (Priority.LOW, Priority.HIGH, Priority.MEDIUM)]
    for one in ranked:
        await store.ledger.insert(one, None)

    taken = [(await store.claim(limit=1))[0].priority for _ in ranked]

    assert taken == [Priority.HIGH, Priority.MEDIUM, Priority.LOW]


async def test_every_origin_gets_its_share_of_a_claim(store: Store) -> None:
    for _ in range(50):
        await store.ledger.insert(new_delivery(origin_butler="noisy"), None)
    for origin in ("calm", "quiet"):
        await store.ledger.insert(new_delivery(origin_butler=origin), None)

    claims = await store.claim(limit=9)

    origins = [claim.origin_butler for claim in claims]
    assert {name: origins.count(name) for name in set(origins)} == {"noisy": 3, "calm": 1, "quiet": 1}


async def test_the_next_due_moment_is_the_earliest_that_lies_ahead(store: Store) -> None:
    assert await store.ledger.next_due_us(NOON_US) is None
    for delay in (20, 10, 30):
        await store.ledger.settle(
            ending(await store.leased(new_delivery()), DeliveryEvent.POSTPONE, delay_seconds=delay)
        )

    assert await store.ledger.next_due_us(NOON_US) == NOON_US + 10 * SECOND
    assert await store.ledger.next_due_us(NOON_US + 10 * SECOND) == NOON_US + 20 * SECOND
    assert await store.ledger.next_due_us(NOON_US + 30 * SECOND) is None


# -- mark, advance, reclaim --------------------------------------------------------------------------------------


async def test_advancing_again_after_a_lost_answer_is_not_a_lost_fence(store: Store) -> None:
    claim = await store.leased(new_delivery())
    assert await store.ledger.advance(claim, Receipt("10"), now_us=NOON_US, lease_until_us=LEASE_US)

    assert await store.ledger.advance(claim, Receipt("10"), now_us=NOON_US, lease_until_us=LEASE_US)

    assert (await store.row(claim.id))["parts_done"] == 1
    assert len(await store.rows(delivery_receipts)) == 1


async def test_nobody_takes_over_what_he_has_in_hand_himself(store: Store) -> None:
    mine, lost = await store.leased(new_delivery()), await store.leased(new_delivery())

    taken = await store.ledger.reclaim(
        expired_before_us=LEASE_US + 1,
        now_us=LEASE_US,
        lease_until_us=LEASE_US + 30 * SECOND,
        limit=10,
        in_hand=[mine.id],
    )

    assert [claim.id for claim in taken] == [lost.id]


async def test_what_was_written_before_the_clock_was_set_back_is_dated_anew(store: Store) -> None:
    retried, leased = await store.leased(new_delivery()), await store.leased(new_delivery())
    await store.ledger.mark_sending(leased, now_us=NOON_US, lease_until_us=LEASE_US)
    await store.ledger.settle(
        replace(ending(retried, DeliveryEvent.RETRY), at_us=NOON_US, not_before_us=NOON_US + 7 * SECOND)
    )
    yesterday = NOON_US - 86_400 * SECOND

    assert (
        await store.ledger.reclaim(
            expired_before_us=yesterday, now_us=yesterday, lease_until_us=yesterday + 30 * SECOND, limit=10
        )
        == []
    )

    assert (await store.row(retried.id))["not_before"] == yesterday + 7 * SECOND
    assert (await store.row(leased.id))["lease_until"] == yesterday + (LEASE_US - NOON_US)
    assert (await store.row(retried.id))["doubtful_since"] is None
    assert (await store.row(leased.id))["doubtful_since"] == yesterday - 86_400 * SECOND, "nobody knows when it left"


async def test_a_takeover_is_bounded_and_happens_once(store: Store) -> None:
    for _ in range(6):
        await store.leased(new_delivery())

    async def reclaim() -> Sequence[Claim]:
        return await store.ledger.reclaim(
            expired_before_us=LEASE_US + 1, now_us=LEASE_US, lease_until_us=LEASE_US + 30 * SECOND, limit=4
        )

    passes = [await reclaim(), await reclaim(), await reclaim()]

    assert [len(one) for one in passes] == [4, 2, 0]
    assert len({claim.id for claims in passes for claim in claims}) == 6


@pytest.mark.parametrize("step", ["mark", "advance", *ENDINGS])
async def test_a_stale_fence_changes_nothing(store: Store, step: str) -> None:
    stale = await store.leased(new_delivery())
    await store.ledger.reclaim(
        expired_before_us=LEASE_US + 1, now_us=LEASE_US, lease_until_us=LEASE_US + 30 * SECOND, limit=10
    )
    before = await store.row(stale.id)

    match step:
        case "mark":
            changed = await store.ledger.mark_sending(stale, now_us=NOON_US, lease_until_us=LEASE_US)
        case "advance":
            changed = await store.ledger.advance(stale, Receipt("1"), now_us=NOON_US, lease_until_us=LEASE_US)
        case _:
            changed = await store.ledger.settle(ending(stale, DeliveryEvent(step)))

    assert not changed
    assert await store.row(stale.id) == before
    for table in (delivery_attempts, delivery_receipts, delivery_dead_letter):
        assert await store.rows(table) == []


async def test_a_stale_fence_in_the_same_breath_as_the_valid_one_changes_nothing(store: Store) -> None:
    stale = await store.leased(new_delivery())
    [owner] = await store.ledger.reclaim(
        expired_before_us=LEASE_US + 1, now_us=LEASE_US, lease_until_us=LEASE_US + 30 * SECOND, limit=10
    )

    marked = await asyncio.gather(
        *(store.ledger.mark_sending(one, now_us=NOON_US, lease_until_us=LEASE_US) for one in (stale, owner))
    )
    settled = await asyncio.gather(
        store.ledger.settle(ending(stale, DeliveryEvent.EXHAUST)),
        store.ledger.settle(ending(owner, DeliveryEvent.DELIVER)),
    )

    assert (marked, settled) == ([False, True], [False, True])
    assert (await store.row(owner.id))["status"] == "delivered"
    assert len(await store.rows(delivery_attempts)) == 1
    assert await store.rows(delivery_dead_letter) == []
