"""What a fact or a decision makes of the state."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final, assert_never

from postroom.domain.attention import Because, HoldReason
from postroom.domain.notice_states import ON_ITS_WAY, UNSENT, NoticeMove, NoticeState, may, moved
from postroom.domain.record import altered
from postroom.domain.time import seconds
from postroom.work.attention import facts as fact
from postroom.work.attention.decisions import Decision
from postroom.work.attention.fold_decision import fold_decision
from postroom.work.attention.fold_receipt import fold_receipt, fold_return, fold_twice
from postroom.work.attention.state import AttentionState, Silence, Standing

_LABELS: Final = ("agent", "thread", "category")
TOMBSTONE_US: Final = seconds(72 * 3600)


def fold(state: AttentionState, event: fact.Fact | Decision) -> AttentionState:
    """Pure. A fact about a notice that is not there, or that can no longer make that move, changes nothing."""
    after = fold_decision(state, event) if isinstance(event, Decision) else _fold_fact(state, event)
    return after if after.clock_us >= event.at_us else altered(after, clock_us=event.at_us)


def _fold_fact(state: AttentionState, event: fact.Fact) -> AttentionState:
    match event:
        case fact.NoticeAccepted():
            return _accepted(state, event)
        case fact.Acked() | fact.Snoozed() | fact.ApprovalAsked() | fact.ApprovalGiven():
            return _about_one(state, event)
        case fact.Withdrawn():
            return _withdrawn(state, event)
        case fact.Muted() | fact.Unmuted():
            return altered(state, silences=_silences(state, event))
        case fact.AwaySet():
            return altered(state, absences=_absences(state, event))
        case fact.ReceiptIn():
            return fold_receipt(state, event)
        case fact.Returned():
            return fold_return(state, event)
        case fact.MayArriveTwice():
            return fold_twice(state, event)
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


AboutOne = fact.Acked | fact.Snoozed | fact.ApprovalAsked | fact.ApprovalGiven


def _about_one(state: AttentionState, event: AboutOne) -> AttentionState:
    standing = state.notices.get(event.notice)
    if standing is None:
        return state
    return altered(state, notices={**state.notices, event.notice: altered(standing, **_changes(standing, event))})


def _changes(standing: Standing, event: AboutOne) -> Mapping[str, Any]:
    match event:
        case fact.Acked() if may(standing.state, NoticeMove.ACKNOWLEDGE):
            return {**_move(standing, NoticeMove.ACKNOWLEDGE), "acked_us": event.at_us}
        case fact.Snoozed() if may(standing.state, NoticeMove.SNOOZE):
            return _snoozed(standing, event)
        case fact.ApprovalAsked() if standing.state in UNSENT:
            return {"parked": True}
        case fact.ApprovalGiven() if standing.parked and standing.state in UNSENT:
            return {"parked": False} if event.approved else _move(standing, NoticeMove.REFUSE)
        case _:
            return {}


def _move(standing: Standing, move: NoticeMove) -> dict[str, Any]:
    return {"state": moved(standing.state, move), "until_us": None, "reasons": ()}


def _left(standing: Standing) -> bool:
    return standing.state in (NoticeState.SENT, NoticeState.DIGESTED, NoticeState.WAITING)


def _snoozed(standing: Standing, event: fact.Snoozed) -> dict[str, Any]:
    """What had left starts over, with the steps it has taken behind it."""
    over = {"round": standing.round + 1, "repeats": 0, "tried": (), "digest": None}
    over |= dict.fromkeys(("first_us", "last_us", "step_us", "step_send", "repeat_send"))
    return {
        **_move(standing, NoticeMove.SNOOZE),
        **(over if _left(standing) else {}),
        "snoozed": True,
        "snoozed_until_us": event.until_us,
        "until_us": event.until_us,
        "reasons": (HoldReason(Because.SNOOZE, event.until_us),),
        "over_us": None,
    }


def _withdrawn(state: AttentionState, event: fact.Withdrawn) -> AttentionState:
    """One agent cannot withdraw what another wrote. A key that is not known yet is remembered."""
    own = [one for one in state.notices.values() if one.notice.agent == event.agent]
    by_key = event.notice is None and event.key is not None
    meant = [one for one in own if (one.notice.key == event.key if by_key else one.notice.id == event.notice)]
    if by_key and event.key is not None and not meant:
        until = event.expires_us or event.at_us + TOMBSTONE_US
        return altered(state, tombstones={**state.tombstones, (event.agent, event.key): until})
    return altered(state, notices={**state.notices, **{one.notice.id: _taken_back(one) for one in meant}})


def _taken_back(standing: Standing) -> Standing:
    if may(standing.state, NoticeMove.WITHDRAW):
        return altered(standing, **_move(standing, NoticeMove.WITHDRAW))
    leaving = standing.state in ON_ITS_WAY or _left(standing)
    return altered(standing, recall=True) if leaving else standing


def _silences(state: AttentionState, event: fact.Muted | fact.Unmuted) -> tuple[Silence, ...]:
    what = (event.agent, event.thread, event.category)
    others = tuple(one for one in state.silences if not one.is_of(*what))
    if isinstance(event, fact.Unmuted) or what == (None, None, None):
        return others
    before = next((one for one in state.silences if one.is_of(*what)), Silence())  # what it kept still has to be told
    return (*others, altered(before, **dict(zip(_LABELS, what, strict=True)), until_us=event.until_us))


def _absences(state: AttentionState, event: fact.AwaySet) -> tuple[Any, ...]:
    """What is over stays known: holding counts from its end."""
    begun = (one for one in state.absences if one.start_us < event.at_us)
    past = tuple(replace(one, end_us=min(one.end_us, event.at_us)) for one in begun)
    return (*past, event.absence) if event.absence is not None else past
