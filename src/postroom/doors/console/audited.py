"""Which acts of the console are written down, in which words; or why not, because it is written down with itself."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from postroom.domain.audit import AuditKind, NewAudit, Noted
from postroom.doors.console.visit import Visit

_OWN_RECORD: Final = "an answer, a decision or a correction is written down with itself, whatever door it came by"
_INBOX: Final = "a person reading their own inbox changes nothing for others"
_ALREADY: Final = "written in the transaction of the act itself"
_NOTHING: Final = "changes nothing"

PEOPLE, ATTENTION = AuditKind.PEOPLE, AuditKind.ATTENTION

# Every POST of the console stands here: a test fails for one that does not, and what is missing is noted by its path.
ACTS: Final[Mapping[str, Noted | str]] = {
    "/account/passkeys": _ALREADY,
    "/account/passkeys/options": _NOTHING,
    "/account/passkeys/{id}/remove": _ALREADY,
    "/account/sessions/end": Noted(AuditKind.SIGN_IN, "signed out everywhere else"),
    "/account/sessions/{id}/end": Noted(AuditKind.SIGN_IN, "signed out one of their devices"),
    "/access/{id}/invite": _ALREADY,
    "/access/{id}/sign-out": Noted(AuditKind.ACCESS, "signed out everywhere", "person"),
    "/access/{id}/withdraw": Noted(AuditKind.ACCESS, "withdrew an invitation to sign in", "person"),
    "/approvals/rules": _OWN_RECORD,
    "/approvals/rules/{id}/revoke": _OWN_RECORD,
    "/approvals/{id}/approve": _OWN_RECORD,
    "/approvals/{id}/compare": _NOTHING,
    "/approvals/{id}/reject": _OWN_RECORD,
    "/attention/away": Noted(ATTENTION, "said they are away", field="of"),
    "/attention/back": Noted(ATTENTION, "said they are back", field="of"),
    "/attention/notices/{id}/later": Noted(ATTENTION, "put off a notice", "notice"),
    "/attention/notices/{id}/mute": Noted(ATTENTION, "muted a sender", "notice"),
    "/attention/notices/{id}/ok": Noted(ATTENTION, "confirmed a notice", "notice"),
    "/attention/notices/{id}/withdraw": Noted(ATTENTION, "withdrew a notice", "notice"),
    "/attention/policy": Noted(ATTENTION, "changed a policy", field="of"),
    "/attention/unmute": Noted(ATTENTION, "unmuted a sender", field="of"),
    "/people": Noted(PEOPLE, "added a person", field="name"),
    "/people/remembered/{id}/forget": Noted(PEOPLE, "forgot which person a name means"),
    "/people/{id}": Noted(PEOPLE, "changed a person", "person"),
    "/people/{id}/delete": Noted(PEOPLE, "removed a person", "person"),
    "/people/{id}/pair": Noted(PEOPLE, "started a pairing", "person", "channel"),
    "/dead-letters/all": Noted(AuditKind.MESSAGES, "acted on many dead letters", field="act"),
    "/dead-letters/{id}/discard": Noted(AuditKind.MESSAGES, "discarded a dead letter", "dead_letter"),
    "/dead-letters/{id}/replay": Noted(AuditKind.MESSAGES, "replayed a dead letter", "dead_letter"),
    "/deliveries/{id}/recall": _OWN_RECORD,
    "/deliveries/{id}/revise": _OWN_RECORD,
    "/devices": Noted(AuditKind.ACCESS, "switched notifications on for a device"),
    "/devices/{id}/remove": Noted(AuditKind.ACCESS, "removed a device", "device"),
    "/devices/{id}/test": _NOTHING,
    "/inbox/many": _INBOX,
    "/inbox/preferences": Noted(AuditKind.SETTINGS, "changed their preferences"),
    "/inbox/read-all": _INBOX,
    "/inbox/{id}/archive": _INBOX,
    "/inbox/{id}/dismiss": _INBOX,
    "/inbox/{id}/read": _INBOX,
    "/inbox/{id}/restore": _INBOX,
    "/inbox/{id}/snooze": _INBOX,
    "/inbox/{id}/unarchive": _INBOX,
    "/inbox/{id}/unread": _INBOX,
    "/inbox/{id}/wake": _INBOX,
    "/logout": Noted(AuditKind.SIGN_IN, "signed out"),
    "/questions/{id}/answer": _OWN_RECORD,
    "/theme": _NOTHING,
}
# Before there is a session there is no visit: these are written where the session begins.
BEFORE_SIGN_IN: Final = {
    "/login": _ALREADY,
    "/login/link": "a stranger may ask as often as the limits allow; what comes of it is written when it is used",
    "/login/passkey": _ALREADY,
    "/login/passkey/options": _NOTHING,
}


def entry_of(path: str, visit: Visit) -> NewAudit | None:
    """None where it is written down with itself; what is not listed is noted by its path."""
    act = ACTS.get(path, Noted(AuditKind.SETTINGS, f"used {path}"))
    if isinstance(act, str):
        return None
    named = visit.path.get("id", "")
    return NewAudit(
        actor=str(visit.principal),
        kind=act.kind,
        act=act.act,
        subject=f"{act.of}:{named}" if act.of and named else "",
        detail=visit.form.get(act.field) if act.field else "",
    )
