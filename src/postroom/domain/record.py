"""Values that are made many times for every message."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeVar, dataclass_transform

Made = TypeVar("Made")


@dataclass_transform(kw_only_default=True, frozen_default=True)
def record(cls: type[Made]) -> type[Made]:
    """
    A frozen, keyword-only dataclass, held frozen by the type checker alone.

    To be frozen at run time costs more than half of the making of such a value;
    with a few of them for each step of each delivery that was a tenth of our time.
    """
    return dataclass(slots=True, kw_only=True, unsafe_hash=True)(cls)
