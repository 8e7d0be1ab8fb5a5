"""One order for the events of all intents: that in which they are committed."""

from __future__ import annotations

from typing import Final

from sqlalchemy import func, select

from postroom.world.store.tables.intents import intent_events

_events = intent_events.alias()

LAST_POSITION: Final = select(func.max(_events.c.position)).scalar_subquery()
NEXT_POSITION: Final = select(func.coalesce(func.max(_events.c.position), 0) + 1).scalar_subquery()
