"""A delivery plane that asks attention first: real parts on a real database, and a clock the test turns."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field, replace
from typing import Any, cast

from tests.attention.sample import PERSON
from tests.clock import START_US
from tests.delivery.world import World, envelope
from tests.people.known_people import owner
from tests.timekeeping import Rounds, rounds

from postroom.approvals.store.steps import ParkedDeliveries
from postroom.attention.attention import Attention
from postroom.attention.considering import Considering
from postroom.attention.keeper import Amends, Carrier, Keeper
from postroom.attention.rules.policy import parse_policy
from postroom.attention.state import NoticeAccepted, NoticeChanges
from postroom.attention.store import MOMENTS, StoredNotices
from postroom.attention.turn import HouseholdNames, NewNotice, NoticeBook, Turn
from postroom.delivery.accept import Plane
from postroom.delivery.afterwards.corrections import Corrections
from postroom.delivery.afterwards.store import StoredCorrections
from postroom.household.store import stored_people
from postroom.kernel.database.engine import Database
from postroom.kernel.values.ids import IdMint
from postroom.kernel.values.principal import HOUSEHOLD_OWNER
from postroom.message.outgoing import Outcome, Outgoing
from postroom.message.wire import parse_notify
from postroom.people.people import HouseholdPeople
from postroom.people.person_rules import new_contact

PLACES = {
    "owner": {"telegram": "1000", "email": "owner@example.com"},
    "ann": {"telegram": "2000", "email": "ann@example.com"},
}
_numbers = itertools.count()


def names(database: Database) -> HouseholdNames:
    return HouseholdNames(people=stored_people(database, IdMint()))


async def introduced(database: Database) -> HouseholdNames:
    """An owner and Ann, who is known by her name as well."""
    book, home, hers = names(database), PLACES["owner"], PLACES["ann"]
    await book.people.keep_in_step(HOUSEHOLD_OWNER, [owner("", home["telegram"], home["email"])], now_us=START_US)
    ann = new_contact(name="Ann", telegram_chat_id=hers["telegram"], email=hers["email"])
    await book.people.create(HOUSEHOLD_OWNER, ann, source="test", now_us=START_US, reserved_id="ann")
    return book


def new_notice(fact: NoticeAccepted) -> NewNotice:
    outgoing = Outgoing(origin_butler=fact.notice.agent, channel=fact.notice.channel, message=fact.notice.text)
    return NewNotice(fact=fact, outgoing=outgoing, request_id=f"request of {fact.notice.id}", fingerprint="f")


async def take_in(book: NoticeBook, *facts: NoticeAccepted) -> Turn:
    def step(turn: Turn) -> NoticeChanges:
        for fact in facts:
            turn.accept(new_notice(fact))
        turn.judge()
        return turn.changes()

    return await book.turn(PERSON, step)


class Killed(BaseException):
    """The process ends here."""


@dataclass(slots=True)
class Killing:
    """A way out on which the process dies: before the ledger has it, or after."""

    plane: Plane
    before: bool = False
    after: bool = False

    async def submit(self, outgoing: Outgoing, **how: Any) -> Outcome:
        if self.before:
            raise Killed
        outcome = await self.plane.submit(outgoing, **how)
        if self.after:
            raise Killed
        return outcome


@dataclass(slots=True)
class Amending:
    """Dies where it was going to take something back."""

    inner: Amends
    killed: bool = False

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)

    async def take_back(self, delivery_id: str) -> bool:
        if self.killed:
            raise Killed
        return await self.inner.take_back(delivery_id)


@dataclass(slots=True)
class Attended:
    world: World
    household: dict[str, Any] | None = None
    way_out: Killing = field(init=False)
    attention: Attention = field(init=False)
    keeper: Keeper = field(init=False)
    plane: Plane = field(init=False)
    corrections: Corrections = field(init=False)
    amends: Amending = field(init=False)
    times: Rounds = field(init=False)

    def __post_init__(self) -> None:
        people = names(self.world.database)
        book_of_all = HouseholdPeople(people.people, self.world.clock)
        acceptance = replace(self.world.plane.acceptance, book=book_of_all)
        bare = replace(self.world.plane, acceptance=acceptance)
        store = StoredNotices(self.world.database)
        policy = parse_policy(self.household) if self.household is not None else None
        book = NoticeBook(store=store, people=people, clock=self.world.clock, household=policy)
        self.way_out = Killing(bare)
        record = StoredCorrections(self.world.database, acceptance.mint, ParkedDeliveries())
        self.corrections = Corrections(plane=bare, record=record)
        self.amends = Amending(Amends(corrections=self.corrections))
        carrier = Carrier(book=book, way_out=cast("Plane", self.way_out), amends=self.amends)
        considering = Considering(book=book, acceptance=acceptance, carrier=carrier)
        self.attention = Attention(book=book, considering=considering)
        self.keeper = Keeper(book=book, carrier=carrier, channels_down=bare.channels_down)
        self.times = rounds(self.world.database, self.world.clock, MOMENTS, self.keeper.take, self.keeper.waits_on)
        self.plane = replace(bare, attention=self.attention)

    async def notify(self, message: str = "Hello", *, wait_seconds: float = 5, **fields: Any) -> Outcome:
        request_id = fields.pop("request_id", f"request-{next(_numbers)}")
        fields = {"recipient": None, **fields}
        outgoing = parse_notify(envelope(message, **fields), self.world.plane.known_channels)
        return await self.plane.submit(outgoing, request_id=request_id, wait_seconds=wait_seconds)

    async def look(self, times: int = 4) -> None:
        """As often as it takes for what was decided to arrive and to be noted."""
        for _ in range(times):
            await self.times.look()
            await self.keeper.look()
            await self.world.idle()

    async def later(self, seconds: float) -> None:
        await self.world.advance(seconds)
        await self.look()

    def restarted(self) -> Attended:
        """Another process on the same database."""
        return Attended(self.world, self.household)

    @property
    def texts(self) -> list[str]:
        return [*self.world.telegram.texts, *self.world.email.texts]
