"""Which notice a person is shown when and where: the service behind every door."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from prometheus_client import CollectorRegistry, Gauge

from postroom.attention.considering import Considering, held_outcome
from postroom.attention.model import NoticeMove, NoticeState, Policy, may, policy_hash
from postroom.attention.reading import Comparison, NoticeReading, NoticeView, PlanItem
from postroom.attention.rules.policy import Absence, PolicyBook, Rules
from postroom.attention.rules.times import Rotation, after_open_time, open_time
from postroom.attention.state import (
    Acked,
    AwaySet,
    Fact,
    Muted,
    NoticeRow,
    PolicyChanged,
    Snoozed,
    Unmuted,
    Wanted,
    Withdrawn,
)
from postroom.attention.store import MOMENTS
from postroom.attention.turn import HouseholdNames, NoticeBook, Turn
from postroom.delivery.rules.policy import DeliveryDraft
from postroom.kernel.database.moments import StoredMoments
from postroom.kernel.values.errors import Code, ErrorClass, FieldError, Refused, ValidationError, error_of
from postroom.kernel.values.ids import altered, seconds
from postroom.message.outgoing import AnswerStatus, Outcome, Outgoing
from postroom.message.wishes import AcceptedNotice, Urgency

_MOST_HOPS: Final = 20
_PAST: Final = {NoticeMove.ACKNOWLEDGE: "acknowledged", NoticeMove.SNOOZE: "snoozed"}


@dataclass(slots=True, kw_only=True)
class Attention(NoticeReading):
    """
    Each act is one dated fact, folded and decided in one transaction under the person's lock.

    Who may do it is asked at the doors; that an agent withdraws only its own is asked here. `person` is the id of a
    person in the people book. Errors: Refused with `not_found` for what is not there, `illegal_transition` for a notice
    that can no longer do that, ValidationError for what can never be, StoreUnavailable.
    `considering` is there where messages leave.
    """

    considering: Considering | None = None

    async def consider(self, draft: DeliveryDraft, *, wait_seconds: float = 0.0) -> Outcome | DeliveryDraft:
        """The draft: go on as if nothing had been asked. Else the answer: deferred, or what became of it at once."""
        if self.considering is None:
            return draft
        return await self.considering.consider(draft, wait_seconds)

    async def forecast(self, draft: DeliveryDraft) -> Outcome | None:
        """As `consider` would hold it; None when it would leave now. Nothing is written."""
        return await self.considering.forecast(draft) if self.considering is not None else None

    async def ack(self, notice_id: str, by: str) -> NoticeView:
        """`by`: the id of the person who did. A second time is the same answer."""
        row = await self._found(notice_id)
        if row.standing.state is NoticeState.ACKNOWLEDGED:
            return await self.view(row)
        return await self._act(row, NoticeMove.ACKNOWLEDGE, lambda at: Acked(at_us=at, notice=row.id, by=by))

    async def snooze(self, notice_id: str, until_us: int) -> NoticeView:
        row = await self._found(notice_id)
        if until_us <= self.book.clock.now_us():
            raise ValidationError.of([FieldError("until", "must lie in the future", "in_the_past")])
        return await self._act(row, NoticeMove.SNOOZE, lambda at: Snoozed(at_us=at, notice=row.id, until_us=until_us))

    async def put_off(self, outgoing: Outgoing, request_id: str, person: str, until_us: int) -> NoticeView | None:
        """What left before anybody kept a notice of it, to be shown again then; None where no messages leave."""
        if self.considering is None:
            return None
        return await self.notice(await self.considering.put_off(outgoing, request_id, person, until_us))

    async def withdraw(
        self, agent: str, notice_id: str | None = None, key: str | None = None
    ) -> tuple[NoticeView, ...]:
        """One by its id, or all of the agent's key; a key that has not come yet is remembered, and the answer empty."""
        if (notice_id is None) == (key is None):
            raise ValidationError.of([FieldError("notice_id", "either this or a key is needed", "required")])
        if notice_id is not None:
            row = await self._found(notice_id)
            if row.standing.notice.agent != agent:
                raise _not_found()
            wanted = Wanted(notices=(row.id,))
            await self._change(row.person, lambda at: Withdrawn(at_us=at, agent=agent, notice=row.id), wanted)
            return (await self.view(await self._found(notice_id)),)
        return await self._withdraw_key(agent, key or "")

    async def _withdraw_key(self, agent: str, key: str) -> tuple[NoticeView, ...]:
        meant = await self.book.store.of_key(agent, key)
        people = {one.person for one in meant} or await self._everybody()
        for person in sorted(people):
            wanted = Wanted(agent=agent, key=key)
            await self._change(person, lambda at: Withdrawn(at_us=at, agent=agent, key=key), wanted)
        return tuple([await self.view(one) for one in await self.book.store.of_key(agent, key)])

    async def _everybody(self) -> set[str]:
        """Who may be meant by a key that has not come yet."""
        owner = await self.book.people.owner()
        return {*(one.person for one in await self.book.store.everybody()), *([owner] if owner is not None else [])}

    async def mute(
        self,
        person: str,
        agent: str | None = None,
        thread: str | None = None,
        category: str | None = None,
        until_us: int | None = None,
    ) -> None:
        """At least one of agent, thread, category; `until_us` None: until it is unmuted."""
        _something(agent, thread, category)
        if category is not None and category in (await self.rules(person)).mandatory:
            said = f"'{category}' is mandatory here: it can be held in quiet hours, but not muted"
            raise ValidationError.of([FieldError("category", said, "mandatory")])
        what = {"agent": agent, "thread": thread, "category": category}
        await self._change(person, lambda at: Muted(at_us=at, until_us=until_us, **what))

    async def unmute(
        self, person: str, agent: str | None = None, thread: str | None = None, category: str | None = None
    ) -> None:
        _something(agent, thread, category)
        what = {"agent": agent, "thread": thread, "category": category}
        await self._change(person, lambda at: Unmuted(at_us=at, **what))

    async def away(self, person: str, absence: Absence | None) -> None:
        """None: back now."""
        await self._change(person, lambda at: AwaySet(at_us=at, absence=absence))

    async def plan(self, notice_id: str) -> tuple[PlanItem, ...]:
        row = await self._found(notice_id)
        return await self.person_plan(row.person, notice_id)

    async def policy(self, person: str) -> tuple[Policy | None, str]:
        """The person's own, and the hash of what counts for them (the household's and their own)."""
        own = await self.own_policy(person)
        return own, policy_hash(self.book.policies.household, own)

    async def rules(self, person: str) -> Rules:
        """What counts for the person, with every field set."""
        await self.book.refresh()
        return self.book.policies.rules(person)

    async def zone_of(self, person: str) -> str:
        """In which the person is told of moments."""
        await self.book.keep_fresh()
        return self.book.zone_of(person)

    async def absences(self, person: str) -> tuple[Absence, ...]:
        """Those that are not over."""
        state, _ = await self.present(person)
        return tuple(one for one in state.absences if one.end_us > self.book.clock.now_us())

    async def stand_ins(self, first: str | None) -> dict[str, tuple[Absence, ...]]:
        """When a delegate is away as well, and the delegates of then."""
        found: dict[str, tuple[Absence, ...]] = {}
        waiting = [first] if first is not None else []
        while waiting and len(found) < _MOST_HOPS:
            one = waiting.pop()
            if one not in found:
                found[one] = await self.absences(one)
                waiting += [away.delegate for away in found[one] if away.delegate is not None]
        return found

    async def set_policy(self, person: str, policy: Policy | None) -> str:
        """Judges every open notice anew in the same transaction; returns the new hash. None: the household's alone."""
        named = await self._checked(person, policy) if policy is not None else None
        await self._change(person, lambda at: PolicyChanged(at_us=at, policy=named))
        await self.book.refresh()
        return policy_hash(self.book.policies.household, named)

    async def _checked(self, person: str, policy: Policy) -> Policy:
        """With people by their ids; raises ValidationError for who is not there, and for a step back to the person."""
        wrong = await missing(self.book.people, in_policy(policy, self.book.rotations))
        named = await self.book.by_id(policy)
        own = [n for n, step in enumerate(named.escalation or ()) if step.person == person]
        said = "is the person whose policy this is"
        wrong += [FieldError(f"escalation.{n}.person", said, "same_person") for n in own]
        if wrong:
            raise ValidationError.of(wrong)
        return named

    async def missing_people(self) -> tuple[str, ...]:
        """Whom a policy, a rotation or an absence names and who is not there, such as who was removed since."""
        await self.book.refresh()
        named = [*in_policy(self.book.household, self.book.rotations, "attention.")]
        named += in_rotations(self.book.rotations, "attention.rotations.")
        for person in sorted(self.book.known):
            path = f"the policy of {person}: "
            named += in_policy(self.book.policies.people.get(person), self.book.rotations, path)
            named += in_absences(await self.absences(person), f"the absence of {person}: ")
        return tuple(f"{one.field}: {one.error}" for one in await missing(self.book.people, named))

    async def simulate(self, person: str, policy: Policy | None, since_us: int) -> Comparison:
        """What this policy would have changed since then."""
        named = await self._checked(person, policy) if policy is not None else None
        return await self.compare(person, named, since_us)

    async def held(self, person: str | None) -> int:
        """How many of this person's wait for a better moment; counted without asking whether every law is kept."""
        return 0 if person is None else await self.book.store.held(person)

    async def audit(self) -> tuple[str, ...]:
        """Every law over all that is kept; must be empty."""
        people = await self.book.store.everybody()
        lost = await self.first_law()
        return (*lost, *[problem for one in people for problem in await self.audit_of(one.person)])

    async def _found(self, notice_id: str) -> NoticeRow:
        row = await self.book.store.notice(notice_id)
        if row is None:
            raise _not_found()
        return row

    async def _act(self, row: NoticeRow, move: NoticeMove, fact: Callable[[int], Fact]) -> NoticeView:
        def facts(turn: Turn) -> Iterable[Fact]:
            state = turn.state.notices[row.id].state
            if not may(state, move):
                raise Refused(Code.ILLEGAL_TRANSITION, f"a notice that is {state} cannot be {_PAST[move]}")
            return [fact(turn.moment_us)]

        await self.book.change(row.person, facts, wanted=Wanted(notices=(row.id,)))
        return await self.view(await self._found(row.id))

    async def _change(self, person: str, fact: Callable[[int], Fact], wanted: Wanted | None = None) -> None:
        if wanted is None:
            await self.book.refresh()
        await self.book.change(person, lambda turn: [fact(turn.moment_us)], wanted=wanted)
        self.book.tell_others()


