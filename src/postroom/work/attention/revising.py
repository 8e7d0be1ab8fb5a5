"""Which message a later one may change where it stands, instead of being one more."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from postroom.domain.attention import rank
from postroom.domain.ids import DeliveryId
from postroom.domain.notice_rows import SendRow
from postroom.domain.notice_states import NoticeState
from postroom.domain.outgoing import Outgoing
from postroom.domain.risk_and_urgency import Urgency
from postroom.work.attention.codec import decoded
from postroom.work.attention.decisions import Decision, DecisionKind
from postroom.work.attention.facts import SendOutcome
from postroom.work.attention.state import AttentionState, SendKind, Standing

_FIRST: Final = (DecisionKind.RELEASE, DecisionKind.DELEGATE)


def revised(state: AttentionState, decision: Decision, rows: Mapping[str, SendRow]) -> DeliveryId | None:
    """A correction changes what its notice was sent as; a newer notice of a key changes what the older one was."""
    earlier = _earlier(state, decision)
    send = state.sends.get(earlier.send or "") if earlier is not None else None
    if send is None or send.kind is not SendKind.NOTICE or send.outcome is not SendOutcome.OK:
        return None
    row = rows.get(send.key)
    if row is None or row.delivery_id is None or (send.person, send.channel) != (decision.person, decision.channel):
        return None
    return decoded(Outgoing, row.outgoing).revises or DeliveryId(row.delivery_id)


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
