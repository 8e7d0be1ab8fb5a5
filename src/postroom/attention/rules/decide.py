"""The one decision about a person's notices: what leaves now, what waits and until when."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from postroom.attention.model import CELLS, ON_ITS_WAY, OPEN, UNSENT, Decision, DecisionKind, NoticeState
from postroom.attention.rules.digest import Digest, Member, frozen, shared_out
from postroom.attention.rules.fold import fold, next_due, passed_on, superfluous
from postroom.attention.rules.policy import PolicyBook
from postroom.attention.rules.reasons import (
    PATIENCE_US,
    Scene,
    another,
    longest_us,
    opened_by,
    over_budget,
    recipient,
    route,
    silenced,
    slot_reached,
    waits,
)
from postroom.attention.rules.times import slots_at
from postroom.attention.state import (
    Acked,
    AttentionState,
    Fact,
    NoticeAccepted,
    NoticeSend,
    SendKind,
    SendOutcome,
    SendRow,
    Standing,
)
from postroom.kernel.values.ids import DeliveryId
from postroom.kernel.values.moments import Reason
from postroom.message.wishes import Because, HoldReason, Urgency, derived_id, rank

_K = DecisionKind
_MOST_PASSES: Final = 1000
_UNANSWERED: Final = {_K.REPEAT: Reason.REMIND, _K.ESCALATE: Reason.ESCALATE, _K.GIVE_UP: Reason.EXPIRE}
_FIRST: Final = (_K.RELEASE, _K.DELEGATE)


# -- Where a notice goes when it leaves, and what has to be said with it --


@dataclass(frozen=True, slots=True)
class Leaving:
    """`marks`: what was not as its agent asked. `due_us`: when it could have left. `slots`: those it leaves by."""

    standing: Standing
    urgency: Urgency
    person: str
    channel: str
    marks: tuple[HoldReason, ...]
    due_us: int
    slots: tuple[tuple[str, int], ...]

    @property
    def alone(self) -> bool:
        """What asks for an answer has a card of its own."""
        return self.standing.notice.needs_ack or self.urgency is Urgency.CRITICAL

    @property
    def place(self) -> _Place:
        """With all that goes there it may be one message."""
        notice = self.standing.notice
        return self.person, self.channel, notice.apart_at(self.person, self.channel)


def leaving(scene: Scene, now_us: int) -> Leaving:
    standing, rules = scene.standing, scene.rules
    way = route(scene.state, rules, standing.notice.channel, now_us)
    slot = slot_reached(scene, now_us)
    names = slots_at(rules.slots, rules.quiet_hours, rules.zone, slot) if slot is not None else ()
    return Leaving(
        standing=standing,
        urgency=scene.urgency,
        person=recipient(scene, now_us),
        channel=way.channel or standing.notice.channel,
        marks=tuple(_marks(scene, way.channel, now_us)),
        due_us=standing.until_us if standing.until_us is not None else now_us,
        slots=tuple((name, slot) for name in names) if slot is not None else (),
    )


def _marks(scene: Scene, channel: str | None, now_us: int) -> list[HoldReason]:
    standing = scene.standing
    found = [
        (Because.CEILING, scene.urgency is not standing.notice.urgency),
        (Because.CHANNEL, channel != standing.notice.channel),
        (Because.LONGEST_HOLD, standing.until_us is not None and standing.until_us == longest_us(scene, now_us)),
    ]
    return [HoldReason(reason) for reason, counts in found if counts]


@dataclass(frozen=True, slots=True)
class Detour:
    """Another channel for what was sent, of whom, and when it is taken; none when there is none left."""

    at_us: int
    channel: str | None
    because: Because
    person: str


def _detour(scene: Scene, send: NoticeSend) -> Detour | None:
    """After a send that failed finally, or one without a receipt whose channel stays down."""
    other = another(scene.state, scene.rules, scene.standing.tried)
    if send.outcome is SendOutcome.FAILED:
        failed_us = send.receipt_us or 0
        if other is None and (step := passed_on(scene, failed_us)) is not None:
            return Detour(step.at_us, step.channel, step.because, step.person or "")
        return Detour(failed_us, other, Because.FAILED, send.person)
    if send.pending and other is not None and send.channel in scene.state.down:
        return Detour(scene.state.down[send.channel] + PATIENCE_US, other, Because.CHANNEL, send.person)
    return None


# -- The decision --

_Place = tuple[str, str, str | None]
Groups = dict[_Place, list[Leaving]]


def decide(state: AttentionState, book: PolicyBook, now_us: int) -> tuple[tuple[Decision, ...], int | None]:
    """
    Pure. The decisions that are due, in order, and the next moment at which something is due by itself.

    The decisions are not folded yet: the caller stores them and folds them in this order. Asked again right after that
    it returns none, and asked earlier than `next_at` without a new fact it returns none as well. Time never goes back:
    a clock that was set back counts as the latest moment that was folded.
    """
    decisions, due, _ = decided(state, book, now_us)
    return decisions, min(due.values(), default=None)


def decided(
    state: AttentionState, book: PolicyBook, now_us: int
) -> tuple[tuple[Decision, ...], dict[Reason, int], AttentionState]:
    """The same: for each reason when it is due, and the state into which the decisions are folded."""
    turn = _Turn(state, book, max(now_us, state.clock_us))
    for _ in range(_MOST_PASSES):
        if not turn.goes_on():
            break
    return tuple(turn.made), turn.moments(), turn.state


class _Turn:
    """One call of `decide`: each decision is folded at once, so that the next one sees it."""

    def __init__(self, state: AttentionState, book: PolicyBook, now_us: int) -> None:
        self.state, self.book, self.now_us = state, book, now_us
        self.made: list[Decision] = []

    def goes_on(self) -> bool:
        """One pass over all that is not settled, oldest first; whether it decided anything."""
        before, groups = len(self.made), Groups()
        for listed in self.state.unsettled():
            standing = self.state.notices[listed.notice.id]
            if standing.state in UNSENT:
                self._unsent(standing, groups)
            elif standing.state in ON_ITS_WAY:
                self._on_its_way(standing)
            else:
                self._left(standing)
        for group in groups.values():
            self._leave_together(group)
        return len(self.made) > before

    def moments(self) -> dict[Reason, int]:
        found: dict[Reason, int] = {}
        for standing in self.state.unsettled():
            for reason, moment in self._wakes(standing):
                if moment is not None and moment > self.now_us:
                    found[reason] = min(moment, found.get(reason, moment))
        return found

    def _wakes(self, standing: Standing) -> Iterable[tuple[Reason, int | None]]:
        scene = self._scene(standing)
        if standing.state in UNSENT:
            return (Reason.GO_ON, standing.until_us), (Reason.GO_ON, scene.rules.expiry(standing.notice))
        if standing.state in ON_ITS_WAY:
            other = _detour(scene, self.state.sends[standing.send or ""])
            return ((Reason.GO_ON, other.at_us if other else None),)
        due = next_due(scene) if standing.state is NoticeState.WAITING else None
        return ((_UNANSWERED[due.kind], due.at_us),) if due else ()

    def _scene(self, standing: Standing) -> Scene:
        return Scene.of(self.state, self.book, standing)

    def _unsent(self, standing: Standing, groups: Groups) -> None:
        scene = self._scene(standing)
        if self._ends(scene):
            return
        wait = waits(scene, self.now_us)
        if wait.free_us is None or wait.free_us > self.now_us:
            if standing.state is NoticeState.ACCEPTED or wait.free_us != standing.until_us:
                kind = _K.JOIN_DIGEST if wait.joins else _K.HOLD
                self._make(scene, kind, reasons=wait.reasons, until_us=wait.free_us)
            return
        goes = leaving(scene, self.now_us)
        fresh = standing.state is NoticeState.ACCEPTED and opened_by(scene, self.now_us) is None
        if fresh or goes.alone:
            self._leave_alone(goes)
        else:
            groups.setdefault(goes.place, []).append(goes)

    def _ends(self, scene: Scene) -> bool:
        """Whether it is over without being sent."""
        notice, expires = scene.standing.notice, scene.rules.expiry(scene.standing.notice)
        buried = self.state.tombstones.get((notice.agent, notice.key or ""), 0)
        if scene.standing.state is NoticeState.ACCEPTED and buried > self.now_us:
            self._make(scene, _K.WITHDRAW, reasons=(HoldReason(Because.TOMBSTONE, buried),))
        elif expires is not None and expires <= self.now_us:
            self._make(scene, _K.EXPIRE, reasons=(HoldReason(Because.EXPIRED, expires),))
        elif (silence := silenced(scene, self.now_us)) is not None:
            self._make(scene, _K.MUTE, reasons=(HoldReason(Because.MUTED, silence.until_us),))
        else:
            return self._merges(scene)
        return True

    def _merges(self, scene: Scene) -> bool:
        other = superfluous(scene)
        if other is not None:
            self._make(scene, _K.MERGE, reasons=(HoldReason(other[1]),), into=other[0])
        return other is not None

    def _leave_together(self, group: list[Leaving]) -> None:
        if len(group) == 1:
            self._leave_alone(group[0])
            return
        first = group[0]
        for members in shared_out([_member(one.standing, one.urgency) for one in group]):
            digest = self._digest(members, first.person, first.channel, first.due_us)
            for one in group:
                if one.standing.notice.id in digest.members:
                    self._collect(one.standing, digest, (*one.marks, *_late(digest)), slots=one.slots)

    def _leave_alone(self, goes: Leaving) -> None:
        scene = self._scene(goes.standing)
        over = over_budget(scene, self.now_us)
        if over is not None and over.wait is not None:
            self._make(scene, _K.HOLD, reasons=over.wait.reasons, until_us=over.wait.free_us)
            return
        marks = (*goes.marks, HoldReason(Because.OVER_BUDGET)) if over is not None else goes.marks
        kind = _K.DELEGATE if goes.person != self.state.person else _K.RELEASE
        self._send(scene, kind, "first", reasons=marks, person=goes.person, channel=goes.channel, slots=goes.slots)

    def _on_its_way(self, standing: Standing) -> None:
        scene, send = self._scene(standing), self.state.sends[standing.send or ""]
        other = _detour(scene, send)
        if other is None or other.at_us > self.now_us:
            return
        reasons = (HoldReason(other.because),)
        if other.channel is None:
            self._make(scene, _K.FAIL, reasons=reasons)
        elif standing.state is NoticeState.DIGESTING:
            self._other_way(standing, other.channel, reasons)
        else:
            replaces = send.key if send.pending else None
            where = {"person": other.person, "channel": other.channel, "replaces": replaces}
            kind, what = _K.RELEASE, f"fallback:{other.channel}"
            if other.person != send.person:
                kind, what = _K.DELEGATE, f"passed_on:{other.person}:{other.channel}"
            self._send(scene, kind, what, reasons=reasons, **where)

    def _other_way(self, standing: Standing, channel: str, reasons: tuple[HoldReason, ...]) -> None:
        """A digest goes with all that are still in it."""
        send = self.state.sends[standing.send or ""]
        rest = [self.state.notices[name] for name in send.notices]
        rest = [one for one in rest if one.state is NoticeState.DIGESTING and one.send == send.key]
        digest = self._digest([_member(one, one.urgency) for one in rest], send.person, channel, send.at_us)
        for one in rest:
            self._collect(one, digest, reasons, replaces=send.key if send.pending else None)

    def _left(self, standing: Standing) -> None:
        scene = self._scene(standing)
        if standing.to_correct:
            (person, channel), reasons = standing.reached[0], (HoldReason(Because.WITHDRAWN),)
            self._send(scene, _K.CORRECT, "correction/recall", reasons=reasons, person=person, channel=channel)
        elif standing.state is NoticeState.WAITING and not self._merges(scene):
            self._unanswered(scene)

    def _unanswered(self, scene: Scene) -> None:
        due = next_due(scene)
        if due is None or due.at_us > self.now_us:
            return
        urgency, reasons = scene.standing.urgency, (HoldReason(due.because),)
        if due.kind is _K.GIVE_UP or due.person is None:
            self._make(scene, due.kind, urgency=urgency, reasons=reasons, step=due.step)
            return
        cause = f"step/{due.step}" if due.step else f"repeat/{scene.standing.repeats + 1}"
        where = {"person": due.person, "channel": due.channel}
        self._send(scene, due.kind, cause, urgency=urgency, reasons=reasons, step=due.step, **where)

    def _digest(self, members: list[Member], person: str, channel: str, due_us: int) -> Digest:
        return frozen(members, person=person, channel=channel, at_us=self.now_us, due_us=due_us)

    def _collect(self, standing: Standing, digest: Digest, reasons: tuple[HoldReason, ...], **fields: Any) -> None:
        where = {"send": digest.id, "person": digest.person, "channel": digest.channel}
        if digest.id not in self.state.digests:
            fields["digest"] = digest
        cause = f"digest/{digest.id}/{standing.notice.id}"
        self._make(self._scene(standing), _K.CLOSE_DIGEST, cause=cause, reasons=reasons, **where, **fields)

    def _send(self, scene: Scene, kind: DecisionKind, what: str, **fields: Any) -> None:
        cause = f"notice/{scene.standing.notice.id}/{scene.standing.round}/{what}"
        self._make(scene, kind, cause=cause, send=derived_id("send", cause), **fields)

    def _make(self, scene: Scene, kind: DecisionKind, *, cause: str | None = None, **fields: Any) -> None:
        standing = scene.standing
        seq = standing.seq + 1
        cause = cause or f"notice/{standing.notice.id}/{seq}/{kind}"
        decision = Decision(
            id=derived_id(cause),
            cause=cause,
            notice=standing.notice.id,
            seq=seq,
            at_us=self.now_us,
            kind=kind,
            policy_hash=scene.rules.hash,
            **{"urgency": scene.urgency, **fields},
        )
        self.made.append(decision)
        self.state = fold(self.state, decision)


def _member(standing: Standing, urgency: Urgency) -> Member:
    return Member(notice=standing.notice, urgency=urgency, round=standing.round)


def _late(digest: Digest) -> tuple[HoldReason, ...]:
    return (HoldReason(Because.LATE),) if digest.late else ()


# -- Which message a later one may change where it stands, instead of being one more --


def revised(state: AttentionState, decision: Decision, rows: Mapping[str, SendRow]) -> DeliveryId | None:
    """A correction changes what its notice was sent as; a newer notice of a key changes what the older one was."""
    earlier = _earlier(state, decision)
    send = state.sends.get(earlier.send or "") if earlier is not None else None
    if send is None or send.kind is not SendKind.NOTICE or send.outcome is not SendOutcome.OK:
        return None
    row = rows.get(send.key)
    if row is None or row.delivery_id is None or (send.person, send.channel) != (decision.person, decision.channel):
        return None
    revises = row.message.revises if row.outgoing is not None else None  # without words of its own it was new
    return revises or DeliveryId(row.delivery_id)


def _earlier(state: AttentionState, decision: Decision) -> Standing | None:
    standing = state.notices[decision.notice]
    if decision.kind is DecisionKind.CORRECT:
        return standing
    if decision.kind not in _FIRST or standing.notice.key is None or _must_be_heard(standing, decision):
        return None
    older = [one for one in state.in_order() if one.state is NoticeState.SENT and _is_older(one, standing)]
    return older[-1] if older else None


def _must_be_heard(standing: Standing, decision: Decision) -> bool:
    """What is changed where it stands makes no sound."""
    return standing.notice.needs_ack or rank(decision.urgency) >= rank(Urgency.TIME_SENSITIVE)


def _is_older(one: Standing, than: Standing) -> bool:
    older, newer = one.notice, than.notice
    return (older.agent, older.key) == (newer.agent, newer.key) and older.order < newer.order


# The laws that no notice is lost by, none sent twice and none forgotten: what each finds unaccounted for.

_POLICY: Final = (Because.QUIET, Because.SLOT, Because.COLLECT, Because.BUDGET)
_S = NoticeState
_NEEDS_RECEIPT: Final = (_S.SENT, _S.DIGESTED, _S.WAITING, _S.UNANSWERED, _S.RECALLED)
Events = Iterable[Fact | Decision]


def every_notice_in_one_cell(state: AttentionState, accepted: Iterable[str]) -> list[str]:
    """L1. What was accepted is what the cells of the summary hold."""
    names = set(accepted)
    lost = [f"L1 {name} was accepted and is nowhere" for name in sorted(names - state.notices.keys())]
    strange = [f"L1 {name} is here and was never accepted" for name in sorted(state.notices.keys() - names)]
    cells = {name: sum(one.state in states for states in CELLS.values()) for name, one in state.notices.items()}
    return lost + strange + [f"L1 {name} is in {count} cells" for name, count in cells.items() if count != 1]


def every_send_has_one_cause(decisions: Iterable[Decision]) -> list[str]:
    """L2. A cause decides once, and a key of a send belongs to one notice or to one digest."""
    made = list(decisions)
    twice = [
        f"L2 {cause} was decided {count} times" for cause, count in Counter(d.cause for d in made).items() if count > 1
    ]
    owners: dict[str, set[str]] = {}
    for one in made:
        if one.send is not None:
            owner = one.send if one.kind is DecisionKind.CLOSE_DIGEST else one.cause
            owners.setdefault(one.send, set()).add(owner)
    return twice + [f"L2 send {key} has {len(causes)} causes" for key, causes in owners.items() if len(causes) > 1]


def in_one_digest_at_most(state: AttentionState) -> list[str]:
    """L3. Of the digests by one channel a round of a notice is in one, and who is in a digest is a member of it."""
    inside = (NoticeState.DIGESTING, NoticeState.DIGESTED)
    found = []
    for name, one in state.notices.items():
        digest = state.digests.get(one.digest or "")
        if one.state in inside and (digest is None or name not in digest.members):
            found.append(f"L3 {name} is {one.state} and in no digest")
        if one.state in UNSENT and one.digest is not None:
            found.append(f"L3 {name} waits and is in a digest")
        if len(set(one.tried)) < len(one.tried):
            found.append(f"L3 {name} was sent twice by one channel in one round")
    return found


def the_log_is_the_state(state: AttentionState, events: Events, start: AttentionState) -> list[str]:
    """L4. Folding everything again gives what is stored."""
    for event in events:
        start = fold(start, event)
    differing = [name for name in start.notices if start.notices[name] != state.notices.get(name)]
    rest = [] if start == state or differing else ["L4 the rest of the state is not the fold of its log"]
    return [f"L4 {name} is not the fold of its log" for name in differing] + rest


def every_open_notice_has_a_next(state: AttentionState, book: PolicyBook, now_us: int) -> list[str]:
    """L5. Nothing is due, everything open has a next moment or waits for something outside, and not for too long."""
    due, _ = decide(state, book, now_us)
    return [f"L5 {one.kind} of {one.notice} is due and not done" for one in due] + _none_is_stuck(state, book, now_us)


def _none_is_stuck(state: AttentionState, book: PolicyBook, now_us: int) -> list[str]:
    """L5, without what is due: between its moment and the next round of the loop something always is."""
    standings = [one for one in state.in_order() if one.state in OPEN]
    return [f"L5 {one.notice.id} {problem}" for one in standings if (problem := _stuck(state, book, one, now_us))]


def _stuck(state: AttentionState, book: PolicyBook, standing: Standing, now_us: int) -> str | None:
    if standing.state in UNSENT:
        if standing.until_us is None:
            return None if any(one.until_us is None for one in standing.reasons) else "waits for nothing"
        longest = longest_us(Scene.of(state, book, standing), standing.until_us)
        asked = max((one.until_us or 0 for one in standing.reasons if one.reason not in _POLICY), default=0)
        return "is held too long" if standing.until_us > max(longest, asked, now_us) else None
    if standing.state is NoticeState.WAITING:
        return None
    return None if standing.send in state.sends else "is on its way by no send"


def nothing_after_the_answer(events: Events) -> list[str]:
    """L6. After an acknowledgement there is no repeat and no step."""
    acknowledged: set[str] = set()
    found = []
    for event in events:
        if isinstance(event, Acked):
            acknowledged.add(event.notice)
        elif isinstance(event, Decision) and event.notice in acknowledged and event.kind in (_K.REPEAT, _K.ESCALATE):
            found.append(f"L6 {event.kind} of {event.notice} after its answer")
    return found


def receipts_are_what_was_sent(state: AttentionState) -> list[str]:
    """L7. Everything that counts as sent has a receipt, and every receipt of a notice made it count as sent."""
    arrived = {
        name
        for send in state.sends.values()
        if send.outcome in (SendOutcome.OK, SendOutcome.UNCERTAIN) and send.kind in (SendKind.NOTICE, SendKind.DIGEST)
        for name in send.notices
    }
    sent = {name for name, one in state.notices.items() if one.state in _NEEDS_RECEIPT}
    waiting = {
        name for name, one in state.notices.items() if one.first_us is not None and one.state is NoticeState.RELEASED
    }
    return [f"L7 {name} counts as sent without a receipt" for name in sorted(sent - arrived)] + [
        f"L7 {name} arrived and is still on its way" for name in sorted(waiting)
    ]


def kept(
    state: AttentionState, book: PolicyBook, log: Sequence[Fact | Decision], start: AttentionState, now_us: int
) -> list[str]:
    """The same of what is on disk, where a log may have lost its beginning and something may be due just now."""
    accepted = [*start.notices, *(event.notice.id for event in log if isinstance(event, NoticeAccepted))]
    return [
        *every_notice_in_one_cell(state, accepted),
        *every_send_has_one_cause(event for event in log if isinstance(event, Decision)),
        *nothing_after_the_answer(log),
        *present(state, book, now_us),
    ]


def present(state: AttentionState, book: PolicyBook, now_us: int) -> list[str]:
    """Those that need no log."""
    stuck = _none_is_stuck(state, book, now_us)
    return in_one_digest_at_most(state) + receipts_are_what_was_sent(state) + stuck
