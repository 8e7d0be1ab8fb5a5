"""Open pages are told that something changed, here or in another process; and what the console asks of others."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Final

import structlog

from postroom.conversations.store import TalkPulse
from postroom.inbox.store.notes import StoredNotes
from postroom.kernel.http.answers import JsonObject
from postroom.kernel.running.clock import Clock
from postroom.kernel.running.loop import Signal
from postroom.kernel.values.errors import PostroomError
from postroom.kernel.values.fields import Document
from postroom.kernel.values.ids import seconds
from postroom.kernel.values.principal import Principal
from postroom.overview.counts import StoredOverview
from postroom.questions.store.questions import QuestionFigures

_LOOK_SECONDS: Final = 1.0
_PATIENCE_SECONDS: Final = 3.0  # a messenger that is away must not hold up what the ledger knows
_UNSEEN_US: Final = seconds(10.0)  # between reading a page and hearing from it
_OVERLAP_US: Final = 10_000_000


# -- Changes --


class Ear(Signal):
    """One open page, and what it has not yet heard."""

    def __init__(self, user_id: str) -> None:
        super().__init__()
        self.user_id = user_id
        self.is_new = True  # nobody has looked since its page was read
        self._topics: set[str] = set()

    def hear(self, topic: str) -> None:
        kind, _, whose = topic.partition(":")
        if not whose or whose == self.user_id:
            self._topics.add(kind)
            self.ring()

    def take(self) -> list[str]:
        heard, self._topics = sorted(self._topics), set()
        return heard


class Changes:
    """One question to the store for all pages together, once a second and only while a page is open."""

    def __init__(self, pulse: HouseholdPulse, clock: Clock) -> None:
        self._pulse = pulse
        self._clock = clock
        self._ears: set[Ear] = set()
        self._known: dict[str, tuple[Any, ...]] = {}
        self.anybody = Signal()
        self.stopping = asyncio.Event()

    @contextmanager
    def listening(self, user_id: str) -> Iterator[Ear]:
        ear = Ear(user_id)
        if not self._ears:
            self._known = {}  # old news: whoever opens a page has just read how things are
            self.anybody.ring()
        if self.stopping.is_set():
            ear.close()
        self._ears.add(ear)
        try:
            yield ear
        finally:
            self._ears.discard(ear)

    def stop(self) -> None:
        """Streams end by themselves, so that none has to be cut off."""
        self.stopping.set()
        self.anybody.ring()
        for ear in self._ears:
            ear.close()

    async def look(self) -> int | None:
        """One question for all pages; returns when to ask again, None until `anybody` opens one."""
        if not self._ears:
            return None
        now_us = self._clock.now_us()
        found = await self._pulse.look({ear.user_id for ear in self._ears}, now_us)
        for topic, pulse in found.items():
            self._tell(topic, pulse, now_us)
            self._known[topic] = pulse or self._known.get(topic, pulse)
        for ear in self._ears:
            ear.is_new = False
        return self._clock.now_us() + seconds(_LOOK_SECONDS)

    def _tell(self, topic: str, pulse: tuple[Any, ...], now_us: int) -> None:
        """A page just opened may have been read a moment before the newest change."""
        if not pulse:
            return
        changed = self._known.get(topic, pulse) != pulse
        recent = ":" in topic or pulse[0] > now_us - _UNSEEN_US  # an inbox has a pulse only while it is stirring
        for ear in self._ears:
            if changed or (ear.is_new and recent):
                ear.hear(topic)


# -- The moments of the newest changes, by topic: what an open page is refreshed by --


@dataclass(frozen=True, slots=True)
class HouseholdPulse:
    record: StoredOverview
    notes: StoredNotes
    questions: QuestionFigures
    talk: TalkPulse

    async def look(self, user_ids: Collection[str], now_us: int) -> Mapping[str, tuple[Any, ...]]:
        """By topic (`deliveries`, `approvals`, `inbox:<user>`): the moment of the newest change, then whatever else
        differs when more has happened; or nothing at all when it has been quiet lately."""
        inboxes = await self.notes.pulses(user_ids, now_us - _OVERLAP_US, now_us)
        quiet: dict[str, tuple[Any, ...]] = {f"inbox:{user_id}": () for user_id in user_ids}
        quiet |= {"questions": await self.questions.pulse(), "conversations": await self.talk.pulse()}
        return await self.record.pulse() | quiet | {f"inbox:{name}": pulse for name, pulse in inboxes.items()}


# -- What the console needs from the household --


@dataclass(frozen=True, slots=True)
class Tools:
    """The messenger's tools, called as the person who is signed in."""

    ask: Callable[[Principal, str, JsonObject, float], Awaitable[Document]]

    async def call(
        self, caller: Principal, tool: str, arguments: JsonObject, timeout_seconds: float = 30.0
    ) -> Document:
        return await self.ask(caller, tool, arguments, timeout_seconds)


