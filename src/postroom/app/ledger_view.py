"""Look into the ledger: of a running household, or from outside it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any

from sqlalchemy import Connection

from postroom.app.attention import household_policy
from postroom.app.notice_reasons import notice_reasons
from postroom.app.policy import retry_policy
from postroom.app.store import connect_store
from postroom.domain.clock import Clock
from postroom.domain.ids import IdMint
from postroom.domain.kept_message import KeptMessage
from postroom.domain.principal import Role
from postroom.domain.settings_error import SettingsError
from postroom.system.clock import SystemClock
from postroom.system.settings import Settings
from postroom.work.approvals.visible import reveal
from postroom.work.conversations.why import inbound_document, why_inbound
from postroom.work.delivery.history import DeliveryReason, Explained, NothingKnown, nothing_traced, traced
from postroom.work.inbox.why import why_note
from postroom.work.questions.view import QuestionStory, QuestionView
from postroom.work.questions.why import why_question
from postroom.world.store.conversations.inbound import StoredInbound
from postroom.world.store.deliveries.history import StoredHistory
from postroom.world.store.engine.database import Database
from postroom.world.store.engine.migrate import known_revision
from postroom.world.store.questions.story import story


@dataclass(frozen=True, slots=True, kw_only=True)
class LedgerView:
    """Raises SettingsError when nothing is known under an id."""

    settings: Settings
    database: Database
    clock: Clock

    async def trace(self, identifier: str, origin: str | None = None) -> dict[str, Any]:
        kept, name = await self._written(identifier, origin)
        inbound = {} if kept is None else {"inbound": inbound_document(kept, name)}
        try:
            found = await self.database.read(lambda connection: traced(StoredHistory(connection), identifier, origin))
        except NothingKnown:
            if kept is None:
                raise
            found = nothing_traced(identifier)
        return found | inbound

    async def why(self, identifier: str, origin: str | None = None) -> list[DeliveryReason]:
        notices = notice_reasons(self.database, self.clock)
        if (found := await notices.of_notice(identifier, origin)) is not None:
            return [found]
        kept, name = await self._written(identifier, origin)
        written = [] if kept is None else [DeliveryReason(id=kept.id, why=why_inbound(kept, name, self.clock.now_us()))]
        try:
            reasons = await self.database.read(
                lambda connection: self._explained(connection).reasons(StoredHistory(connection), identifier, origin)
            )
        except NothingKnown:
            if not written:
                raise
            reasons = []
        return written + [await notices.of_delivery(one) for one in reasons]

    async def _written(self, identifier: str, origin: str | None) -> tuple[KeptMessage | None, str | None]:
        """A message that a person wrote, with their name; not for those who see only what they sent."""
        if origin is not None:
            return None, None
        return await StoredInbound(self.database, IdMint().mint).with_name(identifier)

    def _explained(self, connection: Connection) -> Explained:
        now_us, email_enabled = self.clock.now_us(), self.settings.email_copies_on
        policy, _ = household_policy(self.settings)
        return Explained(
            attempts_for=retry_policy(self.settings).attempts_for,
            why_note=lambda note: why_note(
                *note,
                email_enabled=email_enabled,
                now_us=now_us,
                household=policy,
                zone=self.settings.household.local_zone,
            ),
            why_question=partial(_why_question, connection, now_us),
            now_us=now_us,
        )


def _why_question(connection: Connection, now_us: int, identifier: str, origin: str | None) -> str | None:
    """Of a sender only what it asked itself."""
    found = story(connection, identifier)
    if found is None or (origin is not None and found.question.asker not in (origin, f"{Role.BUTLER}:{origin}")):
        return None
    view = QuestionView(question=found.question, presentations=found.presentations)
    known = QuestionStory(view=view, events=(), attempts=found.attempts if origin is None else ())
    return reveal(why_question(known, now_us))


@asynccontextmanager
async def ledger_view(settings: Settings) -> AsyncIterator[LedgerView]:
    """Without a running household."""
    store = connect_store(settings)
    try:
        if await store.database.read(known_revision) is None:
            raise SettingsError("This database is empty: no household has worked on it yet; `postroom up` starts one.")
        yield LedgerView(settings=settings, database=store.database, clock=SystemClock())
    finally:
        await store.database.close()
