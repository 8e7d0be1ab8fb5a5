"""Find dead letters for a person: by any filter, by words or by whom they were for, in bounded looks."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from hashlib import sha256
from typing import Any, Final

from sqlalchemy import ColumnElement, Connection, Select, Subquery, and_, func, or_, select, union_all

from postroom.delivery.afterwards.corrections import delivery_corrections
from postroom.delivery.model import DeadLetter, Sent
from postroom.delivery.reading.file import DeadLetterQuery, DeliveryQuery, readable
from postroom.delivery.store.dead_letters import letters, matching, with_lineage
from postroom.delivery.store.rows import marks
from postroom.delivery.store.tables import (
    delivery_dead_letter,
    delivery_news,
    delivery_receipts,
    delivery_replies,
    delivery_requests,
)
from postroom.kernel.database.engine import Database, insert_for
from postroom.kernel.values.ids import DeliveryId, first_id_at, is_uuid, to_text
from postroom.kernel.values.json import storable
from postroom.kernel.values.principal import BUTLER_PREFIX, HOUSEHOLD_OWNER
from postroom.kernel.webhooks import News, WebhookEvent, tell
from postroom.message.address import Closing, folded
from postroom.message.attachment import attachments_of_text
from postroom.message.delivery import Status
from postroom.message.inbound import BAD_NEWS, InboundMessage, LateNews
from postroom.message.markup import revision_of_text
from postroom.people.store.tables import closed_addresses, person_addresses

_requests = delivery_requests.c


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundLetters:
    """`before` begins the next look; with `unfinished` it lies below letters that were read and did not match."""

    letters: Sequence[DeadLetter]
    before: str | None
    unfinished: bool


def find_letters(
    connection: Connection, query: DeadLetterQuery, words: str | None, places: Sequence[str] = ()
) -> FoundLetters:
    """With words, at most LOOKED_AT letters are read; `places` are order keys, as for deliveries."""
    if not words:
        return _page(letters(connection, query), query)
    looked = _looked_at(query).subquery("looked")
    fitting = select(looked).where(*holding(looked, words, places, ("error_summary",)))
    rows = connection.execute(fitting.order_by(looked.c.id.desc()).limit(query.page.limit + 1)).mappings().all()
    found = _page(with_lineage(connection, rows), query)
    if found.before is not None:
        return found
    many, lowest = connection.execute(select(func.count(), func.min(looked.c.id))).one()
    return replace(found, before=lowest, unfinished=True) if many == LOOKED_AT else found


def _looked_at(query: DeadLetterQuery) -> Select[Any]:
    most = replace(query, page=replace(query.page, limit=LOOKED_AT - 1))
    return matching(most).add_columns(_requests.subject, _requests.message_content, _requests.order_key)


def _page(found: Sequence[DeadLetter], query: DeadLetterQuery) -> FoundLetters:
    shown = found[: query.page.limit]
    return FoundLetters(letters=shown, before=shown[-1].id if len(found) > query.page.limit else None, unfinished=False)


# Find deliveries for a person: newest first, by any filter, with a bound on how much one look reads.

LOOKED_AT: Final = 10_000
_EXCERPT: Final = 160
_MOST_WORDS: Final = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundDeliveries:
    """`before` begins the next look; with `unfinished` it lies below rows that were read and did not match."""

    rows: Sequence[dict[str, Any]]
    before: str | None
    unfinished: bool


def lookup(
    connection: Connection, query: DeliveryQuery, words: str | None, places: Sequence[str] = ()
) -> FoundDeliveries:
    """
    What an index can find is found by the index; the rest is read, at most LOOKED_AT rows at a time.

    So a word that stands nowhere costs one bounded look, and the person decides
    whether to look further back. `places` are order keys: what went there matches, whatever its words.
    """
    needs_reading = bool(words or query.origin_butler or query.intent)
    most = LOOKED_AT if needs_reading else query.page.limit + 1
    candidates = _candidates(connection, query, most).subquery("candidates")
    wanted = (
        select(*(candidates.c[column.name] for column in SUMMARY), candidates.c.subject, candidates.c.address)
        .add_columns(func.substr(candidates.c.message_content, 1, _EXCERPT).label("excerpt"))
        .where(*_remaining(candidates, query), *holding(candidates, words, places))
        .order_by(candidates.c.delivery_id.desc())
        .limit(query.page.limit + 1)
    )
    rows = [readable(row) for row in connection.execute(wanted).mappings()]
    marked = marks(connection, [row["delivery_id"] for row in rows])
    rows = [row | {"mark": marked.get(row["delivery_id"])} for row in rows]
    if len(rows) > query.page.limit:
        return FoundDeliveries(rows=rows[:-1], before=rows[-2]["delivery_id"], unfinished=False)
    if not needs_reading:
        return FoundDeliveries(rows=rows, before=None, unfinished=False)
    many, lowest = connection.execute(select(func.count(), func.min(candidates.c.delivery_id))).one()
    return FoundDeliveries(rows=rows, before=lowest if many == LOOKED_AT else None, unfinished=many == LOOKED_AT)


def identified(connection: Connection, identifier: str) -> str | None:
    """The delivery behind a delivery id, a dead letter's id, or a request id that led to exactly one delivery."""
    letters = delivery_dead_letter.c
    if is_uuid(identifier):
        for wanted in (
            select(_requests.id).where(_requests.id == identifier.lower()),
            select(letters.delivery_request_id).where(letters.id == identifier.lower()),
        ):
            if found := connection.execute(wanted).scalar():
                return str(found)
    of_request = select(_requests.id).where(_requests.request_id == identifier).limit(2)
    ids = list(connection.execute(of_request).scalars())
    return ids[0] if len(ids) == 1 else None