async def asked(tools: Tools, who: Principal, tool: str, arguments: JsonObject) -> Document | None:
    """None when there is no answer, or only a refusal."""
    try:
        answer = await tools.call(who, tool, arguments, _PATIENCE_SECONDS)
    except PostroomError:
        return None
    return None if "error" in answer else answer


# Work on many things at once, in the background, with progress to look at.


_AT_ONCE: Final = 4
_REMEMBERED: Final = 50
_MOST_PROBLEMS: Final = 100
_log = structlog.get_logger("postroom.console")

Step = Callable[[str], Awaitable[str | None]]  # None when it went well, else a sentence


@dataclass(slots=True, kw_only=True)
class Work:
    """How far one piece of work has come; `whose` alone may look at it."""

    id: str
    title: str
    whose: Principal
    total: int
    done: int = 0
    problems: list[tuple[str, str]] = field(default_factory=list)
    failed: int = 0
    stopped: bool = False

    @property
    def finished(self) -> bool:
        return self.done == self.total or self.stopped

    @property
    def succeeded(self) -> int:
        return self.done - self.failed

    def note(self, name: str, problem: str | None) -> None:
        self.done += 1
        if problem is not None:
            self.failed += 1
            if len(self.problems) < _MOST_PROBLEMS:
                self.problems.append((name, problem))


class Bulk:
    """What is going on here and now: a restart forgets the progress, never what was done."""

    def __init__(self, mint: Callable[[], str]) -> None:
        self._mint = mint
        self._works: OrderedDict[str, Work] = OrderedDict()
        self._running: set[asyncio.Task[None]] = set()

    def begin(self, title: str, whose: Principal, names: Sequence[str], step: Step) -> Work:
        work = Work(id=self._mint(), title=title, whose=whose, total=len(names))
        self._works[work.id] = work
        while len(self._works) > _REMEMBERED:
            self._works.popitem(last=False)
        task = asyncio.create_task(_do(work, names, step))
        self._running.add(task)
        task.add_done_callback(self._running.discard)
        return work

    def find(self, work_id: str, who: Principal) -> Work | None:
        work = self._works.get(work_id)
        return work if work is not None and work.whose == who else None

    async def close(self) -> None:
        """Steps that have begun are not cut off; those that have not are left."""
        for work in self._works.values():
            work.stopped = True
        if self._running:
            await asyncio.wait(self._running)


async def _do(work: Work, names: Sequence[str], step: Step) -> None:
    waiting = iter(names)

    async def hand() -> None:
        for name in waiting:
            if work.stopped:
                return
            work.note(name, await _problem_of(step, name))

    await asyncio.gather(*(hand() for _ in range(_AT_ONCE)))


async def _problem_of(step: Step, name: str) -> str | None:
    """A mistake of ours is a problem with this one; the others are done, and the work ends."""
    try:
        return await step(name)
    except Exception as error:
        _log.error("console.bulk.bug", error=type(error).__name__)
        return f"failed by a mistake of ours ({type(error).__name__})"
