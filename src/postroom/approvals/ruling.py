"""What a decision comes to, from the action as it is and the moment it is taken; edits, and why a person said no."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from postroom.approvals.model import CONSOLE, Action, ActionStatus, ApprovalDecision, Content, Ruling, StandingRule
from postroom.delivery.rules.target import prepared
from postroom.kernel.values.errors import FieldError, ValidationError
from postroom.kernel.values.fields import Fields
from postroom.kernel.values.ids import SECOND_US
from postroom.message.channel import Channel, KnownChannels
from postroom.message.delivery import Intent
from postroom.message.wire import parse_notify

_EDITABLE: Final = ("message", "subject", "emoji", "recipient")
_EXPIRY_ACTOR = "expiry"
_LONGEST_REASON: Final = 500


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
        actor=_EXPIRY_ACTOR,
        at_us=now_us,
        failure=f"nobody approved this message within {hours:g} hours",
    )


def closed(action: Action, now_us: int) -> Ruling | None:
    """Why there is nothing left to decide; an action that is found overdue ends here and now."""
    if action.status is not ActionStatus.PENDING:
        by = f" by {action.decided_by}" if action.decided_by != _EXPIRY_ACTOR else ""
        return Ruling(refusal=FieldError("action_id", f"was already {action.status}{by}", "already_decided"))
    if action.expires_at_us <= now_us:
        late = "too late: this expired and was not sent"
        return Ruling(decision=expiration(action, now_us), refusal=FieldError("action_id", late, "too_late"))
    return None


def _refused(by: tuple[str, int], field: str, error: str, code: str) -> Ruling:
    return Ruling(refusal=FieldError(field, error, code), refused=by)


def read_reason(reason: object) -> str:
    """Raises ValidationError."""
    fields = Fields({"reason": reason})
    text = fields.text("reason", maximum=_LONGEST_REASON).strip()
    fields.finish()
    return text


# ---- a parked message changed before it is agreed to, through the same validator as everything else ----


@dataclass(frozen=True, slots=True, kw_only=True)
class Edited:
    content: Content
    fields: tuple[str, ...]


def edited(action: Action, edits: object, channels: Mapping[str, Channel], known: KnownChannels) -> Edited:
    """Raises ValidationError when the result could not have been sent in the first place."""
    if edits is None:
        return Edited(content=action.content, fields=())
    if not channels:
        raise _wrong("edits", "can be made where the messenger runs; here it can be approved as it is", "not_here")
    channel = channels.get(action.content.channel)
    if channel is None:
        raise _wrong("edits", f"no credentials for {action.content.channel} are set", "channel_unavailable")
    fields = Fields(edits, "edits")
    fields.refuse_unknown(_EDITABLE)
    fields.finish()
    given = {name: fields.raw(name) for name in _EDITABLE if isinstance(edits, Mapping) and name in edits}
    if action.content.revises is not None and "recipient" in given:
        raise _wrong("edits.recipient", "cannot change: the message stands where it was sent", "is_a_correction")
    content = _content(action, given, channel, known)
    prepared(channel, content.to_message(action.id))
    return Edited(content=content, fields=_changed(action.content, content))


def _content(action: Action, given: Mapping[str, Any], channel: Channel, known: KnownChannels) -> Content:
    """The envelope as it would have come, had the sender written it so."""
    before = action.content
    fixed = {"intent": str(before.intent), "channel": before.channel, "format": str(before.format)}
    delivery = {"message": before.message, "subject": before.subject, "emoji": before.emoji, **given, **fixed}
    envelope = {**action.envelope, "delivery": {name: value for name, value in delivery.items() if value is not None}}
    notify = parse_notify(envelope, known)
    return Content(
        channel=before.channel,
        intent=before.intent,
        address=_address(before, notify.recipient, channel),
        thread=before.thread,
        subject=notify.subject,
        message=notify.message,
        emoji=notify.emoji,
        markup=before.markup,
        revises=before.revises,
        format=before.format,
        attachments=before.attachments,
    )


def _address(before: Content, recipient: str | None, channel: Channel) -> str:
    if recipient is None:
        return before.address
    if before.intent is not Intent.SEND:
        raise _wrong("edits.recipient", f"a {before.intent} goes where the message it answers came from", "fixed")
    address = channel.address(recipient)
    if address is None:
        raise _wrong("edits.recipient", f"is not an address on {before.channel}", "not_an_address")
    return address


def _changed(before: Content, after: Content) -> tuple[str, ...]:
    pairs = {
        "message": (before.message, after.message),
        "subject": (before.subject, after.subject),
        "emoji": (before.emoji, after.emoji),
        "recipient": (before.address, after.address),
    }
    return tuple(name for name, (old, new) in pairs.items() if old != new)


def _wrong(field: str, error: str, code: str) -> ValidationError:
    return ValidationError.of([FieldError(field, error, code)])
