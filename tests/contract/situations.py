"""What can happen to one message at a provider, and what a channel must make of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from tests.contract.connection import FakeProvider

from postroom.domain.errors import PostroomError
from postroom.domain.ports import Channel

# Every channel must say what it does in each of these; ids may go into detail after a slash.
REQUIRED = frozenset(
    {
        "accepted",
        "slow",
        "message_refused",
        "recipient_refused",
        "credentials_refused",
        "throttled",
        "unavailable",
        "reset_before_reading",
        "hang",
        "accepted_then_cut",
        "garbage",
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Situation:
    """`taken` counts complete messages the provider read, whatever it then answered."""

    id: str
    script: Any
    raises: type[PostroomError] | None = None
    taken: int = 1
    retry_after_seconds: float | None = None
    timeout_seconds: float = 10.0
    held: bool = False
    editing: bool = False  # of something sent before, instead of sending


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """How to set one channel up against its fake provider, and what its messages look like."""

    name: str
    provider: Callable[[], FakeProvider]
    connect: Callable[[int], Channel]
    address: str
    not_an_address: str
    text: str
    secrets: Sequence[str]
    edits: bool = False
    situations: Sequence[Situation]
