"""Whether every notice is accounted for: the laws of attention, counted over all that is kept."""

from __future__ import annotations

from postroom.app.attention import unaccounted_notices
from postroom.cli.doctor_checks.finding import Finding
from postroom.system.settings import Settings, SettingsError

_MOST_NAMED = 5


async def look_at_notices(settings: Settings) -> list[Finding]:
    try:
        broken = await unaccounted_notices(settings)
    except SettingsError as error:
        return [Finding("attention", False, str(error), "mend the section [attention] of the settings file")]
    except Exception:  # a database that cannot be read is another finding's business
        return []
    if broken is None:
        return []
    if not broken:
        return [Finding("attention", True, "every notice is accounted for")]
    named = "; ".join(broken[:_MOST_NAMED])
    advice = "tell the authors, with what `postroom why` says of the notice"
    return [Finding("attention", False, f"{len(broken)} notices are not accounted for: {named}", advice)]
