"""Why a person said no."""

from __future__ import annotations

from typing import Final

from postroom.domain.fields import Fields

_LONGEST_REASON: Final = 500


def read_reason(reason: object) -> str:
    """Raises ValidationError."""
    fields = Fields({"reason": reason})
    text = fields.text("reason", maximum=_LONGEST_REASON).strip()
    fields.finish()
    return text
