"""The first page: what waits for the one who looks, each decided in place; then what went out, and what is wrong."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Final, TypeVar

from starlette.responses import Response

from postroom.approvals.model import Action
from postroom.approvals.page import ApprovalPages, WaitingHere, newest_first
from postroom.console.frame import Names, NavigationGroup
from postroom.console.live import Changes, Ear
from postroom.console.visit import ConsolePage, ConsoleSection, Visit, anybody
from postroom.console.words import channel_word, figure, plural
from postroom.delivery.reading.counts import DeadLetterCounts, Depth, Tally
from postroom.delivery.reading.record import FoundDelivery
from postroom.delivery.rules.breaker import Circuit, CircuitState
from postroom.kernel.running.clock import Clock
from postroom.kernel.serving.json_door import End, EventStream, StreamEvent
from postroom.kernel.text.visible import reveal
from postroom.kernel.values.errors import PostroomError, StoreUnavailable
from postroom.kernel.values.ids import seconds
from postroom.kernel.values.principal import Principal
from postroom.overview.counts import ConsoleOverview, StoredOverview, WaitingNow
from postroom.people.model import inbox_of
from postroom.people.signing_in.rules import ROOT
from postroom.people.signing_in.store import ConsoleSessions
from postroom.questions.model import SubjectKind
from postroom.questions.page import QuestionPages

_DAY_SECONDS: Final = 24 * 3600.0
_LATEST: Final = 8
Result = TypeVar("Result")


# -- The figures of the navigation: the same reading that the lists and the API count by --


@dataclass(frozen=True, slots=True, kw_only=True)
class Badges:
    record: StoredOverview
    approvals_on: bool

    async def of(self, who: Principal, now_us: int) -> Mapping[str, int]:
        """By the path of a section; nothing when the record does not answer, for a page says so itself."""
        try:
            waits = await self.record.waits(who, now_us)
        except StoreUnavailable:
            return {}
        approvals = waits.approvals if self.approvals_on else 0
        found = {"/questions": waits.questions, "/approvals": approvals, "/inbox": waits.unread}
        return {path: many or 0 for path, many in found.items()}


# -- What the page shows --


@dataclass(frozen=True, slots=True, kw_only=True)
class Day:
    """Each part stands alone: None is a source that did not answer, and never counts as nothing."""

    tallies: Sequence[Tally] | None
    trouble: DeadLetterCounts | None
    circuits: Mapping[str, Circuit] | None
    depth: Depth | None
    latest: Sequence[FoundDelivery] | None

    @property
    def delivered(self) -> int | None:
        return None if self.tallies is None else sum(one.figures.delivered for one in self.tallies)

    @property
    def failed(self) -> int | None:
        return None if self.tallies is None else sum(one.figures.failed for one in self.tallies)

    @property
    def on_its_way(self) -> int | None:
        return None if self.depth is None else self.depth.many()

    @property
    def open_circuits(self) -> Sequence[str] | None:
        if self.circuits is None:
            return None
        return [name for name, circuit in self.circuits.items() if circuit.state is not CircuitState.CLOSED]

    def state_of(self, channel: str) -> CircuitState | None:
        """As the ledger knows it; None when it could not be read."""
        return None if self.circuits is None else self.circuits.get(channel, Circuit()).state

    @property
    def troubles(self) -> Sequence[tuple[str, str]]:
        """What wants a look, in words, and where to look."""
        letters, trouble = f"{ROOT}/dead-letters", self.trouble
        found = [(f"{channel_word(name)} is paused", f"{ROOT}/health") for name in self.open_circuits or ()]
        if trouble and trouble.held:
            found.insert(0, (f"{figure(trouble.held)} held, perhaps arrived", letters))
        if trouble and trouble.given_up:
            found.insert(0, (f"{figure(trouble.given_up)} {plural(trouble.given_up, 'dead letter')}", letters))
        return found

    @property
    def is_well(self) -> bool:
        """Only when everything answered and nothing needs a hand."""
        return self.trouble is not None and not (self.trouble.given_up or self.trouble.held or self.open_circuits != [])


@dataclass(frozen=True, slots=True, kw_only=True)
class Waits:
    """What a person can decide here and now; `is_whole` False: a source did not answer, so there may be more."""

    things: Sequence[WaitingHere]
    questions: int | None
    approvals: int
    is_whole: bool

    @property
    def total(self) -> int | None:
        return None if self.questions is None or not self.is_whole else self.questions + self.approvals


# -- The page --


@dataclass(frozen=True, slots=True, kw_only=True)
class TodayPage:
    """`approvals` is None in a household without them."""

    overview: ConsoleOverview
    record: StoredOverview
    questions: QuestionPages
    approvals: ApprovalPages | None = None
    approvals_on: bool = True
    silent: str = ""  # why no butler can answer people

    async def show(self, visit: Visit) -> Response:
        day = await _day(self.overview, self.record, visit.now_us) if visit.is_operator else None
        waiting: WaitingNow | None = await answered(self.record.waits(visit.principal, visit.now_us), default=None)
        waits = await self._waits(visit, waiting)
        return visit.show(
            "today.html",
            day=day,
            silent=self.silent if visit.is_operator else "",
            approvals=waiting and waiting.approvals,
            approvals_off=not self.approvals_on,
            unread=waiting and waiting.unread,
            asked=waiting and waiting.questions,
            held=waiting and waiting.held,
            waits=waits,
            names=await self._names(visit, day, waits),
        )

    async def _waits(self, visit: Visit, waiting: WaitingNow | None) -> Waits:
        """A message that waits stands here once, as itself, and not as the question about it as well."""
        actions = await self._actions(visit)
        besides = None if actions is None else SubjectKind.APPROVAL
        asked = await answered(self.questions.waiting(visit.principal, besides=besides), default=None)
        cards = await answered(self.questions.cards(visit, besides=besides), default=())
        return Waits(
            things=newest_first(cards, actions or ()),
            questions=asked,
            approvals=0 if actions is None or waiting is None or not self.approvals_on else waiting.approvals or 0,
            is_whole=asked is not None and waiting is not None and (actions is not None or not self._decides(visit)),
        )

    def _decides(self, visit: Visit) -> bool:
        return self.approvals is not None and f"{ROOT}/approvals" in visit.navigation.reachable

    async def _actions(self, visit: Visit) -> Sequence[Action] | None:
        """None when they are for others to decide, or do not answer."""
        if self.approvals is None or not self._decides(visit):
            return None
        try:
            return await self.approvals.here(visit)
        except PostroomError:
            return None

    async def _names(self, visit: Visit, day: Day | None, waits: Waits) -> Names:
        parked = [one.action.content for one in waits.things if one.action]
        places = [(one.channel, reveal(one.address)) for one in parked]
        return await visit.names([*places, *((one.channel, one.target_identity) for one in (day and day.latest) or ())])


def today_section(page: TodayPage) -> ConsoleSection:
    return ConsoleSection(
        name="Today", group=NavigationGroup.YOURS, pages=(ConsolePage("/", page.show, open_to=anybody),)
    )


async def _day(overview: ConsoleOverview, record: StoredOverview, now_us: int) -> Day:
    return Day(
        tallies=await answered(overview.tallies(now_us - seconds(_DAY_SECONDS)), default=None),
        trouble=await answered(record.trouble(), default=None),
        circuits=await answered(overview.circuits(now_us), default=None),
        depth=await answered(overview.depth(), default=None),
        latest=await answered(overview.latest(_LATEST), default=None),
    )


async def answered(asked: Awaitable[Result], default: Any) -> Result | Any:
    """Each part of a page stands alone: a source that does not answer hides no other."""
    try:
        return await asked
    except StoreUnavailable:
        return default


# -- Server-sent events: which part of a page is out of date --


def events_page(changes: Changes, clock: Clock, sessions: ConsoleSessions) -> ConsolePage:
    async def stream(visit: Visit) -> Response:
        async def is_signed_in() -> bool:
            try:
                return await sessions.find(visit.secret, clock.now_us()) is not None
            except StoreUnavailable:
                return False

        return EventStream(
            look=partial(told, is_signed_in),
            listening=changes.listening(inbox_of(visit.principal) or ""),
            clock=clock,
            first=StreamEvent(retry_ms=2000, name="listening", data="-"),
        ).response()

    return ConsolePage("/events", stream, open_to=anybody)


async def told(is_signed_in: Callable[[], Awaitable[bool]], ear: Ear) -> AsyncGenerator[StreamEvent | End, None]:
    """
    A topic and nothing else: what is shown is always read again, by the page, with its own rights.

    Before each word the session is looked at again, so that one that was ended hears nothing more. Silence needs no
    session: pages that are only open cost the database nothing.
    """
    topics = ear.take()
    if topics and not await is_signed_in():
        yield End()
    for topic in topics:
        yield StreamEvent(name=topic, data="-")
