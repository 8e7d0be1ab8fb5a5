"""What has arrived is known by the provider's names for its parts, on either database."""

from __future__ import annotations

from dataclasses import replace

import pytest
from sqlalchemy import Connection
from tests.opened_database import ledger_of
from tests.support.sample_deliveries import LEASE, LEASE_US, NOON_US, ending, new_delivery

from postroom.delivery.afterwards.store import StoredSent
from postroom.delivery.model import SentMessage
from postroom.delivery.rules.retry import delivered
from postroom.kernel.database.engine import Database
from postroom.kernel.values.ids import DeliveryId
from postroom.message.delivery import DeliveryEvent, Receipt
from postroom.message.markup import Button, Markup, Revision
from postroom.overview.story import trace

CARD = Markup(
    buttons=((Button(label="Ja ✓", token="q1:canary-token"),), (Button(label="Open", url="https://x/canary"),))
)


async def test_all_parts_are_named_in_order_once_the_last_has_arrived(database: Database) -> None:
    ledger, new = ledger_of(database), new_delivery(address="5150")
    claim = (await ledger.insert(new, LEASE)).claim
    assert claim is not None

    await ledger.advance(claim, Receipt("76"), now_us=NOON_US, lease_until_us=LEASE_US)
    before = await StoredSent(database).sent(new.id)
    [claim] = await ledger.reclaim(expired_before_us=LEASE_US + 1, now_us=NOON_US, lease_until_us=LEASE_US, limit=1)
    await ledger.settle(ending(claim, DeliveryEvent.DELIVER))

    assert before is None
    assert await StoredSent(database).sent(new.id) == SentMessage(
        id=new.id, origin_butler="health", channel="telegram", address="5150", provider_ids=("76", "77")
    )


async def test_buttons_and_revisions_come_back_with_the_claim(database: Database) -> None:
    ledger = ledger_of(database)
    revision = Revision(delivery_id=DeliveryId("0198c0de"), provider_ids=("76", "77"))
    await ledger.insert(new_delivery(channel="markup", markup=CARD, revises=revision), None)

    [claim] = await ledger.claim("markup", now_us=NOON_US, lease_until_us=LEASE_US, limit=1)

    assert (claim.markup, claim.revises) == (CARD, revision)
    assert claim.to_message().markup == CARD


@pytest.mark.requirement("house:buttons-are-the-households-own")
async def test_a_trace_tells_neither_token_nor_link(database: Database) -> None:
    revision = Revision(delivery_id=DeliveryId("0198c0de"), provider_ids=("76",))
    card, plain = new_delivery(markup=CARD, revises=revision), new_delivery()
    for one in (card, plain):
        await ledger_of(database).insert(one, None)

    def told(connection: Connection) -> list[dict[str, object]]:
        return [trace(connection, one.request_id).document()["deliveries"][0] for one in (card, plain)]

    shown, other = await database.read(told)

    assert "canary" not in str(shown)
    assert shown["revises"] == "0198c0de"
    assert not {"markup", "revises"} & other.keys()


@pytest.mark.requirement("chan:where-it-stands")
async def test_where_the_parts_stand_is_kept_with_their_receipts(database: Database) -> None:
    ledger, new = ledger_of(database), new_delivery(address="U1")
    claim = (await ledger.insert(new, LEASE)).claim
    assert claim is not None

    await ledger.advance(claim, Receipt("1", conversation="D1"), now_us=NOON_US, lease_until_us=LEASE_US)
    claim = replace(claim, parts_done=1)
    await ledger.settle(delivered(claim, Receipt("2", conversation="D1"), started_us=NOON_US, now_us=NOON_US))

    sent = await StoredSent(database).sent(new.id)
    assert sent is not None
    assert (sent.address, sent.provider_ids, sent.conversation) == ("U1", ("1", "2"), "D1")
    [told] = (await database.read(lambda connection: trace(connection, new.request_id))).deliveries
    assert [one.conversation for one in told.receipts] == ["D1", "D1"]


@pytest.mark.requirement("chan:where-it-stands")
async def test_a_revision_keeps_where_the_message_stands(database: Database) -> None:
    revision = Revision(delivery_id=DeliveryId("0198c0de"), provider_ids=("76",), conversation="D1")
    await ledger_of(database).insert(new_delivery(channel="stands", revises=revision), None)

    [claim] = await ledger_of(database).claim("stands", now_us=NOON_US, lease_until_us=LEASE_US, limit=1)

    assert claim.revises == revision
