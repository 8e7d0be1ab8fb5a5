"""Every exhibit is shown by one test in its own room, and every test of a room shows one."""

from __future__ import annotations

import re
from collections import Counter

import pytest

from tests.museum.catalogue import Exhibit
from tests.museum.rooms import FOLDER, ROOMS, Room, rooms

EXHIBITS = [one for shown in ROOMS.values() for one in shown]


def test_every_file_of_the_museum_is_a_room() -> None:
    assert {file.stem for file in FOLDER.glob("test_*.py")} == {*ROOMS, "test_rooms"}


@pytest.mark.parametrize("room", list(rooms()), ids=lambda room: room.name)
def test_a_room_shows_its_exhibits_each_once_and_nothing_else(room: Room) -> None:
    assert sorted(exhibit for exhibit, _ in room.tests) == sorted(one.id for one in ROOMS[room.name])
    source = (FOLDER / f"{room.name}.py").read_text(encoding="utf-8")
    assert len(re.findall(r"^(?:async )?def test_", source, re.MULTILINE)) == len(room.tests)
    assert room.about


def test_no_report_is_shown_twice_and_there_are_enough_of_them() -> None:
    assert [name for name, count in Counter(one.id for one in EXHIBITS).items() if count > 1] == []
    assert [name for name, count in Counter(one.report for one in EXHIBITS).items() if count > 1] == []
    assert len(EXHIBITS) >= 36


@pytest.mark.parametrize("exhibit", EXHIBITS, ids=lambda exhibit: exhibit.id)
def test_an_exhibit_names_its_report_and_says_both_in_a_sentence(exhibit: Exhibit) -> None:
    assert exhibit.id.endswith(f"-{exhibit.number}") and re.fullmatch(r"[\w.-]+/[\w.-]+", exhibit.project)
    for sentence in (exhibit.failed, exhibit.avoided):
        assert sentence[0].isupper() or sentence.startswith("`")
        assert sentence.endswith(".")
