"""What the modules of one butler may use."""

from __future__ import annotations

from collections.abc import Mapping

from postroom.app.calendars import google_calendars
from postroom.domain.clock import Clock
from postroom.doors.butler.modules.credentials import credentials_by_name
from postroom.doors.butler.modules.module import ModuleContext
from postroom.system.roster.config import ButlerConfig
from postroom.system.settings import Secret, Settings


def module_context(
    config: ButlerConfig, settings: Settings, environment: Mapping[str, str], clock: Clock
) -> ModuleContext:
    return ModuleContext(
        butler=config.name,
        clock=clock,
        calendars=google_calendars(clock),
        environment={name: Secret(value) for name, value in environment.items()}
        | credentials_by_name(settings, config),
        in_sandbox=settings.in_sandbox,
    )
