"""What a fact or a decision makes of the state, and what follows when a notice that needs an answer has none."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Final, assert_never

from postroom.attention import state as fact
from postroom.attention.model import (
    LEFT,
    ON_ITS_WAY,
    OPEN,
    UNSENT,
    Decision,
    DecisionKind,
    EscalationStep,
    NoticeMove,
    NoticeState,
    may,
    moved,
)
from postroom.attention.rules.reasons import Scene, counted
from postroom.attention.rules.times import after_open_time
from postroom.attention.state import (
    AttentionState,
    MayArriveTwice,
    NoticeSend,
    ReceiptIn,
    Returned,
    SendKind,
    SendOutcome,
    Silence,
    Standing,
)
from postroom.kernel.values.ids import altered, seconds
from postroom.message.wishes import AcceptedNotice, Because, HoldReason, Urgency, rank

_TOMBSTONE_US: Final = seconds(72 * 3600)
_AboutOne = fact.Acked | fact.Snoozed | fact.NoticeRefused


# -- Facts --


def fold(state: AttentionState, event: fact.Fact | Decision) -> AttentionState:
    """Pure. A fact about a notice that is not there, or that can no longer make that move, changes nothing."""
    after = _fold_decision(state, event) if isinstance(event, Decision) else _fold_fact(state, event)
    return after if after.clock_us >= event.at_us else altered(after, clock_us=event.at_us)


def _fold_fact(state: AttentionState, event: fact.Fact) -> AttentionState:
    match event:
        case fact.NoticeAccepted():
            return _accepted(state, event)
        case fact.Acked() | fact.Snoozed() | fact.NoticeRefused():
            return _about_one(state, event)
        case fact.Withdrawn():
            return _withdrawn(state, event)
        case fact.Muted() | fact.Unmuted():
            return altered(state, silences=_silences(state, event))
        case fact.AwaySet():
            return altered(state, absences=_absences(state, event))
        case fact.ReceiptIn():
            return _fold_receipt(state, event)
        case fact.Returned():
            return _fold_return(state, event)
        case fact.MayArriveTwice():
            return _fold_twice(state, event)
        case fact.ChannelDown():
            return altered(state, down={event.channel: event.at_us, **state.down})
        case fact.ChannelUp():
            return altered(state, down={name: at for name, at in state.down.items() if name != event.channel})
        case fact.PolicyChanged():
            return state
        case _:
            assert_never(event)


def _accepted(state: AttentionState, event: fact.NoticeAccepted) -> AttentionState:
    if event.notice.id in state.notices:
        return state
    standing = Standing(notice=event.notice, urgency=event.notice.urgency)
    return altered(state, notices={**state.notices, event.notice.id: standing})


def _about_one(state: AttentionState, event: _AboutOne) -> AttentionState:
    standing = state.notices.get(event.notice)
    if standing is None:
        return state
    return altered(state, notices={**state.notices, event.notice: _after(standing, event)})


def _after(standing: Standing, event: _AboutOne) -> Standing:
    match event:
        case fact.Acked() if may(standing.state, NoticeMove.ACKNOWLEDGE):
            return altered(_move(standing, NoticeMove.ACKNOWLEDGE), acked_us=event.at_us)
        case fact.Snoozed() if may(standing.state, NoticeMove.SNOOZE):
            return _snoozed(standing, event)
        case fact.NoticeRefused() if may(standing.state, NoticeMove.REFUSE):
            return _move(standing, NoticeMove.REFUSE)
        case _:
            return standing


def _move(standing: Standing, move: NoticeMove) -> Standing:
    return altered(standing, state=moved(standing.state, move), until_us=None, reasons=())


def _snoozed(standing: Standing, event: fact.Snoozed) -> Standing:
    """What had left starts over, with the steps it has taken behind it."""
    after = _move(standing, NoticeMove.SNOOZE)
    if standing.state in LEFT:
        forgotten = dict.fromkeys(("digest", "first_us", "last_us", "step_us", "step_send", "repeat_send"))
        after = altered(after, round=standing.round + 1, repeats=0, tried=(), **forgotten)
    until_us = event.until_us
    reasons = (HoldReason(Because.SNOOZE, until_us),)
    return altered(after, snoozed_until_us=until_us, until_us=until_us, reasons=reasons, over_us=None)


def _withdrawn(state: AttentionState, event: fact.Withdrawn) -> AttentionState:
    """One agent cannot withdraw what another wrote. A key that is not known yet is remembered."""
    own = [one for one in state.notices.values() if one.notice.agent == event.agent]
    by_key = event.notice is None and event.key is not None
    meant = [one for one in own if (one.notice.key == event.key if by_key else one.notice.id == event.notice)]
    if by_key and event.key is not None and not meant:
        until_us = event.at_us + _TOMBSTONE_US
        return altered(state, tombstones={**state.tombstones, (event.agent, event.key): until_us})
    return altered(state, notices={**state.notices, **{one.notice.id: _taken_back(one) for one in meant}})


def _taken_back(standing: Standing) -> Standing:
    if may(standing.state, NoticeMove.WITHDRAW):
        return _move(standing, NoticeMove.WITHDRAW)
    leaving = standing.state in ON_ITS_WAY | LEFT
    return altered(standing, recall=True) if leaving else standing


def _silences(state: AttentionState, event: fact.Muted | fact.Unmuted) -> tuple[Silence, ...]:
    others = tuple(one for one in state.silences if not one.is_of(event))
    if isinstance(event, fact.Unmuted) or not any(event.what):
        return others
    before = next((one for one in state.silences if one.is_of(event)), Silence())  # what it kept still has to be told
    agent, thread, category = event.what
    return (*others, altered(before, agent=agent, thread=thread, category=category, until_us=event.until_us))


def _absences(state: AttentionState, event: fact.AwaySet) -> tuple[Any, ...]:
    """What is over stays known: holding counts from its end."""
    begun = (one for one in state.absences if one.start_us < event.at_us)
    past = tuple(replace(one, end_us=min(one.end_us, event.at_us)) for one in begun)
    return (*past, event.absence) if event.absence is not None else past


# -- Decisions --

_K = DecisionKind
_MOVES: Final = {
    _K.HOLD: NoticeMove.HOLD,
    _K.JOIN_DIGEST: NoticeMove.HOLD,
    _K.RELEASE: NoticeMove.RELEASE,
    _K.DELEGATE: NoticeMove.RELEASE,
    _K.CLOSE_DIGEST: NoticeMove.COLLECT,
    _K.MERGE: NoticeMove.MERGE,
    _K.MUTE: NoticeMove.MUTE,
    _K.EXPIRE: NoticeMove.EXPIRE,
    _K.WITHDRAW: NoticeMove.WITHDRAW,
    _K.GIVE_UP: NoticeMove.GIVE_UP,
    _K.FAIL: NoticeMove.FAIL,
    _K.CORRECT: NoticeMove.RECALL,
}
_SENDS: Final = {
    _K.RELEASE: SendKind.NOTICE,
    _K.DELEGATE: SendKind.NOTICE,
    _K.CLOSE_DIGEST: SendKind.DIGEST,
    _K.REPEAT: SendKind.REPEAT,
    _K.ESCALATE: SendKind.STEP,
    _K.CORRECT: SendKind.CORRECTION,
}


def _fold_decision(state: AttentionState, decision: Decision) -> AttentionState:
    """Folded once: a decision whose number is behind the notice's own changes nothing."""
    standing = state.notices.get(decision.notice)
    if standing is None or decision.seq <= standing.seq:
        return state
    after = _decided(altered(standing, seq=decision.seq), decision)
    notices = {**state.notices, decision.notice: after}
    if decision.kind is _K.MUTE:
        silences = counted(state.silences, standing.notice, decision.at_us)
        return altered(state, notices=notices, silences=silences)
    if decision.send is None:
        return altered(state, notices=notices)
    digests = {**state.digests, decision.digest.id: decision.digest} if decision.digest else state.digests
    used = {**state.slots_used, **dict(decision.slots)}
    return altered(state, notices=notices, sends=_sends(state, standing, decision), digests=digests, slots_used=used)


