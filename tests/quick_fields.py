"""Fields of routes, understood once per run: each household has the same routes, and FastAPI reads them all again."""

from __future__ import annotations

from collections.abc import Hashable
from functools import cache

from fastapi._compat.v2 import ModelField, asdict
from pydantic import TypeAdapter


@cache
def configure() -> None:
    understand = ModelField.__post_init__
    known: dict[Hashable, TypeAdapter] = {}

    def understand_once(field: ModelField) -> None:
        key = _key(field)
        if key not in known:
            understand(field)
            known[key] = field._type_adapter
        field._type_adapter = known[key]

    def understand_quickly(field: ModelField) -> None:
        try:
            understand_once(field)
        except TypeError:  # it cannot be told whether another field is the same
            understand(field)

    ModelField.__post_init__ = understand_quickly


def _key(field: ModelField) -> Hashable:
    """All that it is understood from; and the words of each part, because 1 and True are equal but not the same."""
    told = asdict(field.field_info)
    parts = (told["annotation"], *told["metadata"], *told["attributes"].items(), field.config)
    return (*parts, *map(repr, parts))
