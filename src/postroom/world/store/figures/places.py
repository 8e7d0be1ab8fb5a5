"""In which stretch a row lies, said by the database."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from sqlalchemy import ColumnElement, case, literal

from postroom.domain.ids import first_id_at


def place_by_time(column: ColumnElement[Any], edges_us: Sequence[int]) -> ColumnElement[int]:
    return case(*((column < edge, literal(place)) for place, edge in enumerate(edges_us[1:])))


def place_by_id(column: ColumnElement[Any], edges_us: Sequence[int]) -> ColumnElement[int]:
    """An id is a time."""
    return case(*((column < first_id_at(edge), literal(place)) for place, edge in enumerate(edges_us[1:])))


def id_spans(edges_us: Sequence[int]) -> list[tuple[int, str, str]]:
    """Each place with the ids it begins and ends with."""
    return [(place, first_id_at(since), first_id_at(until)) for place, (since, until) in enumerate(pairwise(edges_us))]
