"""Whether every notice is accounted for: the laws of attention, counted over all that is kept."""

from __future__ import annotations

from postroom.app.attention import attention_findings
from postroom.cli.doctor_checks.finding import Finding
from postroom.domain.settings_error import SettingsError
from postroom.system.settings import Settings

_MOST_NAMED = 5


async def look_at_notices(settings: Settings) -> list[Finding]:
    try:
        found = await attention_findings(settings)
    except SettingsError as error:
        return [Finding("attention", False, str(error), "mend the section [attention] of the settings file")]
    except Exception:  # a database that cannot be read is another finding's business
        return []
    if found is None:
        return []
    return [_accounted(found.unaccounted), *_missing(found.missing)]


def _accounted(broken: tuple[str, ...]) -> Finding:
    if not broken:
        return Finding("attention", True, "every notice is accounted for")
    named = "; ".join(broken[:_MOST_NAMED])
    advice = "tell the authors, with what `postroom why` says of the notice"
    return Finding("attention", False, f"{len(broken)} notices are not accounted for: {named}", advice)


def _missing(missing: tuple[str, ...]) -> list[Finding]:
    advice = "add the person again, or name another in the settings or with `postroom attention set`"
    named = "; ".join(missing[:_MOST_NAMED])
    return [Finding("attention", False, f"policies name people who are not there: {named}", advice)] if missing else []
