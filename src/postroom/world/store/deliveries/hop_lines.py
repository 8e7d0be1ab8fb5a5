"""Lines of the switchboard's log: some open a row, others close one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

Row: TypeAlias = tuple[Any, ...]
Line: TypeAlias = tuple[bool, Row]  # whether it opens a row


@dataclass(frozen=True, slots=True)
class HopLines:
    opened: Sequence[Row]
    closed: Sequence[Row]


def sorted_out(lines: Sequence[Line]) -> HopLines:
    return HopLines([row for opens, row in lines if opens], [row for opens, row in lines if not opens])