def _candidates(connection: Connection, query: DeliveryQuery, most: int) -> Select[Any]:
    """A status without a channel is looked up channel by channel, because the index begins with the channel."""
    if query.status is None or query.channel is not None:
        return _in_order(query, query.channel, most)
    channels = _channels(connection)
    if not channels:
        return _in_order(query, None, most)
    each = [_in_order(query, channel, most).subquery() for channel in channels]
    together = union_all(*(select(one) for one in each)).subquery()
    return select(together).order_by(together.c.delivery_id.desc()).limit(most)


def _channels(connection: Connection) -> list[str]:
    """All that deliveries are stored of, also one that is no longer set up; each step is one look into the index."""
    found: list[str] = []
    while (after := connection.execute(_next_channel(found)).scalar()) is not None:
        found.append(after)
    return found


def _next_channel(found: Sequence[str]) -> Select[Any]:
    following = select(func.min(_requests.channel))
    return following.where(_requests.channel > found[-1]) if found else following


def _in_order(query: DeliveryQuery, channel: str | None, most: int) -> Select[Any]:
    more = (_requests.subject, _requests.address, _requests.message_content, _requests.order_key)
    found = select(*SUMMARY, *more).order_by(_requests.id.desc()).limit(most)
    if channel is not None:
        found = found.where(_requests.channel == channel)
    if query.status is not None:
        found = found.where(_requests.status == str(query.status))
    if query.since_us is not None:
        found = found.where(_requests.id >= first_id_at(query.since_us))
    if query.until_us is not None:
        found = found.where(_requests.id < first_id_at(query.until_us + 1000))
    if query.page.before is not None:
        found = found.where(_requests.id < query.page.before)
    return found


def _remaining(rows: Subquery, query: DeliveryQuery) -> list[ColumnElement[bool]]:
    rest: list[ColumnElement[bool]] = []
    if query.origin_butler is not None:
        rest.append(rows.c.origin_butler == query.origin_butler)
    if query.intent is not None:
        rest.append(rows.c.intent == str(query.intent))
    return rest


def holding(
    rows: Subquery, words: str | None, places: Sequence[str], more: Sequence[str] = ()
) -> list[ColumnElement[bool]]:
    """Every word somewhere in the row, also in the columns `more`; or it went to one of the places."""
    texts = [rows.c[name] for name in ("target_identity", "subject", "message_content", *more)]
    each = [
        or_(*(text.icontains(word, autoescape=True) for text in texts)) for word in (words or "").split()[:_MOST_WORDS]
    ]
    if not each:
        return []
    return [or_(and_(*each), rows.c.order_key.in_(places))] if places else each


# News of delivered messages, each piece once.


_news_requests, _receipts = delivery_requests.c, delivery_receipts.c
_LOOKED_AT: Final = 20_000  # receipts have no index by the provider's names: whoever sends much would pay for it


class StoredNews:
    def __init__(self, database: Database) -> None:
        self._database = database

    async def keep(self, news: LateNews) -> DeliveryId | None:
        about = await self._database.read(partial(_about, news=news))
        return await self._database.write(partial(_keep, about=about, news=news)) if about is not None else None


def _about(connection: Connection, news: LateNews) -> str | None:
    found = connection.execute(_by_our_id(news) if news.delivery_id else _by_its_id(news)).first()
    if found is None or (news.recipients and folded(found.address) not in news.recipients):
        return None
    return str(found.id)


def _by_our_id(news: LateNews) -> Select[Any]:
    known = select(_news_requests.id, _news_requests.address).where(
        _news_requests.id == news.delivery_id, _news_requests.channel == news.channel
    )
    return _there(
        known.outerjoin(delivery_receipts, _receipts.delivery_request_id == _news_requests.id), _news_requests, news
    )


