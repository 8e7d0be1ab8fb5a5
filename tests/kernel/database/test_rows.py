from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

import pytest

from postroom.kernel.database.rows import of_json, read, to_json, values


class Colour(StrEnum):
    RED = "red"


@dataclass(frozen=True, slots=True, kw_only=True)
class Door:
    id: str
    open: bool
    colour: Colour | None
    painted_at_us: int | None
    keys: tuple[str, ...] = ()


RED = Door(id="front", open=True, colour=Colour.RED, painted_at_us=7, keys=("a", "b"))
PLAIN = Door(id="back", open=False, colour=None, painted_at_us=None)


@pytest.mark.parametrize("door", [RED, PLAIN])
def test_what_was_written_is_read_again(door: Door) -> None:
    row = values(door, keys=" ".join(door.keys))

    assert list(row) == ["id", "open", "colour", "painted_at", "keys"]
    assert read(Door, row, keys=tuple(row["keys"].split())) == door


def test_a_row_holds_plain_values_and_a_record_those_of_its_types() -> None:
    assert type(values(RED)["colour"]) is str
    assert read(Door, {"id": "front", "open": 1, "colour": "red", "painted_at": 7, "keys": '["a", "b"]'}) == RED


@dataclass(frozen=True, slots=True, kw_only=True)
class House:
    front: Door | None
    doors: tuple[Door, ...]
    colours: frozenset[Colour] = frozenset()
    notes: Mapping[str, Any] = field(default_factory=dict)


@pytest.mark.parametrize("house", [House(front=RED, doors=(PLAIN, RED), colours=frozenset(Colour), notes={"a": [1]})])
def test_records_and_several_of_anything_are_kept_as_json(house: House) -> None:
    row = values(house)

    assert (row["colours"], row["notes"]) == ('["red"]', '{"a": [1]}')
    assert read(House, row) == house
    assert values(House(front=None, doors=())) == {"front": None, "doors": "[]", "colours": "[]", "notes": "{}"}


def test_what_was_not_written_yet_has_its_default() -> None:
    kept = '{"id": "back", "open": false, "colour": null, "painted_at_us": null}'

    assert of_json(Door, kept) == PLAIN
    assert of_json(Door, to_json(RED)) == RED


def test_a_field_that_is_left_out_is_not_written() -> None:
    assert values(PLAIN, without=("keys", "painted_at_us")) == {"id": "back", "open": False, "colour": None}


def test_a_field_that_has_no_column_is_no_default() -> None:
    with pytest.raises(KeyError, match="keys"):
        read(Door, {"id": "front", "open": 1, "colour": "red", "painted_at": 7})
