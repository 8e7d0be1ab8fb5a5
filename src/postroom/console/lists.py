"""A list of the console, declared once: how it is found, narrowed down and sorted, its columns and its pages."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Final, Generic, TypeVar
from urllib.parse import urlencode

from starlette.responses import Response

from postroom.console.frame import Place
from postroom.console.visit import Visit
from postroom.kernel.values.errors import ValidationError

CURSOR: Final = "cursor"
_LONGEST: Final = 320
_LONGEST_CURSOR: Final = 255
Row = TypeVar("Row")
Kept = TypeVar("Kept")


# -- What a list declares --


class FilterKind(StrEnum):
    SEARCH = "search"
    NAME = "name"  # a search that stands alone, in one line
    TEXT = "text"
    CHOICE = "choice"
    MOMENT = "moment"
    TICK = "tick"


@dataclass(frozen=True, slots=True, kw_only=True)
class Filter:
    """What the rows can be narrowed down by; `options` are the values of a choice with their words."""

    name: str
    title: str = ""
    kind: FilterKind = FilterKind.CHOICE
    options: Sequence[tuple[str, str]] = ()
    hint: str = ""


def searched_by(hint: str) -> Filter:
    return Filter(name="q", title="Search", kind=FilterKind.SEARCH, hint=hint)


@dataclass(frozen=True, slots=True)
class Shelves:
    """The states a list is sorted by, one of which is shown: the first one, and where one searches, `searched`."""

    name: str
    words: Mapping[str, str]
    searched: str = ""


# -- What one request asks for, and what was found --


@dataclass(frozen=True, slots=True, kw_only=True)
class ListQuery:
    """Every filter has a value, which is empty where nothing was typed."""

    values: Mapping[str, str]
    shelf: str = ""
    before: str | None = None

    def __getitem__(self, name: str) -> str:
        return self.values[name]


@dataclass(frozen=True, slots=True, kw_only=True)
class Found(Generic[Row]):
    """`older` is where the next page begins; what is `unfinished` stopped looking before it had looked at all."""

    rows: Sequence[Row]
    older: str | None = None
    unfinished: bool = False
    places: Iterable[Place] = ()
    ids: Iterable[str] = ()
    counts: Mapping[str, str] = field(default_factory=dict)
    """How many lie on each of the shelves, in words."""
    around: Mapping[str, Any] = field(default_factory=dict)
    """What the macros of this list need beside its rows."""


def paged(rows: Sequence[Kept], size: int, cursor_of: Callable[[Kept], str]) -> tuple[Sequence[Kept], str | None]:
    """Of one row more than a page holds: the page, and where the next one begins."""
    return rows[:size], cursor_of(rows[size - 1]) if len(rows) > size else None


@dataclass(frozen=True, slots=True, kw_only=True)
class ListPage(Generic[Row]):
    """
    `parts` is a template of macros: one named after each column, or `card` for a row without any; `nothing` for an
    empty list; and where a list has more than rows: `head`, `above` the shelves, `first` below them, `around` the
    rows, `below` them and `after` all that brings itself up to date.

    `find` may also answer by itself, such as with the one page that somebody looks for.
    """

    title: str
    parts: str
    find: Callable[[Visit, ListQuery], Awaitable[Found[Row] | Response]]
    lead: str = ""
    caption: str = ""
    filters: Sequence[Filter] = ()
    shelves: Shelves | None = None
    columns: Mapping[str, str] = field(default_factory=dict)
    """By its title the place of each on a phone, where a row takes two lines; without a place it names the row."""
    look: str = ""  # of its table or its cards
    live: str = ""  # upon which events it brings itself up to date
    said: str = "The list was brought up to date."
    older: str = "Older"
    newest: str = "Newest"
    kept: Mapping[str, str] = field(default_factory=dict)
    """What the addresses of all its pages carry, such as whose list it is."""
    path: str = ""
    """Where it stands, if that is not where the form was sent to that it answers."""
    status: int = 200

    async def show(self, visit: Visit) -> Response:
        asked, problem = self.asked(visit), ""
        found: Found[Row] | Response = Found(rows=())
        try:
            found = await self.find(visit, asked)
        except ValidationError as error:
            problem = error.message
        if isinstance(found, Response):
            return found
        path = self.path or visit.request.url.path
        return visit.show(
            "list.html",
            status=400 if problem else self.status,
            page=ShownList(listed=self, asked=asked, found=found, path=path, problem=problem),
            names=await visit.names(found.places, found.ids),
            zone=visit.zone,
            **found.around,
        )

    def asked(self, visit: Visit) -> ListQuery:
        query, shelf = visit.query, ""
        if self.shelves is not None:
            shelf = query.get(self.shelves.name, "")
            shelf = shelf if shelf in self.shelves.words else next(iter(self.shelves.words))
        values = {one.name: query.get(one.name, "").strip()[:_LONGEST] for one in self.filters}
        return ListQuery(values=values, shelf=shelf, before=query.get(CURSOR, "")[:_LONGEST_CURSOR] or None)


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownList(Generic[Row]):
    """One page of a list, for the template."""

    listed: ListPage[Row]
    asked: ListQuery
    found: Found[Row]
    path: str
    problem: str = ""

    @property
    def rows(self) -> Sequence[Row]:
        return self.found.rows

    @property
    def shelf(self) -> str:
        return self.asked.shelf

    @property
    def is_first(self) -> bool:
        return self.asked.before is None

    @property
    def is_only_searched(self) -> bool:
        return [one.kind for one in self.listed.filters] == [FilterKind.NAME]

    @property
    def in_use(self) -> int:
        return sum(1 for one in self.listed.filters if self.asked[one.name])

    @property
    def here(self) -> str:
        return self.address(cursor=self.asked.before or "")

    @property
    def older(self) -> str:
        return self.address(cursor=self.found.older) if self.found.older else ""

    @property
    def carried(self) -> Mapping[str, str]:
        """By the form that narrows it down, beside its fields."""
        shelves = self.listed.shelves
        if shelves is None:
            return self.listed.kept
        begun = shelves.searched if shelves.searched and not self.in_use else self.shelf
        return {**self.listed.kept, shelves.name: begun}

    def address(self, cursor: str = "", shelf: str | None = None) -> str:
        """Of the same list, with all that was asked for."""
        said = {**self.asked.values, **self.listed.kept}
        if self.listed.shelves is not None:
            said[self.listed.shelves.name] = self.shelf if shelf is None else shelf
        wanted = {name: value for name, value in {**said, CURSOR: cursor}.items() if value}
        return f"{self.path}?{urlencode(wanted)}" if wanted else self.path
