"""The modules a butler's file can name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from postroom.modules import channels
from postroom.modules.approvals import ApprovalsModule
from postroom.modules.calendar.module import CalendarModule
from postroom.modules.module import Module

MODULES: Final[Mapping[str, Callable[[], Module]]] = {
    "approvals": ApprovalsModule,
    "calendar": CalendarModule,
    "email": channels.email,
    "telegram": channels.telegram,
}
