"""How a popup can end, and the sentence each end is answered with."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import assert_never


class PopupOutcome(StrEnum):
    SUBMITTED = "submitted"
    EMPTY = "empty"
    DISPLAYED = "displayed"
    CANCELLED = "cancelled"
    DECLINED = "declined"
    """The person would rather not answer, and said so."""
    DISMISSED = "dismissed"
    TIMEOUT = "timeout"
    REPLACED = "replaced"
    HEADLESS = "headless"
    NO_TOOLKIT = "no_toolkit"
    CRASHED = "crashed"


FAILURES = frozenset({PopupOutcome.HEADLESS, PopupOutcome.NO_TOOLKIT, PopupOutcome.CRASHED})


@dataclass(frozen=True, slots=True, kw_only=True)
class PopupEnding:
    outcome: PopupOutcome
    text: str = ""
    chosen: tuple[str, ...] = ()
    fields: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def __repr__(self) -> str:
        return f"Ending(outcome={self.outcome.value!r}, text=***)"

    @property
    def reply(self) -> str:
        """Chosen options one per line, then what was typed, exactly as it was typed."""
        return "\n".join([*self.chosen, *([self.text] if self.text.strip() or not self.chosen else [])])


def answer(ending: PopupEnding, timeout_seconds: float | None = None) -> str:
    match ending.outcome:
        case PopupOutcome.SUBMITTED:
            return f"User response: {ending.reply}"
        case PopupOutcome.EMPTY:
            return "User submitted empty response"
        case PopupOutcome.DISPLAYED:
            return "✓ Message displayed successfully"
        case PopupOutcome.CANCELLED | PopupOutcome.DECLINED:
            return "User cancelled the popup"
        case PopupOutcome.DISMISSED:
            return "User dismissed the popup"
        case PopupOutcome.TIMEOUT:
            return f"No response within {timeout_seconds:.15g}s timeout"
        case PopupOutcome.REPLACED:
            return "User cancelled or dismissed the popup"
        case PopupOutcome.HEADLESS:
            return "Error: Cannot display popup - no display available. This feature requires a graphical environment."
        case PopupOutcome.NO_TOOLKIT:
            return (
                "Error: Cannot display popup - Python's tkinter is not installed (on Debian: apt install python3-tk)."
            )
        case PopupOutcome.CRASHED:
            return "Error: The popup window failed before it was answered. What was typed is kept for the next popup."
        case _ as never:
            assert_never(never)