def _not_found() -> Refused:
    return Refused(Code.NOT_FOUND, "there is no such notice")


def _something(agent: str | None, thread: str | None, category: str | None) -> None:
    if agent is None and thread is None and category is None:
        raise ValidationError.of([FieldError("agent", "one of agent, thread and category is needed", "required")])


# -- The people whom policies, rotations and absences name, and who of them is not there --

_Named = tuple[str, str]  # the field as it is written, and who stands in it


def in_policy(policy: Policy | None, rotations: Mapping[str, Rotation], path: str = "") -> Iterator[_Named]:
    for place, step in enumerate(policy.escalation or () if policy is not None else ()):
        if step.person is not None and step.person not in rotations:
            yield f"{path}escalation.{place}.person", step.person


def in_rotations(rotations: Mapping[str, Rotation], path: str) -> Iterator[_Named]:
    for name, rotation in rotations.items():
        for place, person in enumerate(rotation.people):
            yield f"{path}{name}.people.{place}", person
        for place, (_, _, person) in enumerate(rotation.overrides):
            yield f"{path}{name}.overrides.{place}.person", person


def in_absences(absences: Iterable[Absence], path: str) -> Iterator[_Named]:
    return ((f"{path}delegate", one.delegate) for one in absences if one.delegate is not None)


