"""How actions, rules and audit events are shown to the person who decides."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from postroom.domain.approval import Action, ActionStatus, ApprovalEvent, Content, StandingRule
from postroom.domain.attachment import Attachment
from postroom.domain.size_words import size_words
from postroom.domain.time import to_text
from postroom.work.approvals.links import links_of, rendered
from postroom.work.approvals.rules import specificity, written
from postroom.work.approvals.visible import findings, reveal
from postroom.work.files.media_type import is_dangerous

_PREVIEW_CHARACTERS: Final = 200


def summary(action: Action) -> dict[str, Any]:
    """One line of a list: enough to know what it is, not enough to agree to it."""
    shown = {
        "action_id": action.id,
        "status": str(action.status),
        "risk_tier": str(action.risk),
        "origin_butler": action.origin_butler,
        "request_id": action.request_id,
        "channel": action.content.channel,
        "intent": str(action.content.intent),
        "recipient": reveal(action.content.address),
        "preview": reveal(action.content.message[:_PREVIEW_CHARACTERS]),
        "attachments": [_file(one) for one in action.content.attachments],
        "content_hash": action.content_hash,
        "requested_at": to_text(action.requested_at_us),
        "expires_at": to_text(action.expires_at_us),
        "delivery": {"delivery_id": action.id, "status": str(action.delivery_status)},
    }
    if action.status is not ActionStatus.PENDING:
        shown |= _decision(action)
    return shown


def detail(
    action: Action, events: Sequence[ApprovalEvent], previews: Mapping[str, str] | None = None
) -> dict[str, Any]:
    """
    `content` is what would be sent, to the byte; `visible` is the same with nothing hidden.

    Each of `attachments` has the beginning of its `preview`, by hash; a picture is shown in the console.
    Of Markdown, `rendered` is what the person reads and `links` says where each link really leads.
    """
    return (
        summary(action)
        | _written(action.content)
        | {"attachments": [_file(one, (previews or {}).get(one.sha256, "")) for one in action.content.attachments]}
        | {
            "content": _fields(action.content),
            "visible": {name: reveal(text) if text else text for name, text in _fields(action.content).items()},
            "warnings": warnings(action.content),
            "intact": action.content.hash == action.content_hash,
            "events": [_event(event) for event in events],
        }
    )


def file_line(one: Attachment) -> str:
    """Name, size, type and the beginning of the hash: enough to tell it from another."""
    return f"{reveal(one.name)} ({size_words(one.size)}, {one.media_type}, SHA-256 {one.sha256[:16]}…)"


def _file(one: Attachment, preview: str | None = None) -> dict[str, Any]:
    shown = {
        "name": one.name,
        "visible_name": reveal(one.name),
        "size": one.size,
        "media_type": one.media_type,
        "sha256": one.sha256,
        "needs_approval": is_dangerous(one.media_type, one.name),
    }
    return shown if preview is None else shown | {"preview": reveal(preview)}


def _written(content: Content) -> dict[str, Any]:
    rich = rendered(content)
    if rich is None:
        return {"format": str(content.format)}
    shown = [
        {"label": reveal(one.label), "target": one.target, "host": one.host, "misleading": one.misleading}
        for one in links_of(content)
    ]
    return {"format": str(content.format), "rendered": reveal(rich.text), "links": shown}


def warnings(content: Content) -> list[dict[str, Any]]:
    return [
        {"field": name, "kind": str(found.kind), "character": found.name, "position": found.position}
        for name, text in _fields(content).items()
        if text
        for found in findings(text)
    ]


def rule_shape(rule: StandingRule, now_us: int) -> dict[str, Any]:
    return {
        "rule_id": rule.id,
        "active": rule.active(now_us),
        "constraints": written(rule.constraints),
        "specificity": specificity(rule),
        "description": rule.description,
        "created_by": rule.created_by,
        "created_at": to_text(rule.created_at_us),
        "created_from": rule.created_from,
        "expires_at": _moment(rule.expires_at_us),
        "max_uses": rule.max_uses,
        "use_count": rule.use_count,
        "revoked_by": rule.revoked_by,
        "revoked_at": _moment(rule.revoked_at_us),
    }


def _decision(action: Action) -> dict[str, Any]:
    return {
        "decided_by": action.decided_by,
        "decided_at": _moment(action.decided_at_us),
        "reason": action.reason,
        "rule_id": action.rule_id,
        "edited": action.edited,
    }


def _fields(content: Content) -> dict[str, str | None]:
    return {
        "channel": content.channel,
        "intent": str(content.intent),
        "recipient": content.address,
        "thread": content.thread,
        "subject": content.subject,
        "message": content.message,
        "emoji": content.emoji,
        "buttons": content.buttons or None,
    }


def _event(event: ApprovalEvent) -> dict[str, Any]:
    return {
        "type": str(event.type),
        "actor": event.actor,
        "at": to_text(event.at_us),
        "reason": event.reason,
        "rule_id": event.rule_id,
        **event.metadata,
    }


def _moment(us: int | None) -> str | None:
    return to_text(us) if us is not None else None
