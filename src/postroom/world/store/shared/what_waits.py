"""How much waits for one person, in one read: the navigation of every page shows it."""

from __future__ import annotations

from sqlalchemy import Connection

from postroom.domain.what_waits import WhatWaits
from postroom.world.store.deliveries.overview import awaiting_approval
from postroom.world.store.engine.database import Database
from postroom.world.store.inbox.inbox import unread
from postroom.world.store.questions.figures import waiting_for


class StoredWhatWaits:
    def __init__(self, database: Database) -> None:
        self._database = database

    async def counts(self, person_id: str | None, user_id: str | None, now_us: int) -> WhatWaits:
        """None: somebody who can be asked nothing, or has no inbox."""

        def read(connection: Connection) -> WhatWaits:
            return WhatWaits(
                questions=0 if person_id is None else waiting_for(connection, person_id),
                approvals=awaiting_approval(connection, now_us),
                unread=0 if user_id is None else unread(connection, user_id, now_us),
            )

        return await self._database.read(read)
