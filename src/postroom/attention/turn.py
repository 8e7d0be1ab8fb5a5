"""One transaction about one person: facts are folded, what is due is decided, and what is to be sent is frozen."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Final

from postroom.attention.model import Decision, DecisionKind, EscalationStep, Policy
from postroom.attention.rules.decide import decided, revised
from postroom.attention.rules.digest import Digest, render, subject
from postroom.attention.rules.fold import fold
from postroom.attention.rules.policy import PolicyBook
from postroom.attention.rules.reasons import MUTES, missed_words
from postroom.attention.rules.times import Rotation
from postroom.attention.state import (
    AttentionState,
    ChannelDown,
    ChannelUp,
    Fact,
    Loaded,
    LogRow,
    NoticeAccepted,
    NoticeChanges,
    NoticeRow,
    NoticeSend,
    PersonRow,
    PolicyChanged,
    Rest,
    SendRow,
    Silence,
    Unmuted,
    Wanted,
    frozen,
)
from postroom.attention.store import StoredNotices
from postroom.kernel.database.rows import to_json
from postroom.kernel.running.clock import Clock
from postroom.kernel.running.loop import FileMark, Signal
from postroom.kernel.values.ids import DeliveryId, altered, seconds
from postroom.kernel.values.moments import Reason
from postroom.kernel.values.principal import HOUSEHOLD_OWNER, OWNER
from postroom.message.delivery import Format, Priority
from postroom.message.outgoing import SEVERAL_AGENTS, Outgoing
from postroom.message.wishes import AcceptedNotice, Urgency, derived_id
from postroom.people.store.people import StoredPeople

ORIGIN: Final = "attention"  # in whose name several agents speak at once
_REMEMBERED_US: Final = seconds(50 * 3600)  # a local day and some hours: budgets, collect windows and keys look back
_MARGIN_US: Final = seconds(60)
_FRESH_US: Final = seconds(1)


# -- What a decision sends, as a message that does not change any more --


def frozen_message(
    state: AttentionState,
    decision: Decision,
    messages: Mapping[str, Outgoing],
    revises: DeliveryId | None = None,
    letters: Collection[str] = (),
) -> Outgoing:
    """
    `revises`: the delivery it changes where the channel can; files and buttons need a message of their own.
    `letters` are the channels whose messages have a subject.
    """
    message = _message(state, decision, messages, letters)
    if revises is not None and not message.attachments and message.markup is None:
        message = replace(message, revises=revises, deletes=decision.kind is DecisionKind.CORRECT)
    return frozen(message, decision.send or "")


def _message(
    state: AttentionState, decision: Decision, messages: Mapping[str, Outgoing], letters: Collection[str]
) -> Outgoing:
    if decision.digest is not None and len(decision.digest.members) > 1:
        notice, digest = state.notices[decision.notice].notice, decision.digest
        said = _digest(digest, messages, notice.apart_at(digest.person, digest.channel))
        return replace(said, subject=subject(digest)) if digest.channel in letters else said
    placed = _placed(state, decision, messages[decision.notice])
    if decision.kind is DecisionKind.CORRECT:
        return _corrected(state, decision, placed)
    return placed


def _placed(state: AttentionState, decision: Decision, asked: Outgoing) -> Outgoing:
    """As it was asked for where it goes where it was meant to; elsewhere to the person, by id."""
    notice = state.notices[decision.notice].notice
    person, channel = decision.person or notice.person, decision.channel or notice.channel
    if (person, channel) == (notice.person, notice.channel):
        return asked
    markup = asked.markup if channel == notice.channel else None  # another channel may have no buttons
    return replace(asked, channel=channel, recipient=person, markup=markup)


def _corrected(state: AttentionState, decision: Decision, placed: Outgoing) -> Outgoing:
    text = f"Withdrawn: {state.notices[decision.notice].notice.text}"
    return replace(placed, message=text, format=Format.PLAIN, attachments=(), markup=None)


def _digest(digest: Digest, messages: Mapping[str, Outgoing], apart: str | None) -> Outgoing:
    """What goes to an address of its own is sent by who knows that address."""
    agents = sorted({messages[name].origin_butler for name in digest.members})
    return Outgoing(
        origin_butler=apart or ORIGIN,
        asker=SEVERAL_AGENTS.join(agents),
        channel=digest.channel,
        recipient=messages[digest.members[0]].recipient if apart else digest.person,
        message=render(digest, [messages[name] for name in digest.members]),
    )


# -- One turn --


@dataclass(frozen=True, slots=True, kw_only=True)
class NewNotice:
    """A notice with the message it is about; `fingerprint` tells whether one key means one message."""

    fact: NoticeAccepted
    outgoing: Outgoing
    request_id: str
    fingerprint: str


@dataclass(slots=True)
class Turn:
    person: str
    loaded: Loaded
    book: PolicyBook
    now_us: int
    letters: frozenset[str] = frozenset()
    state: AttentionState = field(init=False)
    policy: Policy | None = field(init=False)
    decisions: list[Decision] = field(init=False, default_factory=list)
    _events: list[Fact | Decision] = field(init=False, default_factory=list)
    _paths: dict[str, list[str]] = field(init=False, default_factory=dict)
    _new: dict[str, NewNotice] = field(init=False, default_factory=dict)
    _due: dict[Reason, int] = field(init=False, default_factory=dict)

    def __post_init__(self) -> None:
        self.state = self.loaded.state(self.person)
        self.policy = self.loaded.policy
        self.book = self.book.with_own(self.person, self.policy)

    @property
    def moment_us(self) -> int:
        """Never before what was folded: a clock that was set back stands still here."""
        return max(self.now_us, self.state.clock_us)

    def accept(self, new: NewNotice) -> None:
        self._new[new.fact.notice.id] = new
        self.take(new.fact)

    def take(self, fact: Fact) -> None:
        if isinstance(fact, PolicyChanged):
            self.policy = fact.policy
            self.book = self.book.with_own(self.person, fact.policy)
        silences = self.state.silences
        self._fold(fact)
        if isinstance(fact, Unmuted):
            for ended in (one for one in silences if one.is_of(fact) and one.missed):
                self.accept(_missed(ended, self.person, fact.at_us))

    def hear_of_channels(self, down: frozenset[str] | None) -> None:
        """None: not known here."""
        if down is None:
            return
        for channel in sorted(down - self.state.down.keys()):
            self.take(ChannelDown(at_us=self.moment_us, channel=channel))
        for channel in sorted(self.state.down.keys() - down):
            self.take(ChannelUp(at_us=self.moment_us, channel=channel))

    def judge(self) -> None:
        """What is due comes before the end of a mute at the same moment, as before any fact."""
        moment_us, due = self.moment_us, self._decide()
        if ended := [one for one in self.state.silences if one.until_us is not None and one.until_us <= moment_us]:
            for one in ended:
                self.take(Unmuted(at_us=moment_us, agent=one.agent, thread=one.thread, category=one.category))
            due = self._decide()
        ends = [one.until_us for one in self.state.silences if one.until_us is not None]
        goes_on = [*ends, *([due[Reason.GO_ON]] if Reason.GO_ON in due else [])]
        self._due = due | ({Reason.GO_ON: min(goes_on)} if goes_on else {})

    def _decide(self) -> dict[Reason, int]:
        decisions, due, _ = decided(self.state, self.book, self.moment_us)
        for decision in decisions:
            self._fold(decision)
            self.decisions.append(decision)
        return due

    def own_send(self, notice_id: str) -> str | None:
        """What was decided just now to be sent for this notice."""
        return next((one.send for one in reversed(self.decisions) if one.notice == notice_id and one.send), None)

    @property
    def changes_anything(self) -> bool:
        before = self.loaded.person
        return bool(self._events) or (before is not None and self.loaded.due != self._due)

    def changes(self, *, leased: str | None = None, lease_us: int | None = None) -> NoticeChanges:
        """`leased`: the key of a send that the caller hands over itself."""
        seq = self.loaded.person.seq if self.loaded.person is not None else 0
        rest = Rest(**{one.name: getattr(self.state, one.name) for one in fields(Rest)})
        known, sends = {one.id for one in self.loaded.digests}, [*self._sends()]
        return NoticeChanges(
            person=PersonRow(
                person=self.person,
                policy=self.policy,
                rest=rest,
                seq=seq + len(self._events),
            ),
            notices=tuple(self._notices()),
            sends=tuple(altered(one, lease_until_us=lease_us, fence=1) if one.key == leased else one for one in sends),
            digests=tuple(one for name, one in self.state.digests.items() if name not in known),
            due=self._due,
            log=tuple(LogRow(seq=seq + place, event=one) for place, one in enumerate(self._events, start=1)),
        )

    def _fold(self, event: Fact | Decision) -> None:
        before, self.state = self.state.notices, fold(self.state, event)
        self._events.append(event)
        for name, standing in self.state.notices.items():
            if standing is not before.get(name):
                path = self._paths.setdefault(name, [])
                if not path or path[-1] != str(standing.state):
                    path.append(str(standing.state))

    def _notices(self) -> Iterator[NoticeRow]:
        before = {one.id: one.standing for one in self.loaded.notices}
        for name, path in self._paths.items():
            standing, new = self.state.notices[name], self._new.get(name)
            if new is not None:
                yield NoticeRow(
                    standing=standing,
                    fingerprint=new.fingerprint,
                    request_id=new.request_id,
                    outgoing=to_json(new.outgoing),
                    path=tuple(path),
                )
            elif before.get(name) != standing:
                yield NoticeRow(standing=standing, path=tuple(path))

    def _sends(self) -> Iterator[SendRow]:
        known = {one.key: one for one in self.loaded.sends}
        frozen = {one.send: one for one in reversed(self.decisions) if one.send is not None}
        messages = _Messages(self.loaded, self._new)
        for key, send in self.state.sends.items():
            if key not in known:
                yield self._frozen(send, frozen[key], messages, known)
            elif known[key].send != send:
                yield SendRow(person=self.person, send=send)

    def _frozen(
        self, send: NoticeSend, decision: Decision, messages: _Messages, known: Mapping[str, SendRow]
    ) -> SendRow:
        before = revised(self.state, decision, known)
        outgoing = frozen_message(self.state, decision, messages, before, self.letters)
        is_notice = outgoing == frozen(messages[decision.notice], send.key)
        several = decision.digest is not None and len(decision.digest.members) > 1
        request = send.key if several else self._request_of(decision.notice)
        return SendRow(
            person=self.person,
            send=send,
            outgoing=to_json(outgoing),
            notice=decision.notice if is_notice else None,
            request_id=request,
        )

    def _request_of(self, notice_id: str) -> str:
        new = self._new.get(notice_id)
        return new.request_id if new else next(one.request_id for one in self.loaded.notices if one.id == notice_id)


def _missed(silence: Silence, person: str, at_us: int) -> NewNotice:
    """What an ended silence kept from the person, as a message of ours that waits for its moment like any other."""
    asked = Outgoing(
        origin_butler=MUTES,
        channel=silence.channel or "",
        recipient=person,
        message=missed_words(silence),
        priority=Priority.LOW,
    )
    name = derived_id("missed", person, *silence.what, at_us)[:32]
    notice = AcceptedNotice(
        id=name,
        person=person,
        agent=MUTES,
        created_us=at_us,
        channel=asked.channel,
        text=asked.message,
        urgency=Urgency.PASSIVE,
        fingerprint=name,
    )
    return NewNotice(fact=NoticeAccepted(at_us=at_us, notice=notice), outgoing=asked, request_id=name, fingerprint=name)


class _Messages(dict[str, Outgoing]):
    """Decoded when they are asked for."""

    def __init__(self, loaded: Loaded, new: dict[str, NewNotice]) -> None:
        super().__init__({name: one.outgoing for name, one in new.items()})
        self._rows = {one.id: one for one in loaded.notices}

    def __missing__(self, name: str) -> Outgoing:
        return self._rows[name].message


# -- Everybody's policies as they are known in this process, and the one way to change a person's notices --


@dataclass(frozen=True, slots=True, kw_only=True)
class HouseholdNames:
    """Ids of people, by what one calls them."""

    people: StoredPeople

    async def owner(self) -> str | None:
        found = await self.people.find(HOUSEHOLD_OWNER, OWNER)
        return found[0].id if found else None

    async def at(self, channel: str, address: str) -> str | None:
        found = await self.people.at(HOUSEHOLD_OWNER, channel, address)
        return found[0].id if len(found) == 1 else None

    async def places(self, person: str) -> list[tuple[str, str]]:
        found = await self.people.get(HOUSEHOLD_OWNER, person)
        return [(one.channel, one.address) for one in found.addresses] if found is not None else []

    async def called(self, name: str) -> str | None:
        found = await self.people.find(HOUSEHOLD_OWNER, name)
        return found[0].id if len(found) == 1 else None


@dataclass(slots=True, kw_only=True)
class NoticeBook:
    """
    `woken`: rung when there is something to hand over; `down`: channels that are, None where that is not known.

    `letters`: channels whose messages have a subject.

    `mark`: touched when somebody's wishes change, so that every process of the home heeds them at once.
    """

    store: StoredNotices
    people: HouseholdNames
    clock: Clock
    household: Policy | None = None
    rotations: Mapping[str, Rotation] = field(default_factory=dict)
    zone: str = "UTC"
    letters: frozenset[str] = frozenset()
    woken: Signal = field(default_factory=Signal)
    down: frozenset[str] | None = None
    mark: FileMark | None = None
    policies: PolicyBook = field(init=False)
    known: frozenset[str] = field(init=False, default=frozenset())  # people with a row
    wishing: frozenset[str] = field(init=False, default=frozenset())  # those of them with wishes beside a policy
    _read_us: int = field(init=False, default=-_FRESH_US)
    _ids: dict[str, str] = field(init=False, default_factory=dict)

    def __post_init__(self) -> None:
        self.policies = PolicyBook(household=self.household, rotations=self.rotations, zone=self.zone)

    def zone_of(self, person: str) -> str:
        """In which the person is told of moments."""
        return self.policies.rules(person).zone

    @property
    def neutral(self) -> bool:
        """Nobody wants anything: nothing that comes anew needs to be asked."""
        return self.household is None and not self.policies.people and not self.wishing

    def concerns(self, person: str) -> bool:
        """Whether what comes anew for them may have to wait; for having a row alone it has not."""
        return not self.policies.neutral(person) or person in self.wishing

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
        everybody = await self.store.everybody()
        self._read_us = self.clock.now_us()
        people = {one.person: one.policy for one in everybody if one.policy is not None}
        household = await self.by_id(self.household) if self.household is not None else None
        rotations = {name: await self._rotation(one) for name, one in self.rotations.items()}
        self.policies = PolicyBook(
            household=household, people=people, rotations=rotations, zone=self.zone, zones=await self.store.zones()
        )
        self.known = frozenset(one.person for one in everybody)
        self.wishing = frozenset(one.person for one in everybody if one.rest.has_wishes)

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
            made.append(self.begun(person, loaded, self.clock.now_us()))
            return step(made[-1])

        await self.store.change(person, self.wanted(person, wanted), edit)
        turn = made[-1]
        self.known |= {person} if turn.loaded.person is not None or turn.changes_anything else frozenset()
        self.wishing = self.wishing | {person} if turn.state.has_wishes else self.wishing - {person}
        return turn

    def begun(self, person: str, loaded: Loaded, now_us: int) -> Turn:
        turn = Turn(person, loaded, self.policies, now_us, self.letters)
        turn.hear_of_channels(self.down)
        return turn

    def wanted(self, person: str, more: Wanted | None = None) -> Wanted:
        looked_back = max(_REMEMBERED_US, seconds(self.policies.rules(person).duplicate_seconds) + _MARGIN_US)
        return replace(more or Wanted(), since_us=self.clock.now_us() - looked_back)

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
