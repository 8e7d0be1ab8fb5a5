"""One thing that can happen to a message at a provider, and what a channel may make of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from postroom.domain.errors import PostroomError

Ending = type[PostroomError] | None
"""The error that is raised; None: a receipt."""
Endings = Ending | tuple[Ending, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Situation:
    """
    `script` is what the provider does: one step, or a tuple with one for each message.

    `raises` is what the channel must make of it, or any of several; `then` what it makes of the messages after the
    first. `taken` counts complete messages the provider read, whatever it then answered.
    """

    id: str
    script: Any
    sentence: str = ""
    raises: Endings = None
    then: tuple[Endings, ...] = ()
    taken: int = 1
    retry_after_seconds: float | tuple[float, float] | None = None
    """Exactly this, or between these two."""
    timeout_seconds: float = 10.0
    held: bool = False
    """The answer waits until the test has seen that the channel waits."""
    editing: bool = False
    """Of something sent before, instead of sending."""

    @property
    def steps(self) -> tuple[Any, ...]:
        return self.script if isinstance(self.script, tuple) else (self.script,)

    @property
    def endings(self) -> tuple[Endings, ...]:
        return (self.raises, *self.then)