async def missing(people: HouseholdNames, named: Iterable[_Named]) -> list[FieldError]:
    unknown = [(field, name) for field, name in named if await people.called(name) is None]
    return [
        FieldError(field, f"{name!r} names no one person that is known here", "unknown_person")
        for field, name in unknown
    ]


# -- What has become of a notice, for the agent that sent it and for no other --

_S, _A = NoticeState, AnswerStatus
_FAILED: Final = {
    _S.UNDELIVERABLE: "no channel could deliver it",
    _S.REFUSED: "a person refused it",
}
_ANSWERS: Final = {
    **dict.fromkeys((_S.RELEASED, _S.DIGESTING), _A.ACCEPTED),
    **dict.fromkeys((_S.SENT, _S.DIGESTED, _S.WAITING, _S.ACKNOWLEDGED, _S.UNANSWERED), _A.OK),
    **dict.fromkeys(_FAILED, _A.ERROR),
    _S.MUTED: _A.MUTED,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class NoticeOutcomes:
    attention: Attention

    async def of(self, sender: str, notice_id: str) -> Outcome | None:
        """None for what is not the sender's, as for what never was."""
        view = await self.attention.notice(notice_id)
        return _outcome_of_notice(view) if view is not None and view.agent == sender else None


def _outcome_of_notice(view: NoticeView) -> Outcome:
    """What is not shown yet is deferred, and what another notice stands for: its reasons say which."""
    status, failed = _ANSWERS.get(view.state, _A.DEFERRED), _FAILED.get(view.state)
    error = error_of(ErrorClass.UNAVAILABLE, failed) if failed else None
    return altered(held_outcome(view.standing, None), status=status, notice_state=str(view.state), error=error)


# -- When people may be shown a question, and until when it then waits: the same policy as for notices --


_MOST_KNOWN: Final = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionTimes:
    book: NoticeBook
    _known: dict[int, PolicyBook] = field(default_factory=dict)

    async def shown_at(self, person: str, asker: str, urgency: Urgency, now_us: int) -> int:
        """Now, or when it is no longer quiet for them."""
        await self.book.keep_fresh()
        if self.book.policies.neutral(person):
            return now_us
        rules = self.book.policies.rules(person)
        return shown_at(rules, _capped(rules, person, asker, urgency), now_us)

    def channels_after(self, person: str) -> Sequence[tuple[str | None, float]]:
        """Channels that their escalation names, each so long after the one before; None is somebody else's step."""
        if self.book.policies.neutral(person):
            return ()
        steps = self.book.policies.rules(person).escalation
        return [(one.channel if one.person in (None, person) else None, one.after_seconds) for one in steps]

    async def policies(self) -> PolicyBook:
        """To be compared with those of the look before."""
        await self.book.keep_fresh()
        return self.book.policies

    async def deadline(
        self, people: Iterable[str], asker: str, urgency: Urgency, *, asked_us: int, deadline_us: int
    ) -> int:
        """Later by the quiet time of the one who has had all of it first: it does not run out while no one sees it."""
        await self.book.keep_fresh()
        return min((self._deadline(one, asker, urgency, asked_us, deadline_us) for one in people), default=deadline_us)

    async def reckoned_by(self, people: Sequence[str]) -> int:
        """The number of these people's wishes, which are `known` by it for as long as this process lives."""
        await self.book.keep_fresh()
        number = self.book.policies.number(people)
        self._known.setdefault(number, self.book.policies)
        if len(self._known) > _MOST_KNOWN:
            del self._known[next(iter(self._known))]
        return number

    def known(self, number: int | None) -> PolicyBook | None:
        return self._known.get(number) if number is not None else None

    def deadline_now(
        self, before: PolicyBook, people: Sequence[str], asker: str, urgency: Urgency, *, now_us: int, deadline_us: int
    ) -> int:
        """With other policies than before: what was left of the time that is not quiet is left still."""
        left = [open_left(rules, cap, now_us, deadline_us) for rules, cap in _those(before, people, asker, urgency)]
        until_us = now_us + max(left, default=0)
        return min((self._deadline(one, asker, urgency, now_us, until_us) for one in people), default=deadline_us)

    def later_by(self, before: PolicyBook, people: Sequence[str], asker: str, urgency: Urgency, *, now_us: int) -> int:
        """With other policies than before, how much later somebody is shown it; less than nothing when it is sooner."""
        was, is_now = (
            min((shown_at(rules, cap, now_us) for rules, cap in _those(book, people, asker, urgency)), default=now_us)
            for book in (before, self.book.policies)
        )
        return is_now - was

    def _deadline(self, person: str, asker: str, urgency: Urgency, asked_us: int, deadline_us: int) -> int:
        if self.book.policies.neutral(person):
            return deadline_us
        rules = self.book.policies.rules(person)
        return open_deadline(rules, _capped(rules, person, asker, urgency), asked_us, deadline_us)


def shown_at(rules: Rules, urgency: Urgency, now_us: int) -> int:
    """Now, or when quiet hours end."""
    return rules.quiet_until(urgency, now_us) or now_us


def open_deadline(rules: Rules, urgency: Urgency, asked_us: int, deadline_us: int) -> int:
    """The deadline, later by all the quiet time before it: it does not run out while the person is not shown it."""
    if rules.passes(urgency):
        return deadline_us
    return after_open_time(rules.quiet_hours, rules.zone, asked_us, max(deadline_us - asked_us, 0))


def open_left(rules: Rules, urgency: Urgency, now_us: int, until_us: int) -> int:
    if rules.passes(urgency):
        return max(until_us - now_us, 0)
    return open_time(rules.quiet_hours, rules.zone, now_us, until_us)


def _those(book: PolicyBook, people: Iterable[str], asker: str, urgency: Urgency) -> list[tuple[Rules, Urgency]]:
    """Each one's rules, and what an asker's urgency is by them."""
    rules = [(book.rules(one), one) for one in people]
    return [(one, _capped(one, person, asker, urgency)) for one, person in rules]


def _capped(rules: Rules, person: str, asker: str, urgency: Urgency) -> Urgency:
    """An asker asks; the person's ceilings and grants have the last word, by its name without its role."""
    agent = asker.partition(":")[2] or asker
    return rules.urgency(AcceptedNotice(id="", person=person, agent=agent, created_us=0, channel="", urgency=urgency))


# -- The laws, counted now and then --

LOOK_SECONDS: Final = 60.0
COUNT_SECONDS: Final = 3600.0
_MOST_LATE: Final = 1000


class AttentionMeter:
    def __init__(self, registry: CollectorRegistry) -> None:
        self._unaccounted = Gauge(
            "postroom_attention_unaccounted", "Notices that break a law of attention; must be 0", registry=registry
        )

    def unaccounted(self, count: int) -> None:
        self._unaccounted.set(count)


@dataclass(slots=True, kw_only=True)
class Auditor:
    """
    The laws of what is open, and of L5 also that nothing stays due: a person counts who was overdue at the look before
    as well, so that a machine that slept is not taken for one that forgot. All that is kept is counted once an hour,
    because that costs more the more there is.
    """

    attention: Attention
    moments: StoredMoments
    meter: AttentionMeter
    _late: frozenset[str] = field(init=False, default=frozenset())
    _lost: Sequence[str] = field(init=False, default=())
    _count_again_us: int = field(init=False, default=0)

    async def look(self) -> int:
        now_us = self.attention.book.clock.now_us()
        self.meter.unaccounted(await self._unaccounted(now_us) if self.attention.book.known else 0)
        return now_us + seconds(LOOK_SECONDS)

    async def _unaccounted(self, now_us: int) -> int:
        before, self._late = (
            self._late,
            frozenset(await self.moments.overdue(MOMENTS, now_us - seconds(LOOK_SECONDS), _MOST_LATE)),
        )
        if now_us >= self._count_again_us:
            self._lost = await self.attention.first_law()
            self._count_again_us = now_us + seconds(COUNT_SECONDS)
        return len(await self.attention.open_laws()) + len(self._lost) + len(before & self._late)
