"""Who did what: which calls and acts are written down, in which words, and the list of them for the owner."""

from __future__ import annotations

import json
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final
from urllib.parse import quote

import structlog
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from postroom.console.frame import Names, ShownPerson, actor_id, actors
from postroom.console.lists import Filter, Found, ListPage, ListQuery, paged
from postroom.console.visit import ConsolePage, ConsoleSection, Visit
from postroom.kernel.audit import AuditEntry, AuditKind, AuditQuery, NewAudit, Noted
from postroom.kernel.database.audit import StoredAudit
from postroom.kernel.running.clock import Clock
from postroom.kernel.values.errors import StoreUnavailable
from postroom.kernel.values.principal import OPERATOR, OWNER, PRINCIPAL, Principal, Role
from postroom.people.model import Person
from postroom.people.signing_in.rules import ROOT

_log = structlog.get_logger("postroom.audit")
_FORM: Final = re.compile(r"(\d{1,19})-([\w.:-]{1,128})", re.ASCII)
_PAGE_SIZE: Final = 50
_PAGES: Final = {
    "person": "people",
    "question": "questions",
    "approval": "approvals",
    "delivery": "deliveries",
    "dead_letter": "dead-letters",
    "notice": "attention/notices",
}
_PEOPLE, _ATTENTION, _SETTINGS = AuditKind.PEOPLE, AuditKind.ATTENTION, AuditKind.SETTINGS
_OWN_RECORD: Final = "an answer, a decision or a correction is written down with itself, whatever door it came by"
_AGENTS: Final = "a message, a question or an intent of an agent: the ledger has it, with its sender"
_INBOX: Final = "a person reading their own inbox changes nothing for others"
_NOTHING: Final = "changes nothing"
_PUBLIC: Final = "a person's own one-time link: what it did is in the record it belongs to"
_ALREADY: Final = "written in the transaction of the act itself"


# -- The record: a place in it as one word of an address, and how a person may stand in it --


def cursor_of(entry: AuditEntry) -> str:
    return f"{entry.at_us}-{entry.id}"


def read_cursor(text: str) -> tuple[int, str] | None:
    """None for what is no cursor."""
    found = _FORM.fullmatch(text)
    at_us = int(found[1]) if found else 0
    return (at_us, found[2]) if found and at_us < 2**63 else None


def actors_of(person_id: str) -> tuple[str, ...]:
    own = tuple(str(Principal(role, person_id)) for role in (Role.PERSON, Role.USER))
    return (*own, OPERATOR.name) if person_id == OWNER else (*own, person_id)


# -- Calls of the API: written down by the door itself, after the call has done what it should --

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
    "PATCH /v1/people/{person}": Noted(_PEOPLE, "changed a person", "person"),
    "DELETE /v1/people/{person}": Noted(_PEOPLE, "removed a person", "person"),
    "POST /v1/people/{person}/pair": Noted(_PEOPLE, "started a pairing", "person"),
    "POST /v1/people/{person}/mute": Noted(_ATTENTION, "muted a sender", "person"),
    "POST /v1/people/{person}/unmute": Noted(_ATTENTION, "unmuted a sender", "person"),
    "POST /v1/people/{person}/away": Noted(_ATTENTION, "said who is away", "person"),
    "PUT /v1/people/{person}/attention": Noted(_ATTENTION, "changed a policy", "person"),
    "DELETE /v1/people/{person}/attention": Noted(_ATTENTION, "removed a policy", "person"),
    "POST /v1/people/{person}/attention/preview": _NOTHING,
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

    def __init__(self, app: ASGIApp, audit: StoredAudit, clock: Clock) -> None:
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