def _decided(standing: Standing, decision: Decision) -> Standing:
    if (move := _MOVES.get(decision.kind)) is not None:
        state, until_us, reasons = moved(standing.state, move), decision.until_us, decision.reasons
        standing = altered(standing, state=state, until_us=until_us, reasons=reasons)
    urgency, send = decision.urgency, decision.send
    match decision.kind:
        case _K.HOLD | _K.JOIN_DIGEST:
            over = any(one.reason is Because.BUDGET for one in decision.reasons)
            return altered(standing, urgency=urgency, over_us=(standing.over_us or decision.at_us) if over else None)
        case _K.RELEASE | _K.DELEGATE:
            before = standing.tried if decision.kind is _K.RELEASE else ()  # the ways to another person are all new
            return altered(standing, urgency=urgency, send=send, step_send=send, tried=(*before, decision.channel))
        case _K.CLOSE_DIGEST:
            return altered(standing, urgency=urgency, send=send, digest=send, tried=(*standing.tried, decision.channel))
        case _K.MERGE:
            return altered(standing, into=decision.into)
        case _K.REPEAT:
            return altered(standing, repeats=standing.repeats + 1, repeat_send=send)
        case _K.ESCALATE:
            return altered(standing, steps=(*standing.steps, decision.step), step_send=send or standing.step_send)
        case _:
            return standing


