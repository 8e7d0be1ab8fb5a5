"""The same decisions on a clock that is not real: what was, what would have been, and what will be."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from heapq import heappop, heappush
from typing import Any, Final

from postroom.attention import state as fact
from postroom.attention.model import Decision, NoticeState
from postroom.attention.rules.decide import decided
from postroom.attention.rules.fold import fold
from postroom.attention.rules.policy import PolicyBook, Rules
from postroom.attention.rules.reasons import place_of
from postroom.attention.state import (
    AttentionState,
    Fact,
    NoticeSend,
    PolicyChanged,
    ReceiptIn,
    SendKind,
    SendOutcome,
    Standing,
)
from postroom.kernel.values.ids import altered, seconds

_LONGEST_US: Final = seconds(400 * 86_400)
_DAY_US: Final = seconds(27 * 3600)  # the longest local day, and more
Names = dict[str, None]  # in the order they came
_Index = defaultdict[Any, Names]  # who depends on whom is looked up by what they have in common


@dataclass(frozen=True, slots=True, kw_only=True)
class SimulatedRun:
    """`events`: facts and decisions as they were folded; `state`: what they came to."""

    state: AttentionState
    events: tuple[Fact | Decision, ...]

    @property
    def decisions(self) -> tuple[Decision, ...]:
        return tuple(event for event in self.events if isinstance(event, Decision))


def simulate(
    facts: Iterable[Fact],
    book: PolicyBook,
    *,
    state: AttentionState,
    until_us: int | None = None,
    receipts: bool = True,
) -> SimulatedRun:
    """
    Fold the facts in the order of their moments, decide after each one and whenever something is due. What is due at
    the very moment of a fact comes before it.

    `receipts`: what is sent arrives at once while its channel is up. Without it only receipts among the facts count,
    which is how a recorded log is replayed. It ends when nothing is due any more, or at `until_us`.
    """
    clock = _VirtualClock(state, book, receipts=receipts)
    for event in sorted(facts, key=lambda one: one.at_us):
        clock.run_to(event.at_us)
        clock.take(event)
    clock.run_to(until_us if until_us is not None else clock.now_us + _LONGEST_US)
    return SimulatedRun(state=clock.state, events=tuple(clock.events))


class _VirtualClock:
    """Each event is decided among those it concerns; a wake too many does no harm, so none is ever cancelled."""

    def __init__(self, state: AttentionState, book: PolicyBook, *, receipts: bool) -> None:
        self.book, self.now_us = book, state.clock_us
        self.events: list[Fact | Decision] = []
        self._kept = Neighbourhood(state)
        self._person, self._receipts = state.person, receipts
        self._wakes: list[tuple[int, tuple[str, ...]]] = []
        if state.notices:
            self._judge(self._kept.unsettled)

    @property
    def state(self) -> AttentionState:
        return self._kept.whole

    def run_to(self, moment_us: int) -> None:
        """Everything that is due by that moment."""
        while self._wakes and self._wakes[0][0] <= moment_us:
            self.now_us = self._wakes[0][0]
            due: dict[str, None] = {}
            while self._wakes and self._wakes[0][0] == self.now_us:
                due |= dict.fromkeys(heappop(self._wakes)[1])
            self._judge([name for name in due if name in self._kept.unsettled])

    def take(self, event: Fact) -> None:
        self.now_us = max(self.now_us, event.at_us)
        if isinstance(event, PolicyChanged):
            self.book = self.book.with_own(self._person, event.policy)
        self._judge(self._fold(event))

    def _judge(self, names: Iterable[str]) -> None:
        around = self._kept.around(names, self.book.rules(self._person), self.now_us)
        decisions, due, after = decided(around, self.book, self.now_us)
        self.events += decisions
        self._kept.keep(after)
        if due:
            heappush(
                self._wakes, (min(due.values()), tuple(name for name in around.notices if name in self._kept.unsettled))
            )
        if self._receipts and (arrived := self._arrivals()):
            self._judge(arrived)

    def _arrivals(self) -> dict[str, None]:
        """The notices of what arrives now."""
        waiting = [self._kept.send(key) for key in self._kept.pending]
        arriving = [one for one in waiting if not one.replaced and not self._kept.is_down(one.channel)]
        concerned: dict[str, None] = {}
        for send in arriving:
            concerned |= self._fold(ReceiptIn(at_us=self.now_us, send=send.key, outcome=SendOutcome.OK))
        return concerned

    def _fold(self, event: Fact) -> dict[str, None]:
        self.events.append(event)
        return {name: None for name in self._kept.take(event) if self._kept.knows(name)}


# -- A long run of one person's notices, cut to what one event concerns: its cost does not grow with what is over --


class Neighbourhood:
    """
    Everything that was folded, with an index of who depends on whom.

    A judgement about a notice looks at those of its place (agent, thread, channel), of its key and with the same
    words, and at what its agent sent in the last day. `around` has all of these and nothing else, so deciding
    there is deciding on the whole.
    """

    def __init__(self, state: AttentionState) -> None:
        self._rest = state  # what belongs to no single notice; of the others the indexes know
        self._notices: dict[str, Standing] = {}
        self._sends: dict[str, NoticeSend] = {}
        self._digests = dict(state.digests)
        self.unsettled: Names = {}
        self.pending: Names = {}
        self._alike, self._keyed = _Index(dict), _Index(dict)
        self._at_place, self._of_key, self._over = _Index(dict), _Index(dict), _Index(dict)
        self._windows: defaultdict[Any, list[str]] = defaultdict(list)
        self._by_agent: defaultdict[str, list[str]] = defaultdict(list)
        self.keep(state)

    @property
    def whole(self) -> AttentionState:
        return altered(self._rest, notices=self._notices, sends=self._sends, digests=self._digests)

    def send(self, key: str) -> NoticeSend:
        return self._sends[key]

    def knows(self, name: str) -> bool:
        return name in self._notices

    def is_down(self, channel: str) -> bool:
        return channel in self._rest.down

    def take(self, event: fact.Fact) -> Names:
        """Fold it; whom it concerns."""
        names = dict.fromkeys(self._concerned(event))
        keys = [event.send] if isinstance(event, fact.ReceiptIn | fact.Returned | fact.MayArriveTwice) else []
        self.keep(fold(self._cut(names, keys), event))
        return names

    def around(self, names: Iterable[str], rules: Rules, now_us: int) -> AttentionState:
        """These, and whatever a judgement about them or about those that depend on them looks at."""
        found, todo, keys, judged = dict[str, None](), list(names), list[str](), list[Standing]()
        for seed in list(todo):
            todo += self._dependents(self._notices[seed], rules)
        while todo:
            name = todo.pop()
            if name in found:
                continue
            found[name] = None
            standing = self._notices[name]
            keys += [key for key in (standing.send, standing.step_send, standing.repeat_send) if key is not None]
            if name in self.unsettled:
                todo += self._dependents(standing, rules)
                todo += self._context(standing, rules)
                judged.append(standing)
        return self._cut(found, [*keys, *self._looked_back(judged, rules, now_us)])

    def _concerned(self, event: fact.Fact) -> Iterable[str]:
        match event:
            case fact.NoticeAccepted():
                return [event.notice.id]
            case fact.ReceiptIn() | fact.Returned():
                return self._sends[event.send].notices if event.send in self._sends else ()
            case fact.Withdrawn():
                keyed = self._keyed[event.agent, event.key] if event.key is not None else {}
                return [*keyed, *([event.notice] if event.notice is not None else [])]
            case fact.Acked() | fact.Snoozed() | fact.MayArriveTwice() | fact.NoticeRefused():
                return [event.notice]
            case _:
                return self.unsettled

    def _cut(self, names: Iterable[str], keys: Iterable[str]) -> AttentionState:
        notices = {name: self._notices[name] for name in names if name in self._notices}
        sends = {key: self._sends[key] for key in keys if key in self._sends}
        return altered(self._rest, notices=notices, sends=sends, digests={})

    def _dependents(self, standing: Standing, rules: Rules) -> Iterator[str]:
        """Those that are not settled and may be judged otherwise when something happens to this one."""
        notice = standing.notice
        if rules.collect.window_seconds:
            yield from self._at_place[place_of(standing)]
        if notice.key is not None:
            yield from self._of_key[notice.agent, notice.key]
        if not rules.slots:
            yield from self._over[notice.agent]

    def _context(self, standing: Standing, rules: Rules) -> Iterator[str]:
        """What makes one superfluous, and who is in a digest with it."""
        notice = standing.notice
        if standing.state is NoticeState.ACCEPTED and rules.duplicate_seconds:
            for name in reversed(self._alike[notice.agent, notice.fingerprint]):
                if self._notices[name].notice.created_us <= notice.created_us - seconds(rules.duplicate_seconds):
                    break
                yield name
        if notice.key is not None:
            yield from self._since_oldest(notice.agent, notice.key)
        if standing.state is NoticeState.DIGESTING and standing.send is not None:
            yield from self._sends[standing.send].notices

    def _since_oldest(self, agent: str, key: str) -> Iterator[str]:
        """Of one key, from the oldest on that is not settled."""
        left = len(self._of_key[agent, key])
        for name in reversed(self._keyed[agent, key]):
            if not left:
                return
            left -= name in self.unsettled
            yield name

    def _looked_back(self, judged: list[Standing], rules: Rules, now_us: int) -> Iterator[str]:
        """Sends that opened a window in which one may fall, and those that count for an agent's budget."""
        if rules.collect.window_seconds:
            for place in dict.fromkeys(place_of(one) for one in judged):
                yield from self._since(self._windows[place], now_us - seconds(rules.collect.window_seconds))
        if rules.budget.per_hour is not None or rules.budget.per_day is not None:
            for agent in dict.fromkeys(one.notice.agent for one in judged):
                yield from self._since(self._by_agent[agent], now_us - _DAY_US)

    def _since(self, keys: list[str], since_us: int) -> Iterator[str]:
        for key in reversed(keys):
            if self._sends[key].at_us < since_us:
                return
            yield key

    def keep(self, state: AttentionState) -> None:
        """What became of a part of it."""
        for name, standing in state.notices.items():
            if standing is not self._notices.get(name):
                self._keep_notice(name, standing)
        for key, send in state.sends.items():
            if send is not self._sends.get(key):
                self._keep_send(key, send)
        self._digests.update(state.digests)
        self._rest = state

    def _keep_notice(self, name: str, standing: Standing) -> None:
        before, notice = self._notices.get(name), standing.notice
        self._notices[name] = standing
        if before is None or before.notice is not notice:
            self._alike[notice.agent, notice.fingerprint][name] = None
            if notice.key is not None:
                self._keyed[notice.agent, notice.key][name] = None
        is_open = standing.is_open
        _mark(self.unsettled, name, wanted=is_open)
        _mark(self._at_place[place_of(standing)], name, wanted=is_open)
        _mark(self._over[notice.agent], name, wanted=is_open and standing.over_us is not None)
        if notice.key is not None:
            _mark(self._of_key[notice.agent, notice.key], name, wanted=is_open)

    def _keep_send(self, key: str, send: NoticeSend) -> None:
        if key not in self._sends:
            if send.leading:
                self._windows[send.agent, send.thread, send.channel].append(key)
            if send.kind is SendKind.NOTICE:
                self._by_agent[send.agent].append(key)
        self._sends[key] = send
        _mark(self.pending, key, wanted=send.pending)


def _mark(names: Names, name: str, *, wanted: bool) -> None:
    if wanted:
        names.setdefault(name)
    else:
        names.pop(name, None)