# -- Acts of the console: in which words, or why not, because it is written down with itself --

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
    "/attention/away": Noted(_ATTENTION, "said they are away", field="of"),
    "/attention/back": Noted(_ATTENTION, "said they are back", field="of"),
    "/attention/notices/{id}/later": Noted(_ATTENTION, "put off a notice", "notice"),
    "/attention/notices/{id}/mute": Noted(_ATTENTION, "muted a sender", "notice"),
    "/attention/notices/{id}/ok": Noted(_ATTENTION, "confirmed a notice", "notice"),
    "/attention/notices/{id}/withdraw": Noted(_ATTENTION, "withdrew a notice", "notice"),
    "/attention/policy": Noted(_ATTENTION, "changed a policy", field="of"),
    "/attention/unmute": Noted(_ATTENTION, "unmuted a sender", field="of"),
    "/people": Noted(_PEOPLE, "added a person", field="name"),
    "/people/remembered/{id}/forget": Noted(_PEOPLE, "forgot which person a name means"),
    "/people/{id}": Noted(_PEOPLE, "changed a person", "person"),
    "/people/{id}/delete": Noted(_PEOPLE, "removed a person", "person"),
    "/people/{id}/pair": Noted(_PEOPLE, "started a pairing", "person", "channel"),
    "/dead-letters/all": Noted(AuditKind.MESSAGES, "acted on many dead letters", field="act"),
    "/dead-letters/{id}/discard": Noted(AuditKind.MESSAGES, "discarded a dead letter", "dead_letter"),
    "/dead-letters/{id}/replay": Noted(AuditKind.MESSAGES, "replayed a dead letter", "dead_letter"),
    "/deliveries/{id}/recall": _OWN_RECORD,
    "/deliveries/{id}/revise": _OWN_RECORD,
    "/devices": Noted(AuditKind.ACCESS, "switched notifications on for a device"),
    "/devices/{id}/remove": Noted(AuditKind.ACCESS, "removed a device", "device"),
    "/devices/{id}/test": _NOTHING,
    "/inbox/many": _INBOX,
    "/inbox/preferences": Noted(_SETTINGS, "changed their preferences"),
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
    act = ACTS.get(path, Noted(_SETTINGS, f"used {path}"))
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


# -- The page: the newest first --


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditLine:
    """`about` names the person acted on, and is empty where only the act can be said; `link` leads there."""

    entry: AuditEntry
    who: ShownPerson
    about: str
    link: str


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditPages:
    record: StoredAudit
    household: Callable[[], Awaitable[Sequence[Person]]]

    async def show(self, visit: Visit) -> Response:
        """The people to choose from are those of this moment."""
        listed = ListPage(
            title="Who did what",
            lead="Who signed in, who decided, who changed something. What messages and answers said is not here.",
            parts="audit.html",
            caption="Acts, newest first",
            look="audit",
            find=self._find,
            filters=(
                Filter(
                    name="who", title="Person", options=[(one.id, one.name or one.id) for one in await self.household()]
                ),
                Filter(name="kind", title="Kind", options=[(str(one), str(one).capitalize()) for one in AuditKind]),
            ),
            columns={"Who": "", "What": "excerpt", "Kind": "state", "Where": "from", "When": "when"},
        )
        return await listed.show(visit)

    async def _find(self, visit: Visit, asked: ListQuery) -> Found[AuditLine]:
        query = AuditQuery(
            limit=_PAGE_SIZE + 1,
            actors=actors_of(asked["who"]) if asked["who"] else (),
            kind=AuditKind(asked["kind"]) if asked["kind"] in set(AuditKind) else None,
            before=read_cursor(asked.before or ""),
        )
        entries, older = paged(await self.record.page(query), _PAGE_SIZE, cursor_of)
        return Found(rows=await self._lines(visit, entries), older=older)

    async def _lines(self, visit: Visit, found: Sequence[AuditEntry]) -> Sequence[AuditLine]:
        named = actors(*(one.subject for one in found), *(one.actor for one in found))
        names = await visit.names([], set(named))
        return [_line(one, names) for one in found]


def _line(entry: AuditEntry, names: Names) -> AuditLine:
    person_id = actor_id(entry.subject)
    about = names.of(person_id).name if person_id else ""
    return AuditLine(entry=entry, who=names.actor(entry.actor), about=about, link=_link(entry.subject))


def _link(subject: str) -> str:
    kind, _, identifier = subject.partition(":")
    if kind == "rule":
        return f"{ROOT}/approvals/rules"
    return f"{ROOT}/{_PAGES[kind]}/{quote(identifier, safe='')}" if kind in _PAGES and identifier else ""


def audit_section(pages: AuditPages) -> ConsoleSection:
    return ConsoleSection(
        name="Audit",
        pages=(ConsolePage("/audit", pages.show),),
    )