def _sends(state: AttentionState, standing: Standing, decision: Decision) -> dict[str, NoticeSend]:
    key = decision.send or ""
    alone = decision.kind in (_K.RELEASE, _K.DELEGATE) and decision.urgency is Urgency.NORMAL
    send = NoticeSend(
        key=key,
        kind=_SENDS[decision.kind],
        at_us=decision.at_us,
        notices=decision.digest.members if decision.digest else (decision.notice,),
        person=decision.person or state.person,
        channel=decision.channel or standing.notice.channel,
        agent=standing.notice.agent,
        thread=standing.notice.thread,
        urgency=decision.urgency,
        leading=alone and not standing.notice.needs_ack and decision.replaces is None,
    )
    before, old = state.sends, state.sends.get(decision.replaces or "")
    if old is not None:
        before = {**before, old.key: altered(old, replaced=True)}
    return {**before, key: before.get(key, send)}


# -- Receipts: what becomes of notices when their send arrived, failed, or came back --


def _fold_receipt(state: AttentionState, event: ReceiptIn) -> AttentionState:
    """The first receipt of a send counts."""
    send = state.sends.get(event.send)
    if send is None or not send.pending:
        return state
    settled = altered(send, outcome=event.outcome, receipt_us=event.at_us)
    changed = {name: _received(state.notices[name], settled) for name in send.notices if name in state.notices}
    return altered(state, sends={**state.sends, send.key: settled}, notices={**state.notices, **changed})


def _received(standing: Standing, send: NoticeSend) -> Standing:
    at_us, had_arrived = send.receipt_us, standing.first_us is not None
    after = _arrived(standing, send) if send.outcome in (SendOutcome.OK, SendOutcome.UNCERTAIN) else standing
    if had_arrived and send.key == standing.step_send:
        return altered(after, last_us=at_us, step_us=at_us)
    return altered(after, last_us=at_us) if had_arrived and send.key == standing.repeat_send else after


def _arrived(standing: Standing, send: NoticeSend) -> Standing:
    """A send that was replaced may arrive all the same; then the notice has arrived."""
    after = altered(standing, uncertain=standing.uncertain or send.outcome is SendOutcome.UNCERTAIN)
    if send.kind is not SendKind.CORRECTION:
        after = altered(after, reached=tuple(dict.fromkeys((*standing.reached, (send.person, send.channel)))))
    expected = {SendKind.NOTICE: NoticeState.RELEASED, SendKind.DIGEST: NoticeState.DIGESTING}
    if standing.state is not expected.get(send.kind):
        return after
    asks = standing.asks and send.kind is SendKind.NOTICE
    state = moved(standing.state, NoticeMove.ARRIVE_ASKING if asks else NoticeMove.ARRIVE)
    at_us = send.receipt_us
    return altered(after, state=state, first_us=at_us, last_us=at_us, step_us=at_us)


