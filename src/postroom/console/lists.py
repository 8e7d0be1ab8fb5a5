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
    TEXT = "text"
    CHOICE = "choice"
    MOMENT = "moment"
    TICK = "tick"
    KEPT = "kept"  # in the address and in no field: whose list it is


@dataclass(frozen=True, slots=True, kw_only=True)
class Filter:
    """What the rows can be narrowed down by; `options` are the values of a choice with their words."""

    name: str
    title: str = ""
    kind: FilterKind = FilterKind.CHOICE
    options: Sequence[tuple[str, str]] = ()
    hint: str = ""


def searched_by(hint: str, title: str = "Search") -> Filter:
    return Filter(name="q", title=title, kind=FilterKind.SEARCH, hint=hint)


@dataclass(frozen=True, slots=True)
class Column:
    """`place` is where it stands on a phone, where a row takes two lines; the macro named like it writes a cell."""

    title: str
    place: str = ""

    @property
    def macro(self) -> str:
        return self.title.lower().replace(" ", "_")


@dataclass(frozen=True, slots=True)
class Shelves:
    """The states a list is sorted by, one of which is shown; the first one when nothing else is asked for."""

    name: str
    words: Mapping[str, str]


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
    counts: Mapping[str, int | None] = field(default_factory=dict)
    """Beside the words of the shelves."""
    around: Mapping[str, Any] = field(default_factory=dict)
    """What the macros of this list need beside its rows."""
    status: int = 200


def paged(rows: Sequence[Kept], size: int, cursor_of: Callable[[Kept], str]) -> tuple[Sequence[Kept], str | None]:
    """Of one row more than a page holds: the page, and where the next one begins."""
    return rows[:size], cursor_of(rows[size - 1]) if len(rows) > size else None


@dataclass(frozen=True, slots=True, kw_only=True)
class ListPage(Generic[Row]):
    """
    `parts` is a template of macros: one for each column or `card` for a row without columns, `nothing` for an empty
    list, and where a list has more than rows: `head`, `above`, `around`, `below`, `after`.

    `find` may also answer by itself, such as with the one page that somebody looks for.
    """

    title: str
    parts: str
    find: Callable[[Visit, ListQuery], Awaitable[Found[Row] | Response]]
    lead: str = ""
    caption: str = ""
    filters: Sequence[Filter] = ()
    shelves: Shelves | None = None
    columns: Sequence[Column] = ()
    look: str = ""  # of its table or its cards
    live: str = ""  # upon which events it brings itself up to date
    said: str = "The list was brought up to date."
    older: str = "Older"
    newest: str = "Newest"

    async def show(self, visit: Visit) -> Response:
        asked, problem = self.asked(visit), ""
        found: Found[Row] | Response = Found(rows=(), status=400)
        try:
            found = await self.find(visit, asked)
        except ValidationError as error:
            problem = error.message
        if isinstance(found, Response):
            return found
        return visit.show(
            "list.html",
            status=found.status,
            page=ShownList(listed=self, asked=asked, found=found, path=visit.request.url.path, problem=problem),
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
    def fields(self) -> Sequence[Filter]:
        return [one for one in self.listed.filters if one.kind is not FilterKind.KEPT]

    @property
    def is_only_searched(self) -> bool:
        return [one.kind for one in self.fields] == [FilterKind.SEARCH]

    @property
    def in_use(self) -> int:
        return sum(1 for one in self.fields if self.asked[one.name])

    @property
    def here(self) -> str:
        return self.address(cursor=self.asked.before or "")

    @property
    def older(self) -> str:
        return self.address(cursor=self.found.older) if self.found.older else ""

    def address(self, cursor: str = "", shelf: str | None = None) -> str:
        """Of the same list, with all that was asked for."""
        said = dict(self.asked.values)
        if self.listed.shelves is not None:
            said[self.listed.shelves.name] = self.asked.shelf if shelf is None else shelf
        kept = {name: value for name, value in {**said, CURSOR: cursor}.items() if value}
        return f"{self.path}?{urlencode(kept)}" if kept else self.path
