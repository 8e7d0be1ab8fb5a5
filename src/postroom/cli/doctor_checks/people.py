"""People whom the database knows better than the settings file, addresses that lead nowhere, and those not proved."""

from __future__ import annotations

from collections.abc import Sequence

from postroom.app.people import PeopleFindings, look_through_people
from postroom.cli.doctor_checks.finding import Finding
from postroom.domain.spoken_time import relative
from postroom.system.clock import SystemClock
from postroom.system.settings import Settings

_MOST_NAMED = 10
_MENDED = "it is tried again by itself; nothing that people write meanwhile is lost"


async def look_at_people(settings: Settings) -> list[Finding]:
    found = await _looked_through(settings)
    return [*_overruled(found), *_unreachable(found), *_closed(found), *_deaf(found)] if found else []


async def look_at_proofs(settings: Settings) -> list[Finding]:
    found = await _looked_through(settings)
    return _unproved(found) if found else []


async def owner_channels(settings: Settings) -> Sequence[str]:
    """Where the database knows the owner; the settings file may know nothing of it."""
    found = await _looked_through(settings)
    return found.owner_on if found else []


async def _looked_through(settings: Settings) -> PeopleFindings | None:
    """A database that cannot be read is another finding's business."""
    try:
        return await look_through_people(settings, _MOST_NAMED + 1)
    except Exception:  # whatever a driver raises
        return None


def _overruled(found: PeopleFindings) -> list[Finding]:
    if not found.overruled:
        return []
    named = _some([f"{one.name} ({', '.join(one.fields)})" for one in found.overruled])
    detail = f"changed in the database, so the settings file has no say: {named}"
    return [Finding("people", True, detail, "bring the settings file in line, or see `postroom people show NAME`")]


def _unreachable(found: PeopleFindings) -> list[Finding]:
    if not found.unreachable:
        return []
    named = _some([f"{name} (on {channel})" for name, channel in found.unreachable])
    detail = f"have an address on a channel that is not set up: {named}"
    return [Finding("people", True, detail, "set the channel up, or take the address away with `postroom people edit`")]


def _closed(found: PeopleFindings) -> list[Finding]:
    advice = "`postroom people edit WHO --reopen CHANNEL:ADDRESS` forgets what came back"
    told = {
        "written to no more": [one for one in found.closed if one.is_closed],
        "doubtful, though verified and still written to": [one for one in found.closed if not one.is_closed],
    }
    named = {what: [f"{one.address} on {one.channel} ({one.sentence})" for one in some] for what, some in told.items()}
    return [Finding("addresses", True, f"{what}: {_some(some)}", advice) for what, some in named.items() if some]


def _deaf(found: PeopleFindings) -> list[Finding]:
    now_us = SystemClock().now_us()
    return [
        Finding(one.channel, False, f"hears nothing since {relative(one.since_us, now_us)}: {one.sentence}", _MENDED)
        for one in found.deaf
    ]


def _unproved(found: PeopleFindings) -> list[Finding]:
    if not found.unproved:
        return []
    detail = f"have no verified address, so what they answer decides nothing: {_some(found.unproved)}"
    return [Finding("people", True, detail, "`postroom pair NAME --channel CHANNEL` shows a code they send to the bot")]


def _some(names: Sequence[str]) -> str:
    more = " and others" if len(names) > _MOST_NAMED else ""
    return ", ".join(names[:_MOST_NAMED]) + more
