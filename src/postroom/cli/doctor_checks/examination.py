"""The whole examination: every finding is well, or says what to do."""

from __future__ import annotations

import platform
import sys
from collections.abc import Mapping, Sequence

from postroom.app.sessions import cannot_answer
from postroom.cli.doctor_checks.attached_files import look_at_attached_files
from postroom.cli.doctor_checks.butlers import look_at_butlers
from postroom.cli.doctor_checks.clock import look_at_clock
from postroom.cli.doctor_checks.credentials import look_at_channels, look_at_owner
from postroom.cli.doctor_checks.display import look_at_display
from postroom.cli.doctor_checks.files import look_at_files
from postroom.cli.doctor_checks.finding import Finding
from postroom.cli.doctor_checks.loops import look_at_loops
from postroom.cli.doctor_checks.notices import look_at_notices
from postroom.cli.doctor_checks.people import look_at_people, look_at_proofs, owner_channels
from postroom.cli.doctor_checks.ports import look_at_ports
from postroom.cli.doctor_checks.servers import look_at_connections, look_at_database, look_at_redis, look_at_workers
from postroom.doors.butler.modules.credentials import with_credentials
from postroom.doors.butler.modules.loading import check_modules
from postroom.system.roster.config import ButlerConfig, RosterError
from postroom.system.roster.load import load_roster
from postroom.system.settings import Settings


async def examine(settings: Settings, environment: Mapping[str, str]) -> list[Finding]:
    roster, about_roster = look_at_roster(settings, environment)
    settings = with_credentials(settings, roster, environment)
    return [
        look_at_python(),
        *look_at_files(settings),
        about_roster,
        *await look_at_ports(settings, roster),
        *await look_at_loops(settings, roster),
        await look_at_database(settings),
        *await look_at_connections(settings),
        *await look_at_workers(settings),
        *await look_at_redis(settings),
        *await look_at_attached_files(settings),
        *await look_at_butlers(settings),
        look_at_models(roster, environment),
        *await look_at_channels(settings),
        *look_at_owner(settings, await owner_channels(settings)),
        *await look_at_people(settings),
        *await look_at_proofs(settings),
        *await look_at_notices(settings),
        *await look_at_clock(settings),
        await look_at_display(),
    ]


def look_at_python() -> Finding:
    fine = sys.version_info >= (3, 11)
    return Finding("python", fine, platform.python_version(), "" if fine else "install Python 3.11 or newer")


def look_at_models(roster: Sequence[ButlerConfig], environment: Mapping[str, str]) -> Finding:
    """A household whose people only get messages needs none."""
    if why := cannot_answer(roster, environment):
        advice = "to have one, install the program that [runtime] type in its butler.toml names, and set its key"
        return Finding("models", True, why, advice)
    return Finding("models", True, "a butler can answer people")


def look_at_roster(settings: Settings, environment: Mapping[str, str]) -> tuple[tuple[ButlerConfig, ...], Finding]:
    try:
        roster = load_roster(settings, environment)
        for config in roster:
            check_modules(config)
    except RosterError as error:
        return (), Finding("roster", False, str(error), "mend that file, or choose another folder with --roster")
    return roster, Finding("roster", True, ", ".join(config.name for config in roster))
