"""Who signed in, who decided, who changed what: the newest first, for the owner."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Protocol
from urllib.parse import quote, urlencode

from starlette.responses import Response

from postroom.domain.audit import AuditEntry, AuditKind, AuditQuery, AuditSubject
from postroom.domain.person import Person
from postroom.doors.audit.cursor import cursor_of, read_cursor
from postroom.doors.audit.people import actors_of, person_in
from postroom.doors.audit.ports import AuditRecord
from postroom.doors.console.names import Names, ShownPerson, actors
from postroom.doors.console.root import ROOT
from postroom.doors.console.visit import ConsolePage, ConsoleSection, Visit

_PAGE_SIZE: Final = 50
_MOST_SAID: Final = 120
_PAGES: Final = {
    "person": "people",
    "question": "questions",
    "approval": "approvals",
    "delivery": "deliveries",
    "dead_letter": "dead-letters",
    "notice": "attention/notices",
}


class AuditSubjects(Protocol):
    async def of(self, subjects: Collection[str]) -> Mapping[str, AuditSubject]:
        """By the subject as the audit writes it; what no record knows is not in it."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditLine:
    """`about` says what was acted on, and is empty where only the act can be said; `link` leads there."""

    entry: AuditEntry
    who: ShownPerson
    about: str
    link: str


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditPages:
    record: AuditRecord
    subjects: AuditSubjects
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
        subjects = await self.subjects.of({one.subject for one in found if one.subject})
        places = [(one.channel, one.address) for one in subjects.values() if one.address]
        people = {person_in(one.subject) for one in found} - {""}
        names = await visit.names(places, {*people, *actors(*(one.actor for one in found))})
        return [_line(one, subjects.get(one.subject, AuditSubject()), names) for one in found]


def _line(entry: AuditEntry, subject: AuditSubject, names: Names) -> AuditLine:
    return AuditLine(
        entry=entry, who=names.actor(entry.actor), about=_about(entry, subject, names), link=_link(entry.subject)
    )


def _about(entry: AuditEntry, subject: AuditSubject, names: Names) -> str:
    if person_id := person_in(entry.subject):
        return names.of(person_id).name
    if subject.address:
        to = names.at(subject.channel, subject.address)
        return f"to {to.name or to.address} over {subject.channel}"
    said = " ".join(subject.words.split())
    return said if len(said) <= _MOST_SAID else f"{said[:_MOST_SAID]}…"


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
