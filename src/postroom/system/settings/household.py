"""What a household sets for everybody in it."""

from __future__ import annotations

import os

from pydantic import field_validator

from postroom.domain.zone import is_zone
from postroom.system.settings.section import SettingsSection


class HouseholdSettings(SettingsSection):
    """What counts for everybody who has not said otherwise."""

    zone: str = ""
    """The time zone of people who have named none, such as Europe/Vienna; empty: this machine's."""

    @field_validator("zone")
    @classmethod
    def _known(cls, zone: str) -> str:
        if zone and not is_zone(zone):
            raise ValueError("is no known time zone, such as Europe/Vienna")
        return zone

    @property
    def local_zone(self) -> str:
        return self.zone or machine_zone()


def machine_zone() -> str:
    """UTC where the machine does not say."""
    link = os.path.realpath("/etc/localtime").partition("/zoneinfo/")[2]
    named = (os.environ.get("TZ", "").lstrip(":"), link.removeprefix("Etc/"))
    return next((one for one in named if is_zone(one)), "UTC")
