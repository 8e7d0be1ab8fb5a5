"""News of delivered messages is kept once, with the message it is about, on either database."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from tests.opened_database import ledger_of
from tests.support.sample_deliveries import LEASE, NOON_US, new_delivery

from postroom.delivery.afterwards.news import LONGEST, StoredNews, keep_news, news_handler
from postroom.delivery.model import NewDelivery
from postroom.delivery.rules.retry import delivered
from postroom.kernel.database.engine import Database
from postroom.kernel.values.ids import to_text
from postroom.message.delivery import Receipt
from postroom.message.inbound import InboundMessage, LateNews, NewsKind
from postroom.overview.story import trace

BOUNCE = LateNews(
    channel="telegram",
    event_id="event-1",
    kind=NewsKind.BOUNCED,
    at_us=NOON_US + 5_000_000,
    words="550 no such user",
    provider_id="77",
    places=("D1",),
)


async def arrived(database: Database, provider_id: str = "77", **changes: Any) -> NewDelivery:
    ledger, new = ledger_of(database), new_delivery(**changes)
    claim = (await ledger.insert(new, LEASE)).claim
    assert claim is not None
    receipt = Receipt(provider_id, conversation="D1")
    await ledger.settle(delivered(claim, receipt, started_us=NOON_US, now_us=NOON_US))
    return new


async def told(database: Database, new: NewDelivery) -> dict[str, Any]:
    found = await database.read(lambda connection: trace(connection, new.request_id))
    [one] = found.document()["deliveries"]
    assert isinstance(one, dict)
    return one


@pytest.mark.requirement("chan:late-news")
async def test_news_is_kept_once_and_changes_nothing_else(database: Database) -> None:
    new = await arrived(database)
    before = await told(database, new)

    kept = [await StoredNews(database).keep(BOUNCE) for _ in range(2)]
    await StoredNews(database).keep(replace(BOUNCE, kind=NewsKind.READ, words=""))

    assert kept == [new.id, new.id]
    after = await told(database, new)
    assert {**after, "news": []} == before
    shown = [(one["kind"], one["words"], one["at"]) for one in after["news"]]
    at = to_text(BOUNCE.at_us)
    assert sorted(shown) == [("bounced", "550 no such user", at), ("read", "", at)]


@pytest.mark.requirement("chan:late-news-of-ours")
@pytest.mark.parametrize(
    ("changes", "is_ours"),
    [
        ({}, True),
        ({"places": ()}, True),
        ({"places": ("U1", "elsewhere")}, True),
        ({"places": ("elsewhere",)}, False),
        ({"channel": "email"}, False),
        ({"provider_id": "78"}, False),
    ],
    ids=str,
)
async def test_only_news_from_where_the_message_stands_is_about_it(
    database: Database, changes: dict[str, Any], is_ours: bool
) -> None:
    new = await arrived(database, address="U1")
    by_our_id = {"delivery_id": new.id, "provider_id": None} | {name: changes[name] for name in changes}

    by_its_id = await StoredNews(database).keep(replace(BOUNCE, **changes))
    if "provider_id" not in changes:
        assert (await StoredNews(database).keep(replace(BOUNCE, **by_our_id)) is not None) is is_ours

    assert by_its_id == (new.id if is_ours else None)


async def test_of_two_messages_with_one_name_the_one_at_the_place_is_meant(database: Database) -> None:
    first = await arrived(database, address="U1")
    await arrived(database, address="U2")

    assert await StoredNews(database).keep(replace(BOUNCE, places=("U1",))) == first.id


# -- what a channel brings goes to the record, and to no other handler -----------------------------------------

READ = LateNews(channel="slack", event_id="e1", kind=NewsKind.READ, at_us=1, provider_id="7", words="fine")


@pytest.mark.requirement("chan:late-news")
async def test_news_is_taken_also_when_it_is_about_nothing_of_ours(database: Database) -> None:
    new = await arrived(database, "7", channel="slack")
    handle = news_handler(StoredNews(database))

    assert [await handle(READ), await handle(replace(READ, provider_id="8"))] == [True, True]
    assert [one["words"] for one in (await told(database, new))["news"]] == ["fine"]


async def test_what_people_write_is_for_others(sqlite_database: Database) -> None:
    message = InboundMessage(channel="slack", number=1, message_id="1", places=("D1",))

    assert await news_handler(StoredNews(sqlite_database))(message) is False


async def test_words_are_kept_as_one_short_line_that_every_store_can_hold(database: Database) -> None:
    new = await arrived(database, "7", channel="slack")
    words = "a\x00b\r\n\u202ec\ud800 " + "x" * 999

    assert await keep_news(StoredNews(database), replace(READ, words=words)) == new.id

    [kept] = (await told(database, new))["news"]
    assert kept["words"].startswith("a\ufffdb c\ufffd xxx")
    assert len(kept["words"]) == LONGEST
