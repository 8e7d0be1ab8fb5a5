"""What a decision comes to, from the action as it is and the moment it is taken."""

from __future__ import annotations

from postroom.domain.approval import CONSOLE, Action, ActionStatus, ApprovalDecision, Content, Ruling, StandingRule
from postroom.domain.errors import FieldError
from postroom.domain.time import SECOND_US

EXPIRY_ACTOR = "expiry"


def approval(
    action: Action,
    *,
    actor: str,
    now_us: int,
    seen_hash: str | None,
    content: Content,
    edited: tuple[str, ...] = (),
    rule: StandingRule | None = None,
    via: str = CONSOLE,
) -> Ruling:
    """`content` is what the person agrees to; without an edit it must be what lies in the ledger."""
    if refused := closed(action, now_us):
        return refused
    if action.content.hash != action.content_hash:
        return _refused((actor, now_us), "content_hash", "the stored content is not what was parked", "content_changed")
    if seen_hash is None and action.revised:
        told = "is needed: the message was worded anew since it was parked; look at it, and name its hash"
        return _refused((actor, now_us), "content_hash", told, "hash_required")
    if seen_hash is not None and seen_hash != action.content_hash:
        return _refused(
            (actor, now_us), "content_hash", "is not the hash of what would be sent; look again", "hash_mismatch"
        )
    return Ruling(
        decision=ApprovalDecision(
            status=ActionStatus.APPROVED,
            actor=actor,
            at_us=now_us,
            content=content,
            edited=edited,
            rule=rule,
            via=via,
        )
    )


def rejection(action: Action, *, actor: str, now_us: int, reason: str, via: str = CONSOLE) -> Ruling:
    if refused := closed(action, now_us):
        return refused
    return Ruling(
        decision=ApprovalDecision(
            status=ActionStatus.REJECTED,
            actor=actor,
            at_us=now_us,
            reason=reason,
            failure=f"a person rejected this message: {reason}",
            via=via,
        )
    )


def expiration(action: Action, now_us: int) -> ApprovalDecision:
    hours = (action.expires_at_us - action.requested_at_us) / (3600 * SECOND_US)
    return ApprovalDecision(
        status=ActionStatus.EXPIRED,
        actor=EXPIRY_ACTOR,
        at_us=now_us,
        failure=f"nobody approved this message within {hours:g} hours",
    )


def closed(action: Action, now_us: int) -> Ruling | None:
    """Why there is nothing left to decide; an action that is found overdue ends here and now."""
    if action.status is not ActionStatus.PENDING:
        by = f" by {action.decided_by}" if action.decided_by != EXPIRY_ACTOR else ""
        return Ruling(refusal=FieldError("action_id", f"was already {action.status}{by}", "already_decided"))
    if action.expires_at_us <= now_us:
        late = "too late: this expired and was not sent"
        return Ruling(decision=expiration(action, now_us), refusal=FieldError("action_id", late, "too_late"))
    return None


def _refused(by: tuple[str, int], field: str, error: str, code: str) -> Ruling:
    return Ruling(refusal=FieldError(field, error, code), refused=by)
