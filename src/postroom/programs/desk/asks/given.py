"""What the person did in the popup, as the answer that the household's API takes."""

from __future__ import annotations

from typing import Any

from postroom.domain.question import Wording
from postroom.programs.desk.asks.card import labels
from postroom.programs.desk.asks.form import form_values
from postroom.programs.desk.outcome import PopupEnding, PopupOutcome


def given(wording: Wording, ending: PopupEnding) -> dict[str, Any] | None:
    """None when they gave no answer: to close a window is none."""
    if ending.outcome is PopupOutcome.DECLINED:
        return {"declined": True}
    if ending.outcome is not PopupOutcome.SUBMITTED:
        return None
    if wording.form:
        return {"fields": form_values(wording.form, ending.fields)}
    values = [labels(wording)[label] for label in ending.chosen]
    if values:
        return {"selected": values} if wording.multiple else {"value": values[0]}
    return {"text": ending.text}
