"""The database a household opens, and what is read from its settings before anything runs."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext, suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

import structlog
from sqlalchemy import Connection, text

from postroom.approvals.rules import ApprovalPolicy, RiskPolicy
from postroom.approvals.store.approvals import HeardThreads, StoredApprovals
from postroom.approvals.store.steps import ParkedDeliveries
from postroom.approvals.store.tables import was_refused
from postroom.attention.store import StoredNotices
from postroom.butlers.store import StoredSessions
from postroom.connectors.profile import FACES
from postroom.conversations.history import Histories, Lately, StoredTalk
from postroom.conversations.store import WRITTEN, StoredInbound, StoredTroubles, TalkPulse, erase_written
from postroom.delivery.afterwards.news import StoredNews, StoredReplies
from postroom.delivery.afterwards.store import StoredCorrections, StoredSent
from postroom.delivery.files.folder import FolderFiles, StoredUploads
from postroom.delivery.files.taking import DAY_US, FileTaking
from postroom.delivery.reading.counts import StoredFigures
from postroom.delivery.store.dead_letters import StoredDeadLetters
from postroom.delivery.store.ledger import DeliveryLedger
from postroom.delivery.store.limits import StoredCircuits
from postroom.delivery.store.sqlite import SqliteLedger
from postroom.inbox.store.mail import StoredConfirmations, StoredPreferences
from postroom.inbox.store.notes import StoredNotes
from postroom.intents.store import StoredIntents
from postroom.intents.threads import StoredInbox
from postroom.kernel.audit import NewAudit
from postroom.kernel.database.audit import StoredAudit
from postroom.kernel.database.engine import Database, Marks, QuestionNotices
from postroom.kernel.database.moments import StoredMoments
from postroom.kernel.database.schema import newest, revision
from postroom.kernel.database.sqlite import SqliteDatabase
from postroom.kernel.guard.tokens import TokenFile
from postroom.kernel.running.clock import Clock, SharedClock, SystemClock
from postroom.kernel.running.loop import FileMark, Loops, Signal
from postroom.kernel.running.process import SecretUrl
from postroom.kernel.running.timekeeper import Timekeeper
from postroom.kernel.values.errors import PostroomError, SettingsError
from postroom.kernel.values.ids import SECOND_US, DeliveryId, IdMint, seconds
from postroom.kernel.values.principal import HOUSEHOLD_OWNER
from postroom.message.wishes import Risk
from postroom.overview.counts import StoredOverview
from postroom.overview.tracking import StoredDeliveries
from postroom.people.people import HouseholdPeople
from postroom.people.signing_in.passkeys import StoredPasskeys
from postroom.people.signing_in.store import StoredSignInLinks
from postroom.people.store.addresses import StoredPairings
from postroom.people.store.people import Eraser, StoredMemory, StoredPeople
from postroom.people.store.rows import StoredClosedAddresses, StoredHeldAddresses
from postroom.questions.store.presentations import StoredPresentations
from postroom.questions.store.questions import QuestionFigures, erase_asked
from postroom.settings import Settings
from postroom.settings.roster import MESSENGER, ButlerConfig, Endpoints, load_roster, port_for

if TYPE_CHECKING:
    from prometheus_client import CollectorRegistry
    from redis.asyncio import Redis

    from postroom.household.peers import Peers

ERASERS: Final[Sequence[Eraser]] = (erase_asked, erase_written)


def stored_people(database: Database, mint: IdMint) -> StoredPeople:
    """The one place that makes a book, so that a person is forgotten in every slice, whoever removes them."""
    return StoredPeople(database, mint.mint, ERASERS)


Listening = Callable[
    [Callable[[], None], Callable[[list[DeliveryId] | None], Awaitable[None]], Loops],
    AbstractAsyncContextManager[None],
]


class Store:
    """
    The database, opened once, with the record of every slice.

    A record that needs the household's keys is made where they are (questions, devices), one that is a butler's own
    where the butler is.
    """

    def __init__(
        self,
        database: Database,
        ledger: DeliveryLedger,
        files: FolderFiles,
        *,
        listening: Listening = lambda *_: nullcontext(),
        elsewhere: QuestionNotices | None = None,
        attention_bell: Signal | None = None,
    ) -> None:
        """`listening` hears of rows other processes left pending or settled; alone there is nothing to hear."""
        self.database = database
        self.ledger = ledger
        self.files = files
        self.listening = listening
        self.elsewhere = elsewhere or QuestionNotices()  # what others do to questions, as long as it is heard
        self.attention_bell = attention_bell or Signal()  # rung when others set a policy or decided what is handed over
        self.ids = IdMint()
        mint = self.ids.mint

        self.audit = StoredAudit(database, mint)
        self.marks = Marks(database)
        self.moments = StoredMoments(database)

        self.people = stored_people(database, self.ids)  # what it changes is known at once, so: one
        self.household = HouseholdPeople(self.people, SystemClock())
        self.memory = StoredMemory(database)
        self.pairings = StoredPairings(self.people)
        self.held_addresses = StoredHeldAddresses(database)
        self.closed_addresses = StoredClosedAddresses(database)
        self.sign_in_links = StoredSignInLinks(database, mint)
        self.passkeys = StoredPasskeys(database, mint)

        self.butler_sessions = StoredSessions(database)

        self.deliveries = StoredDeliveries(database)
        self.sent = StoredSent(database)
        self.corrections = StoredCorrections(database, mint, ParkedDeliveries())
        self.dead_letters = StoredDeadLetters(database)
        self.figures = StoredFigures(database, was_refused())
        self.circuits = StoredCircuits(database)
        self.uploads = StoredUploads(database)
        self.news = StoredNews(database)
        self.replies = StoredReplies(database)

        self.notices = StoredNotices(database)
        self.presentations = StoredPresentations(database, mint, WRITTEN)
        self.question_figures = QuestionFigures(database)
        self.approvals = StoredApprovals(database, mint)
        self.heard_threads = HeardThreads(database)

        self.notes = StoredNotes(database)
        self.preferences = StoredPreferences(database)
        self.confirmations = StoredConfirmations(database, self.people)

        self.inbound = StoredInbound(database, mint)
        self.talk = StoredTalk(database)
        self.talk_pulse = TalkPulse(database)
        self.troubles = StoredTroubles(database)
        self.histories = Histories(database)
        self.lately = Lately(database, HOUSEHOLD_OWNER)

        self.intents = StoredIntents(database, mint)
        self.intent_inbox = StoredInbox(database)

        self.overview = StoredOverview(database)


@asynccontextmanager
async def open_store(settings: Settings) -> AsyncIterator[Store]:
    """Migrated to the newest schema."""
    async with connected(settings) as store:
        await store.database.migrate()
        yield store


@asynccontextmanager
async def opened_audit(settings: Settings) -> AsyncIterator[StoredAudit]:
    async with open_store(settings) as store:
        yield store.audit


@asynccontextmanager
async def existing_store(settings: Settings) -> AsyncIterator[Store | None]:
    """Leaves no trace: None where no household has worked yet, or one of another revision."""
    if settings.has_no_file_yet:
        yield None
        return
    async with connected(settings) as store:
        yield store if await store.database.read(revision) == newest() else None


@asynccontextmanager
async def connected(settings: Settings) -> AsyncIterator[Store]:
    """As it is, without migrating."""
    store = connect_store(settings)
    try:
        yield store
    finally:
        await store.database.close()


def connect_store(settings: Settings) -> Store:
    """The caller closes it; PostgreSQL needs the `postgres` extra."""
    scheme = urlsplit(settings.database).scheme
    settings.home.mkdir(parents=True, exist_ok=True, mode=0o700)
    match scheme:
        case "sqlite":
            return _sqlite(settings)
        case "postgresql" | "postgres":
            return _postgres(settings)
        case _:
            raise SettingsError(f"database_url: '{scheme}' is not one of sqlite, postgresql.")


def _sqlite(settings: Settings) -> Store:
    path = settings.sqlite_file or settings.home
    path.parent.mkdir(parents=True, exist_ok=True)
    path.touch(mode=0o600, exist_ok=True)
    database = SqliteDatabase(path)
    return Store(database, SqliteLedger(database), open_files(settings))


def _postgres(settings: Settings) -> Store:
    try:
        from postroom.delivery.store.postgres import PostgresLedger
        from postroom.kernel.database import postgres as notices
        from postroom.kernel.database.postgres import PostgresDatabase
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
    return Store(
        database,
        PostgresLedger(database),
        open_files(settings),
        listening=notices.polling if asked.notices == "poll" else heard,
        elsewhere=questions,
        attention_bell=attention,
    )


# What a command on this machine did, written down as the door that did it.


async def note_command(settings: Settings, new: NewAudit) -> None:
    """Nothing where there is no household yet; the act is done, whatever becomes of its note."""
    with suppress(PostroomError):
        async with existing_store(settings) as store:
            if store is not None:
                await store.audit.add(new, SystemClock().now_us())


# Machines that share a database go by its clock.


LOOK_SECONDS: Final = 10.0
_log = structlog.get_logger("postroom.clock")


@asynccontextmanager
async def open_in_time(settings: Settings, clock: SharedClock, loops: Loops) -> AsyncIterator[Store]:
    async with open_store(settings) as store, keeping_time(settings, store.database, clock, loops):
        yield store


_NOW = text("SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint")


def _server_time_us(connection: Connection) -> int:
    return int(connection.execute(_NOW).scalar_one())


@asynccontextmanager
async def keeping_time(settings: Settings, database: Database, clock: SharedClock, loops: Loops) -> AsyncIterator[None]:
    """From the first lease on, and again now and then; a database of one machine has no clock of its own."""
    if settings.sqlite_file is not None:
        yield
        return

    async def look() -> int:
        asked_us = clock.now_us()
        theirs_us = await database.read(_server_time_us)
        off_us = clock.follow(theirs_us, asked_us=asked_us, heard_us=clock.now_us())
        if off_us:
            _log.warning("clock.differs", seconds=round(off_us / SECOND_US, 1), goes_by="the database")
        return clock.now_us() + seconds(LOOK_SECONDS)

    await look()
    async with loops.running("clock", look):
        yield


# The Redis that several processes share, when the settings name one.


KEY_PREFIX: Final = "postroom"


@asynccontextmanager
async def redis_client(url: SecretUrl) -> AsyncIterator[Redis]:
    """The driver is an extra that a household without Redis does without."""
    try:
        from postroom.kernel.database.redis_script import connect
    except ImportError:
        raise SettingsError("redis_url: Redis needs the extra: pip install 'postroom[redis]'.") from None
    client = connect(url.reveal())
    try:
        yield client
    finally:
        await client.aclose()


# Who decides, and who is known.


class Approvers(Collection[str]):
    """Those the settings name, and those who have the role."""

    def __init__(self, named: Collection[str], people: HouseholdPeople) -> None:
        self._named = frozenset(named)
        self._people = people

    def __contains__(self, person_id: object) -> bool:
        return person_id in self._named or person_id in self._people.approvers

    def __iter__(self) -> Iterator[str]:
        return iter(self._named | self._people.approvers)

    def __len__(self) -> int:
        return len(self._named | self._people.approvers)


# What the settings want of approvals.


def approval_policy(settings: Settings) -> ApprovalPolicy:
    chosen = settings.approvals
    return ApprovalPolicy(
        expiry_hours=chosen.expiry_hours,
        risk=RiskPolicy(default=chosen.risk, by_channel=chosen.risk_by_channel),
        replies_pass=chosen.replies == "heard",
        most_pending_per_origin=chosen.max_pending_per_origin,
        phone=None if chosen.phone == "none" else Risk(chosen.phone),
    )


# Where attached files lie, who may hand in which, and what acceptance asks about them.


def open_files(settings: Settings) -> FolderFiles:
    """Nothing is made before it is used."""
    return FolderFiles(_folder(settings, Path(settings.messages.files)))


def file_taking(settings: Settings, store: Store, roster: Iterable[ButlerConfig], clock: Clock) -> FileTaking:
    return FileTaking(
        store=store.files,
        record=StoredUploads(store.database),
        clock=clock,
        mint=store.ids.mint,
        arrived_life_us=settings.retention.question_days * DAY_US,
        most_bytes_a_day=settings.messages.file_megabytes_per_day * 1_000_000,
        outbox=_folders(settings, settings.messages.outbox),
        outboxes={config.name: _folders(settings, config.butler.messages.outbox) for config in roster},
    )


def _folders(settings: Settings, given: Iterable[Path]) -> tuple[Path, ...]:
    return tuple(_folder(settings, one) for one in given)


def _folder(settings: Settings, given: Path) -> Path:
    return Path(settings.home / given.expanduser()).absolute()


def wishes_mark(settings: Settings) -> FileMark:
    """Touched when what people wish has changed, or where they live."""
    return FileMark(settings.home / "attention.changed")


# The parts a household has, by name.


SWITCHBOARD: Final = "switchboard"
WORKER: Final = "worker"
ADAPTERS: Final = tuple(FACES)
SANDBOX: Final = "sandbox"
SANDBOX_SMTP: Final = "sandbox_smtp"
SANDBOX_IMAP: Final = "sandbox_imap"


def parts_of(settings: Settings, roster: Iterable[ButlerConfig] | None = None) -> tuple[str, ...]:
    """Every part this household has; without a roster, the shipped one."""
    names = [config.name for config in (shipped(settings) if roster is None else roster)]
    ordered = [MESSENGER, SWITCHBOARD, *(name for name in names if name not in (MESSENGER, SWITCHBOARD))]
    return (*([SANDBOX] if settings.in_sandbox else []), *ordered, "api", *ADAPTERS)


def fixed_ports(settings: Settings, roster: Iterable[ButlerConfig]) -> dict[str, int]:
    """Where each part that has a port is to be found; 0 is any free one."""
    ports = settings.ports
    butlers = {config.name: port_for(settings, config) for config in roster}
    return butlers | {name: getattr(ports, name) for name in ("api", *ADAPTERS)}


def sandbox_ports(settings: Settings) -> dict[str, int]:
    ports = settings.ports
    return {SANDBOX: ports.sandbox, SANDBOX_SMTP: ports.sandbox_smtp, SANDBOX_IMAP: ports.sandbox_imap}


def shipped(settings: Settings) -> tuple[ButlerConfig, ...]:
    return load_roster(settings.model_copy(update={"roster": None}), {})


# What a household is kept in, and what the parts of one process share.


@dataclass(frozen=True, slots=True, kw_only=True)
class Premises:
    """There also while nothing runs: a command works with these alone."""

    settings: Settings
    store: Store
    clock: Clock

    @property
    def approvers(self) -> Approvers:
        return Approvers(self.settings.approvals.approvers, self.store.household)


@dataclass(frozen=True, slots=True, kw_only=True)
class World(Premises):
    loops: Loops
    tokens: TokenFile
    registry: CollectorRegistry
    peers: Peers
    endpoints: Endpoints
    roster: Sequence[ButlerConfig]
    environment: Mapping[str, str] = field(default_factory=dict, repr=False)  # of which butlers may be given some
    timekeeper: Timekeeper
    pages_url: str = ""  # where people reach the console and the links they are sent
    links_due: Signal = field(default_factory=Signal)  # rung for the one who sends sign-in links

    @property
    def butlers(self) -> Sequence[ButlerConfig]:
        """Those that people can write to and that can be sent work."""
        return [one for one in self.roster if one.name not in (MESSENGER, SWITCHBOARD)]

    @property
    def files(self) -> FileTaking:
        return file_taking(self.settings, self.store, self.roster, self.clock)
