"""
A list as a file: the columns it has, and its rows page by page, so that no list has to fit into memory.

To add one: declare an `Exported` with its columns, and a page with `export_page` whose reader takes the visit and
says how to turn the pages. The path is `/export/<name>.csv`; the list links to it by the macro `download`.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Final, Generic, TypeVar

from starlette.responses import Response, StreamingResponse

from postroom.domain.errors import PostroomError, StoreUnavailable, ValidationError
from postroom.domain.principal import Principal
from postroom.domain.time import to_datetime
from postroom.doors.console.csv_text import MARK, Cell, csv_line
from postroom.doors.console.visit import ConsolePage, Visit

ROWS_AT_A_TIME: Final = 500
Row = TypeVar("Row")


@dataclass(frozen=True, slots=True)
class Exported(Generic[Row]):
    """`name` is the file's; each column has a title and says what of a row stands in it."""

    name: str
    columns: Sequence[tuple[str, Callable[[Row], Cell]]]

    @property
    def head(self) -> str:
        return csv_line(title for title, _ in self.columns)

    def lines(self, rows: Sequence[Row]) -> str:
        return "".join(csv_line(value(row) for _, value in self.columns) for row in rows)


@dataclass(frozen=True, slots=True)
class ExportPage(Generic[Row]):
    """`after` begins the next page; None when this was the last."""

    rows: Sequence[Row]
    after: str | None = None


TurnPage = Callable[[str | None], Awaitable[ExportPage[Row]]]
Reader = Callable[[Visit], Awaitable[TurnPage[Row]]]


def export_page(
    exported: Exported[Row], read: Reader[Row], open_to: Callable[[Principal], bool], path: str = ""
) -> ConsolePage:
    """Open to those whom its list is open to."""

    async def answer(visit: Visit) -> Response:
        return await streamed(visit, exported, await read(visit))

    return ConsolePage(f"/export/{path or exported.name}.csv", answer, open_to=open_to)


async def streamed(visit: Visit, exported: Exported[Row], turn: TurnPage[Row]) -> Response:
    """The first page is read before anything is sent, so that what cannot be read is said in a page."""
    try:
        first = await turn(None)
    except StoreUnavailable:
        raise
    except ValidationError as error:
        return _said(error.message, 400)
    except PostroomError as error:
        return _said(error.message, 503)
    headers = _headers(exported.name, visit.now_us)
    return StreamingResponse(_text(exported, first, turn), media_type="text/csv; charset=utf-8", headers=headers)


def one_page(rows: Sequence[Row]) -> TurnPage[Row]:
    async def turn(_after: str | None) -> ExportPage[Row]:
        return ExportPage(rows)

    return turn


async def _text(exported: Exported[Row], first: ExportPage[Row], turn: TurnPage[Row]) -> AsyncIterator[bytes]:
    page = first
    yield _bytes(MARK + exported.head + exported.lines(page.rows))
    while page.after is not None:
        page = await turn(page.after)
        yield _bytes(exported.lines(page.rows))


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", errors="replace")


def _headers(name: str, now_us: int) -> dict[str, str]:
    """Opened by nothing that this site shows, and kept nowhere on the way."""
    return {
        "Content-Disposition": f'attachment; filename="{name}-{to_datetime(now_us):%Y-%m-%d}.csv"',
        "X-Content-Type-Options": "nosniff",
        "Content-Security-Policy": "default-src 'none'; sandbox",
    }


def _said(text: str, status: int) -> Response:
    return Response(text, status_code=status, media_type="text/plain; charset=utf-8")