def _fold_return(state: AttentionState, event: Returned) -> AttentionState:
    """What was never handed over waits again; a repeat or a step counts as one that failed."""
    send = state.sends.get(event.send)
    if send is None or not send.pending:
        return state
    if send.kind not in (SendKind.NOTICE, SendKind.DIGEST):
        return _fold_receipt(state, ReceiptIn(at_us=event.at_us, send=event.send, outcome=SendOutcome.FAILED))
    mine = [state.notices[name] for name in send.notices if name in state.notices]
    waiting = [one for one in mine if one.send == send.key and one.state in ON_ITS_WAY]
    back = {one.notice.id: _given_back(one, event) for one in waiting}
    returned = altered(send, returned=True)
    return altered(state, sends={**state.sends, send.key: returned}, notices={**state.notices, **back})


def _fold_twice(state: AttentionState, event: MayArriveTwice) -> AttentionState:
    send, standing = state.sends.get(event.send), state.notices.get(event.notice)
    if send is None or standing is None:
        return state
    marked = {event.notice: altered(standing, uncertain=True)}
    return altered(
        state,
        sends={**state.sends, send.key: altered(send, twice=True)},
        notices={**state.notices, **marked},
    )


def _given_back(standing: Standing, event: Returned) -> Standing:
    return altered(
        standing,
        state=moved(standing.state, NoticeMove.RETURN),
        round=standing.round + 1,
        digest=None,
        tried=(),
        returned_until_us=event.until_us,
        until_us=event.until_us,
        reasons=(HoldReason(Because.RETURNED, event.until_us),),
    )


# -- What follows without an answer: repeat it, take it further, or give up --

_REPEATED_FOR_US: Final = seconds(3 * 3600)
_LAST_CHANCE_US: Final = seconds(600)  # for the one who was reached last
_WAITED_FOR_US: Final = seconds(72 * 3600)  # when it is not urgent enough to be repeated
_ROUNDS: Final = 8


@dataclass(frozen=True, slots=True)
class FollowUp:
    """The next thing that happens by itself. `person` None for a step that reaches no one."""

    at_us: int
    kind: DecisionKind
    because: Because
    step: str | None = None
    person: str | None = None
    channel: str | None = None


def next_due(scene: Scene) -> FollowUp | None:
    """The earliest; of those due at one moment the repeat comes first. None while only a receipt can go on."""
    found = [due for due in (_repeat(scene), _step(scene), _give_up(scene)) if due is not None]
    return min(found, key=lambda due: due.at_us, default=None)


def _urgent(scene: Scene) -> bool:
    return rank(scene.standing.urgency) >= rank(Urgency.TIME_SENSITIVE)


def _repeat(scene: Scene) -> FollowUp | None:
    standing, gaps = scene.standing, scene.rules.repeat_seconds
    if not _urgent(scene) or not gaps or standing.last_us is None or standing.first_us is None:
        return None
    if scene.state.pending(standing.repeat_send):
        return None
    at = standing.last_us + seconds(gaps[min(standing.repeats, len(gaps) - 1)])
    at = scene.rules.quiet_until(standing.urgency, at) or at
    if at > standing.first_us + _REPEATED_FOR_US:
        return None
    person, channel = standing.reached[0]
    return FollowUp(at, DecisionKind.REPEAT, Because.REPEAT, person=person, channel=channel)


def _remaining(scene: Scene) -> EscalationStep | None:
    """By id: an edited chain neither pages again nor skips."""
    return next((step for step in scene.rules.escalation if step.id not in scene.standing.steps), None)


def _step(scene: Scene) -> FollowUp | None:
    """Counted from the receipt of the step before, so a machine that slept takes one step and not three."""
    standing, step = scene.standing, _remaining(scene)
    if not _urgent(scene) or step is None or standing.step_us is None or scene.state.pending(standing.step_send):
        return None
    at, person = _step_time(scene, step, standing.step_us, seconds(step.after_seconds))
    channel = step.channel or standing.notice.channel
    if person is None or (person, channel) in standing.reached:
        return FollowUp(at, DecisionKind.ESCALATE, Because.EMPTY_STEP, step=step.id)
    return FollowUp(at, DecisionKind.ESCALATE, Because.STEP, step=step.id, person=person, channel=channel)


