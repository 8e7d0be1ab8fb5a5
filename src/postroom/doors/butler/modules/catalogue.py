"""The modules a butler's file can name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from postroom.doors.butler.modules import channels
from postroom.doors.butler.modules.calendar.module import CalendarModule
from postroom.doors.butler.modules.module import Module

MODULES: Final[Mapping[str, Callable[[], Module]]] = {
    "calendar": CalendarModule,
    "email": channels.email,
    "telegram": channels.telegram,
}
