"""An assistant's adapter: at home it calls the household directly, alone over HTTP."""

from __future__ import annotations

from dataclasses import replace

from starlette.types import ASGIApp

from postroom.app.intents import Correspondence
from postroom.doors.assistants.adapter_app import adapter_app
from postroom.doors.assistants.household_client import HouseholdClient
from postroom.doors.assistants.profile import FACES
from postroom.doors.assistants.standalone import adapter_parts
from postroom.system.part_health import Failing
from postroom.system.settings import Settings


def adapter(
    name: str, settings: Settings, *, own_url: str, api_url: str, at_home: Correspondence | None, failing: Failing
) -> ASGIApp:
    face, elsewhere = FACES[name], settings.connector(name).household_url
    reached = at_home.at_home if at_home else HouseholdClient(elsewhere or api_url)
    return adapter_app(face, replace(adapter_parts(face, settings, reached, own_url=own_url), failing=failing))
