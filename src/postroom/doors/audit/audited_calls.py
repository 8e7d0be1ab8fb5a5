"""Which calls of the API are written down: by the door itself, after the call has done what it should."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Final

import structlog
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from postroom.domain.audit import AuditKind, NewAudit, Noted
from postroom.domain.clock import Clock
from postroom.domain.errors import StoreUnavailable
from postroom.domain.principal import PRINCIPAL, Principal
from postroom.doors.audit.ports import Audit

_log = structlog.get_logger("postroom.audit")


_OWN_RECORD: Final = "an answer, a decision or a correction is written down with itself, whatever door it came by"
_AGENTS: Final = "a message, a question or an intent of an agent: the ledger has it, with its sender"
_INBOX: Final = "a person reading their own inbox changes nothing for others"
_NOTHING: Final = "changes nothing"
_PUBLIC: Final = "a person's own one-time link: what it did is in the record it belongs to"
_PEOPLE, _ATTENTION, _SETTINGS = AuditKind.PEOPLE, AuditKind.ATTENTION, AuditKind.SETTINGS

# Every call of the API that may change something stands here: a test fails for one that does not.
CALLS: Final[Mapping[str, Noted | str]] = {
    "POST /contacts": Noted(_PEOPLE, "added a person", "person", "contact.contact_id"),
    "POST /contacts/confirm": Noted(_PEOPLE, "chose which person a name means"),
    "POST /contacts/import": Noted(_PEOPLE, "imported people"),
    "POST /contacts/resolve": _NOTHING,
    "POST /contacts/{contact_id}/aliases": Noted(_PEOPLE, "gave a person another name", "person"),
    "DELETE /contacts/{contact_id}": Noted(_PEOPLE, "removed a person", "person"),
    "DELETE /contacts/{contact_id}/aliases": Noted(_PEOPLE, "took a name from a person", "person"),
    "DELETE /contacts/memory/{memory_id}": Noted(_PEOPLE, "forgot which person a name means"),
    "PUT /contacts/{contact_id}": Noted(_PEOPLE, "changed a person", "person"),
    "POST /v1/people": Noted(_PEOPLE, "added a person", "person", "person.person_id"),
    "PATCH /v1/people/{person_id}": Noted(_PEOPLE, "changed a person", "person"),
    "DELETE /v1/people/{person_id}": Noted(_PEOPLE, "removed a person", "person"),
    "POST /v1/people/{person_id}/pair": Noted(_PEOPLE, "started a pairing", "person"),
    "POST /v1/people/{person_id}/mute": Noted(_ATTENTION, "muted a sender", "person"),
    "POST /v1/people/{person_id}/unmute": Noted(_ATTENTION, "unmuted a sender", "person"),
    "POST /v1/people/{person_id}/away": Noted(_ATTENTION, "said who is away", "person"),
    "PUT /v1/people/{person_id}/attention": Noted(_ATTENTION, "changed a policy", "person"),
    "DELETE /v1/people/{person_id}/attention": Noted(_ATTENTION, "removed a policy", "person"),
    "POST /v1/people/{person_id}/attention/preview": _NOTHING,
    "POST /v1/notices/{notice_id}/ack": Noted(_ATTENTION, "confirmed a notice", "notice"),
    "POST /v1/notices/{notice_id}/snooze": Noted(_ATTENTION, "put off a notice", "notice"),
    "POST /v1/notices/{notice_id}/withdraw": Noted(_ATTENTION, "withdrew a notice", "notice"),
    "POST /v1/notices/withdraw": Noted(_ATTENTION, "withdrew notices"),
    "POST /v1/webhooks/subscriptions": Noted(_SETTINGS, "subscribed a webhook"),
    "DELETE /v1/webhooks/subscriptions/{subscription_id}": Noted(_SETTINGS, "removed a webhook"),
    "POST /v1/approvals/{action_id}/approve": _OWN_RECORD,
    "POST /v1/approvals/{action_id}/reject": _OWN_RECORD,
    "POST /v1/asks/{ask_id}/answer": _OWN_RECORD,
    "POST /v1/deliveries/{delivery_id}/recall": _OWN_RECORD,
    "POST /v1/deliveries/{delivery_id}/revise": _OWN_RECORD,
    "POST /v1/inbox/{thread_id}/approve": _OWN_RECORD,
    "POST /v1/inbox/{thread_id}/reject": _OWN_RECORD,
    "POST /v1/inbox/{thread_id}/reply": _OWN_RECORD,
    "POST /v1/inbox/{thread_id}/delegate": _OWN_RECORD,
    "DELETE /notifications/{notification_id}": _INBOX,
    "PATCH /notifications/preferences": Noted(_SETTINGS, "changed their preferences"),
    "PATCH /notifications/read-all": _INBOX,
    "PATCH /notifications/see-all": _INBOX,
    "PATCH /notifications/{notification_id}/archive": _INBOX,
    "PATCH /notifications/{notification_id}/read": _INBOX,
    "PATCH /notifications/{notification_id}/snooze": _INBOX,
    "PATCH /notifications/{notification_id}/unarchive": _INBOX,
    "PATCH /notifications/{notification_id}/unread": _INBOX,
    "PUT /notifications/preferences": Noted(_SETTINGS, "changed their preferences"),
    "POST /a/{token}": _PUBLIC,
    "POST /confirm/{secret}": _PUBLIC,
    "POST /channels/{account}/press": _OWN_RECORD,
    "POST /v1/asks": _AGENTS,
    "POST /v1/asks/{ask_id}/cancel": _AGENTS,
    "POST /v1/asks/{ask_id}/revise": _AGENTS,
    "POST /v1/intents": _AGENTS,
    "POST /v1/intents/{intent_id}/resolve": _AGENTS,
    "POST /v1/intents/{intent_id}/resume": _AGENTS,
    "POST /v1/notify": _AGENTS,
    "POST /v1/uploads": "a file that no message names goes by itself",
}


class AuditedCalls:
    """Around the routes, behind the guard: who called is known, and a call answered again from memory never comes."""

    def __init__(self, app: ASGIApp, audit: Audit, clock: Clock) -> None:
        self._app = app
        self._audit = audit
        self._clock = clock
        self._noted = [(_shape(route), noted) for route, noted in CALLS.items() if isinstance(noted, Noted)]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        found = self._found(scope) if scope["type"] == "http" and scope["method"] not in ("GET", "HEAD") else None
        if found is None:
            await self._app(scope, receive, send)
            return
        new, made = found
        status, answer = 500, bytearray()

        async def seen(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                if status < 300 and not made:
                    await self._note(new)
            elif message["type"] == "http.response.body" and made and status < 300:
                answer.extend(message.get("body", b""))
                if not message.get("more_body"):
                    await self._note(replace(new, subject=f"{new.subject}{_found_in(answer, made)}"))
            await send(message)

        await self._app(scope, receive, seen)

    def _found(self, scope: Scope) -> tuple[NewAudit, str] | None:
        """With the field of the answer that says what was made."""
        caller, asked = scope.get(PRINCIPAL), f"{scope['method']} {scope['path']}"
        for shape, noted in self._noted:
            if (fits := shape.fullmatch(asked)) and isinstance(caller, Principal):
                named = f"{noted.of}:{fits[1] if fits.lastindex else ''}" if noted.of else ""
                new = NewAudit(actor=str(caller), kind=noted.kind, act=noted.act, subject=named, door="api")
                return new, "" if fits.lastindex else noted.field
        return None

    async def _note(self, new: NewAudit) -> None:
        """The act is done: a caller who heard otherwise would do it again."""
        try:
            await self._audit.add(new, self._clock.now_us())
        except StoreUnavailable:
            _log.error("audit.lost", actor=new.actor, act=new.act, subject=new.subject)


def _shape(route: str) -> re.Pattern[str]:
    return re.compile("([^/]+)".join(re.escape(part) for part in re.split(r"\{[^}]+\}", route)))


def _found_in(answer: bytes | bytearray, field: str) -> str:
    value = json.loads(answer)
    for name in field.split("."):
        value = value[name]
    return str(value)
