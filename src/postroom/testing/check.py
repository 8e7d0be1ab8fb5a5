"""One thing the suite looks at, and what came of looking."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from enum import StrEnum

from postroom.testing.case import Case


class CheckGroup(StrEnum):
    SITUATION = "Situations"
    OWN = "Situations of its own"
    MANNERS = "Manners"
    PROPERTY = "Properties"
    CAPABILITY = "Capabilities"
    INBOUND = "Inbound"


Look = Callable[[Case], Awaitable[None] | None]
"""Raises AssertionError with a sentence when the channel is at fault."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    id: str
    group: CheckGroup
    sentence: str
    look: Look
    not_applicable: str | None = None
    """The reason why it is not looked at."""


def ensure(holds: object, sentence: str) -> None:
    if not holds:
        raise AssertionError(sentence)
