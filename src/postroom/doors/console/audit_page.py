"""Who signed in, who decided, who changed what: the newest first, for the owner."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final
from urllib.parse import quote, urlencode

from starlette.responses import Response

from postroom.domain.audit import AuditEntry, AuditKind, AuditQuery
from postroom.domain.person import Person
from postroom.doors.audit.cursor import cursor_of, read_cursor
from postroom.doors.audit.people import actors_of, person_in
from postroom.doors.audit.ports import AuditRecord
from postroom.doors.console.names import Names, ShownPerson, actors
from postroom.doors.console.root import ROOT
from postroom.doors.console.visit import ConsolePage, ConsoleSection, Visit

_PAGE_SIZE: Final = 50
_PAGES: Final = {
    "person": "people",
    "question": "questions",
    "approval": "approvals",
    "delivery": "deliveries",
    "dead_letter": "dead-letters",
    "notice": "attention/notices",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditLine:
    """`about` names the person acted on, and is empty where only the act can be said; `link` leads there."""

    entry: AuditEntry
    who: ShownPerson
    about: str
    link: str


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditPages:
    record: AuditRecord
    household: Callable[[], Awaitable[Sequence[Person]]]

    async def show(self, visit: Visit) -> Response:
        asked, before = _asked(visit), read_cursor(visit.query.get("cursor", ""))
        found = await self.record.page(_query(asked, before, _PAGE_SIZE + 1))
        return visit.show(
            "audit.html",
            asked=asked,
            in_use=sum(1 for value in asked.values() if value),
            people=[(one.id, one.name or one.id) for one in await self.household()],
            kinds=[(str(one), str(one).capitalize()) for one in AuditKind],
            lines=await self._lines(visit, found[:_PAGE_SIZE]),
            is_first=before is None,
            more=_more(asked, found) if len(found) > _PAGE_SIZE else None,
        )

    async def _lines(self, visit: Visit, found: Sequence[AuditEntry]) -> Sequence[AuditLine]:
        people = {person_in(one.subject) for one in found} - {""}
        names = await visit.names([], {*people, *actors(*(one.actor for one in found))})
        return [_line(one, names) for one in found]


def _line(entry: AuditEntry, names: Names) -> AuditLine:
    person_id = person_in(entry.subject)
    about = names.of(person_id).name if person_id else ""
    return AuditLine(entry=entry, who=names.actor(entry.actor), about=about, link=_link(entry.subject))


def _link(subject: str) -> str:
    kind, _, identifier = subject.partition(":")
    if kind == "rule":
        return f"{ROOT}/approvals/rules"
    return f"{ROOT}/{_PAGES[kind]}/{quote(identifier, safe='')}" if kind in _PAGES and identifier else ""


def _asked(visit: Visit) -> dict[str, str]:
    kind = visit.query.get("kind", "")
    return {"who": visit.query.get("who", "")[:255].strip(), "kind": kind if kind in set(AuditKind) else ""}


def _query(asked: Mapping[str, str], before: tuple[int, str] | None, limit: int) -> AuditQuery:
    return AuditQuery(
        limit=limit,
        actors=actors_of(asked["who"]) if asked["who"] else (),
        kind=AuditKind(asked["kind"]) if asked["kind"] else None,
        before=before,
    )


def _more(asked: Mapping[str, str], found: Sequence[AuditEntry]) -> str:
    kept = {name: value for name, value in asked.items() if value}
    return f"{ROOT}/audit?" + urlencode({**kept, "cursor": cursor_of(found[_PAGE_SIZE - 1])})


def audit_section(pages: AuditPages) -> ConsoleSection:
    return ConsoleSection(
        name="Audit",
        pages=(ConsolePage("/audit", pages.show),),
    )
