"""Everybody's policies as they are known in this process, and the one way to change a person's notices."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from postroom.domain.clock import Clock
from postroom.domain.notice_rows import Loaded, NoticeChanges, Wanted
from postroom.domain.time import seconds
from postroom.system.signal import FileMark, Signal
from postroom.work.attention.facts import Fact
from postroom.work.attention.policy import EscalationStep, Policy
from postroom.work.attention.ports import KnowsPeople, NoticeRecord
from postroom.work.attention.rotation import Rotation
from postroom.work.attention.rules import PolicyBook
from postroom.work.attention.stored import read_policy
from postroom.work.attention.turn import Turn

REMEMBERED_US: Final = seconds(50 * 3600)  # a local day and some hours: budgets, collect windows and keys look back
_MARGIN_US: Final = seconds(60)
_FRESH_US: Final = seconds(1)


@dataclass(slots=True, kw_only=True)
class NoticeBook:
    """
    `woken`: rung when there is something to hand over; `down`: channels that are, None where that is not known.

    `mark`: touched when somebody's wishes change, so that every process of the home heeds them at once.
    """

    store: NoticeRecord
    people: KnowsPeople
    clock: Clock
    household: Policy | None = None
    rotations: Mapping[str, Rotation] = field(default_factory=dict)
    zone: str = "UTC"
    woken: Signal = field(default_factory=Signal)
    down: frozenset[str] | None = None
    mark: FileMark | None = None
    policies: PolicyBook = field(init=False)
    known: frozenset[str] = field(init=False, default=frozenset())  # people with a row
    _read: dict[str, tuple[str | None, Policy | None]] = field(init=False, default_factory=dict)
    _read_us: int = field(init=False, default=-_FRESH_US)
    _ids: dict[str, str] = field(init=False, default_factory=dict)

    def __post_init__(self) -> None:
        self.policies = PolicyBook(household=self.household, rotations=self.rotations, zone=self.zone)

    def zone_of(self, person: str) -> str:
        """In which the person is told of moments."""
        return self.policies.rules(person).zone

    @property
    def neutral(self) -> bool:
        """There is no policy and there are no rows: nothing needs to be asked."""
        return self.household is None and not self.known

    async def keep_fresh(self) -> None:
        """Where no loop does: what another process set is known within a second."""
        if self.clock.now_us() - self._read_us >= _FRESH_US:
            await self.refresh()
        await self.heed()

    async def heed(self) -> None:
        """What another process of this home set just now; costs no statement while none did."""
        if self.mark is not None and self.mark.was_touched():
            await self.refresh()

    def tell_others(self) -> None:
        """After a change of somebody's wishes."""
        if self.mark is not None:
            self.mark.touch()

    async def refresh(self) -> None:
        texts = await self.store.policies()
        self._read_us = self.clock.now_us()
        self._read = {name: self._reading(name, text) for name, text in texts.items()}
        people = {name: policy for name, (_, policy) in self._read.items() if policy is not None}
        household = await self.by_id(self.household) if self.household is not None else None
        rotations = {name: await self._rotation(one) for name, one in self.rotations.items()}
        self.policies = PolicyBook(
            household=household, people=people, rotations=rotations, zone=self.zone, zones=await self.store.zones()
        )
        self.known = frozenset(texts)

    async def change(
        self,
        person: str,
        facts: Callable[[Turn], Iterable[Fact]],
        *,
        wanted: Wanted | None = None,
        judge: bool = True,
    ) -> Turn:
        """One dated fact or several, folded and decided in one transaction."""

        def step(turn: Turn) -> NoticeChanges | None:
            for fact in facts(turn):
                turn.take(fact)
            if judge:
                turn.judge()
            return turn.changes() if turn.changes_anything else None

        turn = await self.turn(person, step, wanted=wanted)
        if turn.decisions:
            self.woken.ring()
        return turn

    async def turn(
        self, person: str, step: Callable[[Turn], NoticeChanges | None], *, wanted: Wanted | None = None
    ) -> Turn:
        """The step may run again when its transaction could not be committed; the last turn is the one that counts."""
        made: list[Turn] = []

        def edit(loaded: Loaded) -> NoticeChanges | None:
            turn = Turn(person, loaded, self.policies, self.clock.now_us())
            turn.hear_of_channels(self.down)
            made.append(turn)
            return step(turn)

        await self.store.change(person, self.wanted(person, wanted), edit)
        turn = made[-1]
        self.known |= {person} if turn.loaded.person is not None or turn.changes_anything else frozenset()
        return turn

    def wanted(self, person: str, more: Wanted | None = None) -> Wanted:
        looked_back = max(REMEMBERED_US, self.policies.rules(person).duplicate_us + _MARGIN_US)
        return replace(more or Wanted(), since_us=self.clock.now_us() - looked_back)

    def _reading(self, name: str, text: str | None) -> tuple[str | None, Policy | None]:
        before = self._read.get(name)
        return before if before is not None and before[0] == text else (text, read_policy(text))

    async def by_id(self, policy: Policy) -> Policy:
        """Escalations name people as one calls them; here they are known by their ids."""
        if policy.escalation is None:
            return policy
        return replace(policy, escalation=tuple([await self._step(one) for one in policy.escalation]))

    async def _step(self, step: EscalationStep) -> EscalationStep:
        if step.person is None or step.person in self.rotations:
            return step
        return replace(step, person=await self._id(step.person))

    async def _rotation(self, rotation: Rotation) -> Rotation:
        overrides = [(start, end, await self._id(person)) for start, end, person in rotation.overrides]
        people = [await self._id(person) for person in rotation.people]
        return replace(rotation, people=tuple(people), overrides=tuple(overrides))

    async def _id(self, name: str) -> str:
        """Who is not there any more keeps the name; the doctor says so."""
        if name not in self._ids:
            found = await self.people.called(name)
            if found is None:
                return name
            self._ids[name] = found
        return self._ids[name]
