"""One line of the doctor's report: well, or what to do about it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Finding:
    """Advice may stand beside something that is well: then it is only worth knowing."""

    subject: str
    ok: bool
    detail: str
    advice: str = ""
