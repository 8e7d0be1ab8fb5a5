"""Conversations by person: everything said both ways, where each message went, and why."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final

from starlette.exceptions import HTTPException
from starlette.responses import Response

from postroom.attention.pages.shown import is_somebody, own_id
from postroom.console.lists import Filter, FilterKind, Found, ListPage, ListQuery, searched_by
from postroom.console.visit import ConsolePage, ConsoleSection, Visit
from postroom.console.words import state_words
from postroom.conversations.history import Histories, Lately
from postroom.conversations.model import HistoryLine, HistoryQuery, InboundStatus, LineKind
from postroom.conversations.store import StoredInbound
from postroom.conversations.talk import DAY_SECONDS
from postroom.kernel.values.ids import seconds
from postroom.kernel.values.principal import HOUSEHOLD_OWNER
from postroom.people.model import Person
from postroom.people.signing_in.rules import ROOT
from postroom.people.store.people import StoredPeople
from postroom.questions.model import QuestionStatus

_PAGE_SIZE: Final = 50
_MOST_PEOPLE: Final = 50
_MOST_FOUND: Final = 20
Talk = tuple[Person, HistoryLine | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class TalkPages:
    people: StoredPeople
    history: Histories
    lately: Lately
    sessions: SessionsToday
    channels: Sequence[str]

    def listed(self) -> ListPage[Talk]:
        return ListPage(
            title="Conversations",
            lead="With whom something was said lately, both ways. Open a person to read all of it.",
            parts="conversations.html",
            caption="People, the newest conversation first",
            look="talks",
            find=self._find,
            filters=(searched_by("A name, another name, or an address"),),
            columns={"Person": "", "Last said": "excerpt", "State": "state", "Where": "from", "When": "when"},
            live="sse:conversations throttle:3s, sse:deliveries throttle:3s",
        )

    async def _find(self, visit: Visit, asked: ListQuery) -> Found[Talk] | Response:
        """The owner sees with whom something was said; everybody else goes to their own."""
        if not visit.principal.is_owner:
            return visit.go(f"/conversations/{own_id(visit)}")
        talks = await self._listed(asked["q"], await self.lately.last(_MOST_PEOPLE))
        return Found(rows=talks, ids=[one.id for one, _ in talks], around={"state_of": line_state})

    async def one(self, visit: Visit) -> Response:
        person = await self._person(visit)
        listed = ListPage(
            title=f"{person.name} · Conversations",
            parts="conversation.html",
            find=partial(self._lines, person),
            filters=(
                Filter(name="butler", title="Butler", kind=FilterKind.TEXT),
                Filter(name="channel", title="Channel", options=[(one, one) for one in self.channels]),
            ),
            live="sse:conversations throttle:2s, sse:deliveries throttle:2s, sse:questions throttle:2s",
            said="The conversation was brought up to date.",
        )
        return await listed.show(visit)

    async def _lines(self, person: Person, visit: Visit, asked: ListQuery) -> Found[HistoryLine]:
        query = HistoryQuery(
            limit=_PAGE_SIZE, before=asked.before, butler=asked["butler"] or None, channel=asked["channel"] or None
        )
        found = await self.history.of(person, query)
        return Found(
            rows=found.lines,
            older=found.before,
            unfinished=not found.lines and found.before is not None,
            places=[(one.channel, one.address) for one in found.lines if one.channel and one.address],
            ids=[person.id],
            around={
                "person": person,
                "link": line_link,
                "state_of": line_state,
                "sessions": await self.sessions.of(person.id, visit.now_us),
                "per_day": self.sessions.per_day,
                "sees_everybody": visit.principal.is_owner,
            },
        )

    async def _listed(self, words: str, lasts: Mapping[str, HistoryLine]) -> list[Talk]:
        if words:
            found = await self.people.search(HOUSEHOLD_OWNER, words, after=None, limit=_MOST_FOUND)
            return [(one, lasts.get(one.id)) for one in found]
        known = await self.people.people(HOUSEHOLD_OWNER, list(lasts))
        return [(known[one], last) for one, last in lasts.items() if one in known]

    async def _person(self, visit: Visit) -> Person:
        """404 for another person's, unless the owner asks."""
        wanted = visit.path["id"]
        if wanted != own_id(visit) and not visit.principal.is_owner:
            raise HTTPException(404)
        person = (await self.people.people(HOUSEHOLD_OWNER, [wanted])).get(wanted)
        if person is None:
            raise HTTPException(404)
        return person


def line_link(line: HistoryLine) -> str:
    """The page that says more; what a person wrote has none of its own."""
    match line.kind:
        case LineKind.DELIVERY:
            return f"{ROOT}/deliveries/{line.id}"
        case LineKind.QUESTION:
            return f"{ROOT}/questions/{line.id}"
        case LineKind.MESSAGE:
            return ""


def line_state(line: HistoryLine) -> tuple[str, str]:
    """The word and its tone, as everywhere."""
    match line.kind:
        case LineKind.DELIVERY:
            return state_words(line.status)
        case LineKind.QUESTION:
            return state_words(QuestionStatus(line.status))
        case LineKind.MESSAGE:
            return state_words(InboundStatus(line.status))


def conversations_section(pages: TalkPages) -> ConsoleSection:
    return ConsoleSection(
        name="Conversations",
        pages=(
            ConsolePage("/conversations", pages.listed().show, open_to=is_somebody),
            ConsolePage("/conversations/{id}", pages.one, open_to=is_somebody),
        ),
    )


# How many sessions a person's messages have begun within a day, beside the most there may be.


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionsToday:
    counted: StoredInbound
    per_day: int

    async def of(self, person_id: str, now_us: int) -> int:
        return await self.counted.sessions_since(person_id, now_us - seconds(DAY_SECONDS))