def _by_its_id(news: LateNews) -> Select[Any]:
    """News comes soon, so the newest deliveries of the channel are looked at, and no more than a bounded number."""
    newest = (
        select(_news_requests.id, _news_requests.address)
        .where(_news_requests.channel == news.channel)
        .order_by(_news_requests.id.desc())
        .limit(_LOOKED_AT)
        .subquery("newest")
    )
    found = (
        select(newest.c.id, newest.c.address)
        .join(delivery_receipts, _receipts.delivery_request_id == newest.c.id)
        .where(_receipts.provider_delivery_id == news.provider_id)
        .order_by(newest.c.id.desc())
    )
    return _there(found, newest.c, news)


def _there(found: Select[Any], delivery: Any, news: LateNews) -> Select[Any]:
    """One provider's name may stand for messages at several places."""
    if news.places:
        found = found.where(or_(delivery.address.in_(news.places), _receipts.conversation.in_(news.places)))
    return found.limit(1)


def _keep(connection: Connection, about: str, news: LateNews) -> DeliveryId | None:
    """None when the delivery has left the ledger meanwhile."""
    held = (
        select(_news_requests.id, _news_requests.origin_butler)
        .where(_news_requests.id == about)
        .with_for_update(read=True)
    )
    if (found := connection.execute(held).first()) is None:
        return None
    row = {
        "delivery_request_id": about,
        "kind": str(news.kind),
        "event_id": news.event_id,
        "words": news.words,
        "at": news.at_us,
    }
    if connection.execute(insert_for(connection, delivery_news).values(row).on_conflict_do_nothing()).rowcount:
        _follow(connection, DeliveryId(about), found.origin_butler, news)
    return DeliveryId(about)


def _follow(connection: Connection, about: DeliveryId, origin: str, news: LateNews) -> None:
    """Once: old news that is read again closes nothing that was opened since, and is told to no one."""
    reason = came_back(connection, about, news) if news.for_good else None
    if news.kind in BAD_NEWS:
        for agent in (BUTLER_PREFIX + origin, HOUSEHOLD_OWNER):
            tell(connection, _told(about, agent, news, reason))


def _told(about: DeliveryId, agent: str, news: LateNews, reason: Closing | None) -> News:
    """What happened, never what was said or to whom: those who may know it can ask."""
    mark = sha256(f"{about}\x1f{news.kind}\x1f{news.event_id}\x1f{agent}".encode()).hexdigest()[:32]
    body = {
        "event_id": f"news-{mark}",
        "event_type": str(WebhookEvent.DELIVERY_BOUNCED),
        "owner_agent": agent,
        "at": to_text(news.at_us),
        "delivery_id": about,
        "channel": news.channel,
        "kind": str(news.kind),
        "address_closed": reason is Closing.BOUNCED,
    }
    text = json.dumps(body, separators=(",", ":"))
    return News(id=f"news-{mark}", owner_agent=agent, type=WebhookEvent.DELIVERY_BOUNCED, body=text, at_us=news.at_us)


# What people wrote back, as it came: beside the answer that was read out of it, for those who look into the record.


MOST: Final = 50  # of one delivery
_replies = delivery_replies.c


class StoredReplies:
    def __init__(self, database: Database) -> None:
        self._database = database

    async def keep(self, message: InboundMessage, now_us: int) -> None:
        """Once, and only of a delivery that is ours and still in the ledger."""

        def work(connection: Connection) -> None:
            mine = select(delivery_requests.c.id).where(
                delivery_requests.c.id == message.answers, delivery_requests.c.channel == message.channel
            )
            many = select(func.count()).where(_replies.delivery_request_id == message.answers)
            if connection.execute(mine).first() is None or connection.execute(many).scalar_one() >= MOST:
                return
            row = {
                "delivery_request_id": message.answers,
                "event_id": message.event_id,
                "sender": message.sender or "",
                "original": storable(message.original or ""),
                "at": message.said_at_us or now_us,
            }
            connection.execute(insert_for(connection, delivery_replies).values(row).on_conflict_do_nothing())

        await self._database.write(work)


# What a delivery that has arrived is called by its provider, part by part.


_sent_requests, _sent_receipts, _corrections = delivery_requests.c, delivery_receipts.c, delivery_corrections.c


class StoredSent:
    def __init__(self, database: Database) -> None:
        self._database = database

    async def sent(self, delivery_id: DeliveryId, *, besides: DeliveryId | None = None) -> Sent | None:
        return await self._database.read(lambda connection: sent(connection, delivery_id, besides))


