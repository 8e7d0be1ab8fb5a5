"""docs/reference/museum.md: failures that other systems were reported to have, and the tests that show them here."""

from __future__ import annotations

from collections.abc import Iterator

from scripts.reference.markdown import code, page, table
from tests.museum.catalogue import Exhibit
from tests.museum.rooms import ROOMS, Room, rooms

_INTRODUCTION = """\
Others have carried messages between agents and people before, and those who use them have written down what went
wrong. Here are {many} such reports. For each of them `tests/museum` has a test that does in a living household what
the reporter did: over the tools, the routes, the commands and the channels that everybody uses. Only those about
hours of the day have a clock that is not real. `make test` runs them all.

The sentences are ours. A report is linked for what it describes; many of these failures have been mended since, and
some of the reports ask for what was missing."""


def museum_page() -> str:
    many = sum(len(shown) for shown in ROOMS.values())
    return page("A museum of failures", _INTRODUCTION.format(many=many), [_part(room) for room in rooms()])


def _part(room: Room) -> str:
    header = ("report", "what went wrong there", "why not here", "shown by")
    return f"## {room.about}\n\n`tests/museum/{room.name}.py`\n\n{table(header, _rows(room))}"


def _rows(room: Room) -> Iterator[tuple[str, str, str, str]]:
    exhibits = {one.id: one for one in ROOMS[room.name]}
    for exhibit, test in room.tests:
        one = exhibits[exhibit]
        yield _report(one), one.failed, one.avoided, code(test)


def _report(one: Exhibit) -> str:
    return f"[{one.project} #{one.number}]({one.report})"
