"""Everything that is counted over a span, each in one read."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from postroom.domain.span_figures import CountedDeliveries, CountedNotices, CountedQuestions, FigureQuery
from postroom.world.store.engine.database import Database
from postroom.world.store.figures.deliveries import counted_deliveries, known_names
from postroom.world.store.figures.notices import counted_notices
from postroom.world.store.figures.questions import counted_questions


class StoredSpanFigures:
    def __init__(self, database: Database) -> None:
        self._database = database

    async def deliveries(self, query: FigureQuery) -> CountedDeliveries:
        return await self._database.read(partial(counted_deliveries, query=query))

    async def notices(self, query: FigureQuery) -> CountedNotices:
        return await self._database.read(partial(counted_notices, query=query))

    async def questions(self, query: FigureQuery) -> CountedQuestions:
        return await self._database.read(partial(counted_questions, query=query))

    async def known(self) -> tuple[Sequence[str], Sequence[str]]:
        return await self._database.read(known_names)
