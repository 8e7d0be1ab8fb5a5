"""Something a butler has to do at a moment: a reminder, or one run of a schedule."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

SET_ASIDE: Final = "it cannot be read and was set aside"  # the row of an appointment or of a session


class AppointmentKind(StrEnum):
    REMINDER = "reminder"
    SCHEDULE = "schedule"


class AppointmentStatus(StrEnum):
    WAITING = "waiting"
    DONE = "done"
    FAILED = "failed"


@dataclass(frozen=True, slots=True, kw_only=True)
class Appointment:
    """`work` is JSON: {"notify": {...arguments}} or {"prompt": "..."}."""

    id: str
    butler: str
    kind: AppointmentKind
    name: str
    due_at_us: int
    work: str
    created_at_us: int
    status: AppointmentStatus = AppointmentStatus.WAITING
    tries: int = 0
    result: str | None = None