def sent(connection: Connection, delivery_id: DeliveryId, besides: DeliveryId | None = None) -> Sent | None:
    """A dead letter that was sent again counts as arrived; its parts may be spread over both rows."""
    lineage = or_(_sent_requests.id == delivery_id, _sent_requests.replay_of == delivery_id)
    found = select(delivery_requests).where(lineage, _sent_requests.status == str(Status.DELIVERED)).limit(1)
    row = connection.execute(found).mappings().first()
    if row is None:
        return None
    parts = (
        select(_sent_receipts.part, _sent_receipts.provider_delivery_id, _sent_receipts.conversation)
        .join(delivery_requests, _sent_requests.id == _sent_receipts.delivery_request_id)
        .where(lineage)
        .order_by(_sent_receipts.part)
    )
    received = {row.part: row for row in connection.execute(parts)}.values()
    more, gone = _revised(connection, delivery_id, row["request_id"], besides)
    return Sent(
        id=delivery_id,
        origin_butler=row["origin_butler"],
        channel=row["channel"],
        address=row["address"],
        provider_ids=tuple(row.provider_delivery_id for row in received),
        conversation=next((row.conversation for row in received if row.conversation is not None), None),
        files=len(attachments_of_text(row["attachments"])),
        more=tuple(one for one in more if one not in gone),
        gone=tuple(gone),
    )


def _revised(
    connection: Connection, delivery_id: DeliveryId, request_id: str, besides: DeliveryId | None
) -> tuple[list[str], list[str]]:
    """What its revisions have added, and taken away: edits and deletions are named as such by their receipts."""
    more: list[str] = []
    gone: list[str] = []
    for name in _names(connection, delivery_id, request_id, besides):
        act, _, where = name.partition(":")
        if act == "delete":
            gone.append(where.partition(":")[2])
        elif act != "edit":
            more.append(name)
    return more, gone


def _names(
    connection: Connection, delivery_id: DeliveryId, request_id: str, besides: DeliveryId | None
) -> Iterator[str]:
    """A correction is known by its key; all that is sent about a question is of one request."""
    carried = select(_corrections.carried_key).where(_corrections.delivery_id == delivery_id)
    mine = or_(_sent_requests.request_id == request_id, _sent_requests.idempotency_key.in_(carried))
    asked = select(_sent_requests.id, _sent_requests.revises).where(mine, _sent_requests.revises.is_not(None))
    about = {row.id: revision_of_text(row.revises) for row in connection.execute(asked)}
    ids = [id for id, one in about.items() if one and one.delivery_id == delivery_id and id != besides]
    if ids:
        yield from connection.execute(_receipts_of(ids)).scalars()


def _receipts_of(ids: list[str]) -> Select[Any]:
    return (
        select(_sent_receipts.provider_delivery_id)
        .join(delivery_requests, _sent_requests.id == _sent_receipts.delivery_request_id)
        .where(or_(_sent_requests.id.in_(ids), _sent_requests.replay_of.in_(ids)))
        .order_by(_sent_requests.id, _sent_receipts.part)
    )


# Which of some deliveries are over.


_MOST_AT_ONCE = 1000  # neither database takes any number of values in one statement


def settled_among(connection: Connection, ids: Sequence[str]) -> list[DeliveryId]:
    found: list[DeliveryId] = []
    for start in range(0, len(ids), _MOST_AT_ONCE):
        some = delivery_requests.c.id.in_(ids[start : start + _MOST_AT_ONCE])
        over = select(delivery_requests.c.id).where(some, delivery_requests.c.terminal_at.is_not(None))
        found += [DeliveryId(one) for one in connection.execute(over).scalars()]
    return found


# The columns of a delivery in a list.


SUMMARY = (
    _requests.id.label("delivery_id"),
    _requests.request_id,
    _requests.origin_butler,
    _requests.channel,
    _requests.intent,
    _requests.target_identity,
    _requests.status,
    _requests.priority,
    _requests.attempts,
    _requests.possible_duplicate,
    _requests.waiting_reason,
    _requests.provider_delivery_id,
    _requests.terminal_error_class,
    _requests.terminal_error_message,
    _requests.replay_of,
    _requests.replay_number,
    _requests.created_at,
    _requests.updated_at,
    _requests.terminal_at,
)

# Mail that came back, and the address it was sent to.


_sent, _place = delivery_requests.c, person_addresses.c


def came_back(connection: Connection, delivery_id: DeliveryId, news: LateNews) -> Closing:
    """The address is the one we wrote to, whatever a report calls it; one that somebody has proved is only doubted."""
    sent = connection.execute(select(_sent.channel, _sent.address).where(_sent.id == delivery_id)).one()
    is_here = _place.channel == sent.channel, _place.folded == folded(sent.address)
    proved = select(_place.id).where(*is_here, _place.verified_at.is_not(None)).limit(1)
    reason = Closing.DOUBTFUL if connection.execute(proved).first() else Closing.BOUNCED
    row = {
        "channel": sent.channel,
        "folded": folded(sent.address),
        "address": sent.address,
        "reason": str(reason),
        "words": news.words,
        "delivery_id": delivery_id,
        "closed_at": news.at_us,
    }
    connection.execute(insert_for(connection, closed_addresses).values(row).on_conflict_do_nothing())
    return reason
