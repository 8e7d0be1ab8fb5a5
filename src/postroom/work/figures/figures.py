"""The household's figures over a span, for those who may see them: one place for page, API and export."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Final, Protocol

from postroom.domain.errors import Code, Refused
from postroom.domain.principal import Principal
from postroom.domain.span_figures import (
    CountedDeliveries,
    CountedNotices,
    CountedQuestions,
    FigureQuery,
    FigureSpan,
)
from postroom.work.figures.report import SpanReport, added_deliveries, added_notices, added_questions
from postroom.work.figures.stretches import edges
from postroom.work.questions.asked_people import person_id_of

LONGEST_NAME: Final = 255


class FigureStore(Protocol):
    async def deliveries(self, query: FigureQuery) -> CountedDeliveries: ...

    async def notices(self, query: FigureQuery) -> CountedNotices: ...

    async def questions(self, query: FigureQuery) -> CountedQuestions: ...

    async def known(self) -> tuple[Sequence[str], Sequence[str]]:
        """Channels and agents of which there are deliveries."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class FigureWish:
    span: FigureSpan = FigureSpan.WEEK
    channel: str | None = None
    agent: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class HouseholdFigures:
    """`zone` is the household's: a day begins for everybody at the same moment."""

    store: FigureStore
    zone: Callable[[], Awaitable[str]]

    async def report(self, who: Principal, wish: FigureWish, now_us: int) -> SpanReport:
        """The owner's is of everybody; of another person it is what was said to them and asked of them."""
        person = whose(who)
        zone = await self.zone()
        query = FigureQuery(
            edges_us=edges(now_us, wish.span, zone), channel=wish.channel, agent=wish.agent, person=person
        )
        sent = None if person is not None else added_deliveries(await self.store.deliveries(query), query.edges_us)
        return SpanReport(
            span=wish.span,
            zone=zone,
            since_us=query.edges_us[0],
            until_us=query.edges_us[-1],
            channel=wish.channel,
            agent=wish.agent,
            person=person,
            deliveries=sent,
            notices=added_notices(await self.store.notices(query), query.edges_us),
            questions=added_questions(await self.store.questions(query), query.edges_us),
        )

    async def known(self, who: Principal) -> tuple[Sequence[str], Sequence[str]]:
        """What the owner may choose from; of whom others hear is not everybody's to know."""
        return await self.store.known() if whose(who) is None else ((), ())


def whose(who: Principal) -> str | None:
    """None: everybody's."""
    person = person_id_of(who)
    if person is None:
        raise Refused(Code.POLICY_DENIED, f"{who} may not see figures: it needs a person's own token")
    return None if who.is_owner else person
