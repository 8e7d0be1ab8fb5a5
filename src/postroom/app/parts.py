"""The parts a household has, by name."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from postroom.doors.assistants.profile import FACES
from postroom.system.roster.config import MESSENGER, ButlerConfig
from postroom.system.roster.endpoints import port_for
from postroom.system.roster.load import load_roster
from postroom.system.settings import Settings

SWITCHBOARD: Final = "switchboard"
WORKER: Final = "worker"
ADAPTERS: Final = tuple(FACES)
SANDBOX: Final = "sandbox"
SANDBOX_SMTP: Final = "sandbox_smtp"
SANDBOX_IMAP: Final = "sandbox_imap"


def parts_of(settings: Settings, roster: Iterable[ButlerConfig] | None = None) -> tuple[str, ...]:
    """Every part this household has; without a roster, the shipped one."""
    names = [config.name for config in (shipped(settings) if roster is None else roster)]
    ordered = [MESSENGER, SWITCHBOARD, *(name for name in names if name not in (MESSENGER, SWITCHBOARD))]
    return (*([SANDBOX] if settings.in_sandbox else []), *ordered, "api", *ADAPTERS)


def fixed_ports(settings: Settings, roster: Iterable[ButlerConfig]) -> dict[str, int]:
    """Where each part that has a port is to be found; 0 is any free one."""
    ports = settings.ports
    butlers = {config.name: port_for(settings, config) for config in roster}
    return butlers | {name: getattr(ports, name) for name in ("api", *ADAPTERS)}


def sandbox_ports(settings: Settings) -> dict[str, int]:
    ports = settings.ports
    return {SANDBOX: ports.sandbox, SANDBOX_SMTP: ports.sandbox_smtp, SANDBOX_IMAP: ports.sandbox_imap}


def shipped(settings: Settings) -> tuple[ButlerConfig, ...]:
    return load_roster(settings.model_copy(update={"roster": None}), {})
