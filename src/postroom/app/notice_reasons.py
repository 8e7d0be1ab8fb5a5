"""Why a notice waits, and what held a delivery before it was one."""

from __future__ import annotations

from dataclasses import dataclass, replace

from postroom.app.address_book import stored_people
from postroom.app.attention import HouseholdNames
from postroom.domain.agent_address import HOUSEHOLD_OWNER
from postroom.domain.clock import Clock
from postroom.domain.ids import IdMint
from postroom.work.attention.codec import decoded
from postroom.work.attention.notice_book import NoticeBook
from postroom.work.attention.reading import NoticeReading
from postroom.work.attention.state import NoticeSend
from postroom.work.attention.why import why_held, why_notice
from postroom.work.delivery.history import DeliveryReason
from postroom.world.store.attention.attention import StoredNotices
from postroom.world.store.engine.database import Database
from postroom.world.store.people.people import StoredPeople


@dataclass(frozen=True, slots=True, kw_only=True)
class NoticeReasons:
    reading: NoticeReading
    people: StoredPeople
    clock: Clock

    async def of_notice(self, notice_id: str, origin: str | None) -> DeliveryReason | None:
        """Of a sender only its own."""
        view = await self.reading.notice(notice_id)
        if view is None or (origin is not None and view.agent != origin):
            return None
        found = await self.people.find(HOUSEHOLD_OWNER, view.person)
        person = found[0].name if len(found) == 1 and found[0].name else view.person
        return DeliveryReason(id=notice_id, why=why_notice(view, person, self.clock.now_us()))

    async def of_delivery(self, reason: DeliveryReason) -> DeliveryReason:
        row = await self.reading.book.store.send_of_delivery(reason.id)
        if row is None:
            return reason
        views = [await self.reading.notice(name) for name in decoded(NoticeSend, row.send).notices]
        held = [why for view in views if view is not None and (why := why_held(view, self.clock.now_us()))]
        return replace(reason, why=" ".join([reason.why, *held]))


def notice_reasons(database: Database, clock: Clock) -> NoticeReasons:
    people = stored_people(database, IdMint())
    book = NoticeBook(store=StoredNotices(database), people=HouseholdNames(people=people), clock=clock)
    return NoticeReasons(reading=NoticeReading(book=book), people=people, clock=clock)
