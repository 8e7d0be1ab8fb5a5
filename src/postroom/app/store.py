"""Open the database the settings name, ready to use."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext
from dataclasses import dataclass
from functools import partial
from urllib.parse import urlsplit

from postroom.app.address_book import stored_people
from postroom.app.files import open_files
from postroom.domain.ids import DeliveryId, IdMint
from postroom.domain.seams import Ledger
from postroom.domain.settings_error import SettingsError
from postroom.system.clock import SystemClock
from postroom.system.loop import Loops
from postroom.system.settings import Settings
from postroom.system.signal import Signal
from postroom.work.people.household_people import HouseholdPeople
from postroom.world.files.folder import FolderFiles
from postroom.world.store.deliveries.ledger_sqlite import SqliteLedger
from postroom.world.store.engine.database import Database
from postroom.world.store.engine.sole_worker import sqlite_path
from postroom.world.store.engine.sqlite import SqliteDatabase
from postroom.world.store.people.people import StoredPeople
from postroom.world.store.shared.question_notices import QuestionNotices

Listening = Callable[
    [Callable[[], None], Callable[[list[DeliveryId] | None], Awaitable[None]], Loops],
    AbstractAsyncContextManager[None],
]


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenedStore:
    """`listening` hears of rows other processes left pending or settled; alone there is nothing to hear."""

    database: Database
    ledger: Ledger
    listening: Listening
    questions: QuestionNotices  # what others do to questions, as long as it is heard
    attention: Signal  # rung when others set a policy or decided what is to be handed over, where that is heard
    people: StoredPeople  # one for the process, so that what it changes is known at once
    household: HouseholdPeople
    files: FolderFiles


@asynccontextmanager
async def open_store(settings: Settings) -> AsyncIterator[OpenedStore]:
    """Migrated to the newest schema."""
    store = connect_store(settings)
    try:
        await store.database.migrate()
        yield store
    finally:
        await store.database.close()


def connect_store(settings: Settings) -> OpenedStore:
    """As it is, without migrating; PostgreSQL needs the `postgres` extra."""
    scheme = urlsplit(settings.database).scheme
    settings.home.mkdir(parents=True, exist_ok=True, mode=0o700)
    match scheme:
        case "sqlite":
            return _sqlite(settings)
        case "postgresql" | "postgres":
            return _postgres(settings)
        case _:
            raise SettingsError(f"database_url: '{scheme}' is not one of sqlite, postgresql.")


def _sqlite(settings: Settings) -> OpenedStore:
    path = sqlite_path(settings)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.touch(mode=0o600, exist_ok=True)
    database = SqliteDatabase(path)
    return _opened(database, SqliteLedger(database), lambda *_: nullcontext(), open_files(settings))


def _postgres(settings: Settings) -> OpenedStore:
    try:
        from postroom.world.store.deliveries.ledger_postgres import PostgresLedger
        from postroom.world.store.engine.postgres import PostgresDatabase
        from postroom.world.store.shared import notices
    except ImportError:
        raise SettingsError("database_url: PostgreSQL needs the extra: pip install 'postroom[postgres]'.") from None
    asked = settings.postgres
    database = PostgresDatabase(
        settings.database,
        pool_size=asked.pool_size,
        other_pool_size=asked.other_pool_size,
        prepared=asked.prepared_statements,
        listen_url=asked.listen_url.reveal() or None,
    )
    questions, attention = QuestionNotices(), Signal()
    heard = partial(notices.listening, database, questions, attention=attention)
    listening = notices.polling if asked.notices == "poll" else heard
    return _opened(database, PostgresLedger(database), listening, open_files(settings), questions, attention)


def _opened(
    database: Database,
    ledger: Ledger,
    listening: Listening,
    files: FolderFiles,
    questions: QuestionNotices | None = None,
    attention: Signal | None = None,
) -> OpenedStore:
    people = stored_people(database, IdMint())
    household = HouseholdPeople(people, SystemClock())
    return OpenedStore(
        database=database,
        ledger=ledger,
        listening=listening,
        questions=questions or QuestionNotices(),
        attention=attention or Signal(),
        people=people,
        household=household,
        files=files,
    )
