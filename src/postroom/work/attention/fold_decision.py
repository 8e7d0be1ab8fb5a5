"""What a decision makes of the state."""

from __future__ import annotations

from typing import Any, Final

from postroom.domain.attention import Because
from postroom.domain.notice_states import NoticeMove, moved
from postroom.domain.record import altered
from postroom.domain.risk_and_urgency import Urgency
from postroom.work.attention.decisions import Decision, DecisionKind
from postroom.work.attention.silences import counted
from postroom.work.attention.state import AttentionState, NoticeSend, SendKind, Standing

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


def fold_decision(state: AttentionState, decision: Decision) -> AttentionState:
    """Folded once: a decision whose number is behind the notice's own changes nothing."""
    standing = state.notices.get(decision.notice)
    if standing is None or decision.seq <= standing.seq:
        return state
    after = altered(standing, seq=decision.seq, **_moved(standing, decision), **_details(standing, decision))
    notices = {**state.notices, decision.notice: after}
    if decision.kind is _K.MUTE:
        silences = counted(state.silences, standing.notice, decision.at_us)
        return altered(state, notices=notices, silences=silences)
    if decision.send is None:
        return altered(state, notices=notices)
    digests = {**state.digests, decision.digest.id: decision.digest} if decision.digest else state.digests
    used = {**state.slots_used, **dict(decision.slots)}
    return altered(state, notices=notices, sends=_sends(state, standing, decision), digests=digests, slots_used=used)


def _moved(standing: Standing, decision: Decision) -> dict[str, Any]:
    move = _MOVES.get(decision.kind)
    if move is None:
        return {}
    return {"state": moved(standing.state, move), "until_us": decision.until_us, "reasons": decision.reasons}


def _details(standing: Standing, decision: Decision) -> dict[str, Any]:
    match decision.kind:
        case _K.HOLD | _K.JOIN_DIGEST:
            over = any(one.reason is Because.BUDGET for one in decision.reasons)
            return {"urgency": decision.urgency, "over_us": (standing.over_us or decision.at_us) if over else None}
        case _K.RELEASE | _K.DELEGATE:
            tried = (*standing.tried, decision.channel)
            return {"urgency": decision.urgency, "send": decision.send, "step_send": decision.send, "tried": tried}
        case _K.CLOSE_DIGEST:
            tried = (*standing.tried, decision.channel)
            sent = decision.send
            return {"urgency": decision.urgency, "send": sent, "digest": sent, "tried": tried}
        case _K.MERGE:
            return {"into": decision.into}
        case _K.REPEAT:
            return {"repeats": standing.repeats + 1, "repeat_send": decision.send}
        case _K.ESCALATE:
            step = {"step_send": decision.send} if decision.send else {}
            return {"steps": (*standing.steps, decision.step), **step}
        case _:
            return {}


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
