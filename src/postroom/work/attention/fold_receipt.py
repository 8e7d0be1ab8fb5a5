"""What becomes of notices when their send arrived, failed, or came back."""

from __future__ import annotations

from typing import Any

from postroom.domain.attention import Because, HoldReason
from postroom.domain.notice_states import NoticeMove, NoticeState, moved
from postroom.domain.record import altered
from postroom.domain.time import seconds
from postroom.work.attention.facts import MayArriveTwice, ReceiptIn, Returned, SendOutcome
from postroom.work.attention.state import AttentionState, NoticeSend, SendKind, Standing

RETRY_US = seconds(60)


def fold_receipt(state: AttentionState, event: ReceiptIn) -> AttentionState:
    """The first receipt of a send counts."""
    send = state.sends.get(event.send)
    if send is None or not send.pending:
        return state
    settled = altered(send, outcome=event.outcome, receipt_us=event.at_us)
    changed = {name: _received(state.notices[name], settled) for name in send.notices if name in state.notices}
    return altered(state, sends={**state.sends, send.key: settled}, notices={**state.notices, **changed})


def _received(standing: Standing, send: NoticeSend) -> Standing:
    changes: dict[str, Any] = {}
    if send.outcome in (SendOutcome.OK, SendOutcome.UNCERTAIN):
        changes |= _arrived(standing, send)
    if send.key in (standing.step_send, standing.repeat_send) and standing.first_us is not None:
        changes["last_us"] = send.receipt_us
        changes |= {"step_us": send.receipt_us} if send.key == standing.step_send else {}
    return altered(standing, **changes)


def _arrived(standing: Standing, send: NoticeSend) -> dict[str, Any]:
    """A send that was replaced may arrive all the same; then the notice has arrived."""
    changes: dict[str, Any] = {"uncertain": standing.uncertain or send.outcome is SendOutcome.UNCERTAIN}
    if send.kind is not SendKind.CORRECTION:
        changes["reached"] = tuple(dict.fromkeys((*standing.reached, (send.person, send.channel))))
    expected = {SendKind.NOTICE: NoticeState.RELEASED, SendKind.DIGEST: NoticeState.DIGESTING}
    if standing.state is expected.get(send.kind):
        asks = standing.asks and send.kind is SendKind.NOTICE
        move = NoticeMove.ARRIVE_ASKING if asks else NoticeMove.ARRIVE
        at = send.receipt_us
        changes |= {"state": moved(standing.state, move), "first_us": at, "last_us": at, "step_us": at}
    return changes


def fold_return(state: AttentionState, event: Returned) -> AttentionState:
    """What was never handed over waits again; a repeat or a step counts as one that failed."""
    send = state.sends.get(event.send)
    if send is None or not send.pending:
        return state
    if send.kind not in (SendKind.NOTICE, SendKind.DIGEST):
        return fold_receipt(state, ReceiptIn(at_us=event.at_us, send=event.send, outcome=SendOutcome.FAILED))
    mine = [state.notices[name] for name in send.notices if name in state.notices]
    back = {one.notice.id: _given_back(one, event) for one in mine if one.send == send.key and _on_its_way(one)}
    returned = altered(send, returned=True)
    return altered(state, sends={**state.sends, send.key: returned}, notices={**state.notices, **back})


def fold_twice(state: AttentionState, event: MayArriveTwice) -> AttentionState:
    send, standing = state.sends.get(event.send), state.notices.get(event.notice)
    if send is None or standing is None:
        return state
    marked = {event.notice: altered(standing, uncertain=True)}
    return altered(
        state,
        sends={**state.sends, send.key: altered(send, twice=True)},
        notices={**state.notices, **marked},
    )


def _on_its_way(standing: Standing) -> bool:
    return standing.state in (NoticeState.RELEASED, NoticeState.DIGESTING)


def _given_back(standing: Standing, event: Returned) -> Standing:
    until = event.until_us if event.until_us is not None else event.at_us + RETRY_US
    return altered(
        standing,
        state=moved(standing.state, NoticeMove.RETURN),
        round=standing.round + 1,
        digest=None,
        tried=(),
        returned_until_us=until,
        until_us=until,
        reasons=(HoldReason(Because.RETURNED, until),),
    )
