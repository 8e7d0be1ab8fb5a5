"""Who signed in, who decided, who changed what: the newest first, for the owner."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Protocol
from urllib.parse import urlencode

from starlette.responses import Response

from postroom.domain.audit import AuditEntry, AuditKind, AuditQuery
from postroom.domain.person import Person
from postroom.doors.audit.cursor import cursor_of, read_cursor
from postroom.doors.audit.people import actors_of, person_in
from postroom.doors.audit.ports import AuditRecord
from postroom.doors.console.root import ROOT
from postroom.doors.console.visit import ConsolePage, Visit

_PAGE_SIZE: Final = 50
_PAGES: Final = {
    "person": "contacts",
    "question": "questions",
    "approval": "approvals",
    "delivery": "deliveries",
    "dead_letter": "dead-letters",
    "notice": "attention/notices",
}


class AuditNames(Protocol):
    async def people(self, owner_agent: str, ids: Sequence[str]) -> Mapping[str, Person]: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditPages:
    record: AuditRecord
    names: AuditNames
    household: Callable[[], Awaitable[Sequence[Person]]]
    book: str

    async def show(self, visit: Visit) -> Response:
        who, kind = visit.query.get("who", "")[:255].strip(), visit.query.get("kind", "")
        before = read_cursor(visit.query.get("cursor", ""))
        wanted = AuditQuery(
            limit=_PAGE_SIZE + 1,
            actors=actors_of(who) if who else (),
            kind=AuditKind(kind) if kind in set(AuditKind) else None,
            before=before,
        )
        found = await self.record.page(wanted)
        names = await self._names(found)
        return visit.show(
            "audit.html",
            asked={"who": who, "kind": kind},
            people=[(one.id, one.name or one.id) for one in await self.household()],
            kinds=[(str(one), str(one).capitalize()) for one in AuditKind],
            entries=found[:_PAGE_SIZE],
            name=lambda text: names.get(person_in(text), "") or text,
            link=_link,
            is_first=before is None,
            more=_more(who, kind, found) if len(found) > _PAGE_SIZE else None,
        )

    async def _names(self, found: Sequence[AuditEntry]) -> dict[str, str]:
        ids = {person_in(text) for one in found for text in (one.actor, one.subject)} - {""}
        return {one.id: one.name for one in (await self.names.people(self.book, sorted(ids))).values() if one.name}


def _link(subject: str) -> str:
    kind, _, identifier = subject.partition(":")
    return f"{ROOT}/{_PAGES[kind]}/{identifier}" if kind in _PAGES and identifier else ""


def _more(who: str, kind: str, found: Sequence[AuditEntry]) -> str:
    kept = {name: value for name, value in (("who", who), ("kind", kind)) if value}
    return f"{ROOT}/audit?" + urlencode({**kept, "cursor": cursor_of(found[_PAGE_SIZE - 1])})


def audit_pages(pages: AuditPages) -> Sequence[ConsolePage]:
    return [ConsolePage("/audit", pages.show)]