def passed_on(scene: Scene, from_us: int) -> FollowUp | None:
    """Where it cannot arrive, the next step does not wait: whom it names is told at once, unless that was tried."""
    mine = scene.standing.notice
    if not scene.standing.asks or rank(scene.urgency) < rank(Urgency.TIME_SENSITIVE):
        return None
    tried = {(one.person, one.channel) for one in scene.state.sends.values() if mine.id in one.notices}
    for step in scene.rules.escalation:
        at, person = _step_time(scene, step, from_us, 0)
        channel = step.channel or mine.channel
        if person is not None and (person, channel) not in tried:
            return FollowUp(at, DecisionKind.DELEGATE, Because.FAILED, person=person, channel=channel)
    return None


def _step_time(scene: Scene, step: EscalationStep, from_us: int, delay: int) -> tuple[int, str | None]:
    """Who is on duty depends on when, and when depends on whose quiet hours let the clock stand still."""
    urgency, at = scene.standing.urgency, from_us + delay
    for _ in range(_ROUNDS):
        person = scene.book.someone(step.person, at) if step.person else scene.state.person
        if person is None:
            return at, None
        rules = scene.book.rules(person)
        moved = from_us + delay
        if not rules.passes(urgency):
            moved = after_open_time(rules.quiet_hours, rules.zone, from_us, delay)
            moved = rules.quiet_until(urgency, moved) or moved
        if moved <= at:
            return at, person
        at = moved
    return at, person


def _give_up(scene: Scene) -> FollowUp | None:
    """When every step is taken and the last one reached has had a chance, or when it is no longer worth an answer."""
    standing, expires = scene.standing, scene.rules.expiry(scene.standing.notice)
    if standing.first_us is None or standing.last_us is None:
        return None
    if not _urgent(scene):
        at = expires if expires is not None else standing.first_us + _WAITED_FOR_US
        return FollowUp(at, DecisionKind.GIVE_UP, Because.UNANSWERED)
    on_its_way = scene.state.pending(standing.step_send) or scene.state.pending(standing.repeat_send)
    if _remaining(scene) is None and not on_its_way:
        at = max(standing.first_us + _REPEATED_FOR_US, standing.last_us + _LAST_CHANCE_US)
        if expires is None or at <= expires:
            return FollowUp(at, DecisionKind.GIVE_UP, Because.UNANSWERED)
    return FollowUp(expires, DecisionKind.GIVE_UP, Because.EXPIRED) if expires is not None else None


# -- Which other notice makes one superfluous: it says the same, or it is newer --

_COUNTS: Final = OPEN | LEFT | {NoticeState.ACKNOWLEDGED, NoticeState.UNANSWERED}


def superfluous(scene: Scene) -> tuple[str, Because] | None:
    """The notice it is merged into, and why."""
    if (original := _original(scene)) is not None:
        return original, Because.DUPLICATE
    if (newer := _newer(scene)) is not None:
        return newer, Because.SUPERSEDED
    return None


def _others(scene: Scene) -> list[Standing]:
    own = scene.standing.notice.id
    return [one for one in scene.state.in_order() if one.notice.id != own and one.state in _COUNTS]


def _original(scene: Scene) -> str | None:
    """The first that said the same shortly before; asked once, when it arrives."""
    notice, window = scene.standing.notice, seconds(scene.rules.duplicate_seconds)
    if scene.standing.state is not NoticeState.ACCEPTED or notice.key is not None or not notice.fingerprint:
        return None
    for other in _others(scene):
        one = other.notice
        same = one.agent == notice.agent and one.fingerprint == notice.fingerprint and one.order < notice.order
        if same and notice.created_us - one.created_us < window and _covers(scene, one):
            return one.id
    return None


def _newer(scene: Scene) -> str | None:
    """What is unsent gives way to any newer one of its key; what waits for an answer only to one that asks as well."""
    standing, notice = scene.standing, scene.standing.notice
    if notice.key is None:
        return None
    newer = [one for one in _others(scene) if one.notice.order > notice.order and _same_key(one.notice, notice)]
    asking = [one for one in newer if standing.state in UNSENT or one.notice.needs_ack]
    return asking[-1].notice.id if asking else None


def _same_key(one: AcceptedNotice, other: AcceptedNotice) -> bool:
    return one.agent == other.agent and one.key == other.key


def _covers(scene: Scene, other: AcceptedNotice) -> bool:
    """It is at least as urgent, and asks for an answer if this one does."""
    asks = other.needs_ack or not scene.standing.notice.needs_ack
    return asks and rank(scene.rules.urgency(other)) >= rank(scene.urgency)
