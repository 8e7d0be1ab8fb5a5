"""What commands say of notices: times in the zone of the one who asks, and reasons in words."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from postroom.domain.because_words import because
from postroom.domain.time import parse_text
from postroom.domain.wall_clock import said_moment
from postroom.system.clock import SystemClock

_WHAT: Final = {
    "hold": "is held",
    "join_digest": "is held for a digest",
    "release": "is sent",
    "delegate": "is sent to who stands in",
    "close_digest": "is sent in a digest",
    "merge": "is dropped for a newer one",
    "mute": "is muted",
    "expire": "expires unsent",
    "withdraw": "is withdrawn",
    "repeat": "is sent again",
    "escalate": "goes to the next step",
    "give_up": "counts as unanswered",
    "fail": "counts as undeliverable",
    "correct": "is corrected",
}


def moment_words(at: str, zone: str) -> str:
    """`07:00 CEST` of another day is said with its day."""
    return said_moment(parse_text(at), zone, SystemClock().now_us())


def held_sentence(until: str | None, reasons: Iterable[str], zone: str) -> str:
    why = because(reasons)
    when = f"held until {moment_words(until, zone)}" if until is not None else "not sent"
    return f"{when}: {why}" if why else when


def plan_line(item: Mapping[str, Any], zone: str) -> str:
    where = f" to {item['where']}" if item["where"] else ""
    why = f" ({because(item['why'])})" if item["why"] else ""
    unless = f", unless {item['unless']}" if item["unless"] else ""
    return f"{moment_words(item['at'], zone)}  {_WHAT.get(item['what'], item['what'])}{where}{why}{unless}"


def figures_line(figures: Mapping[str, Any]) -> str:
    counted = ", ".join(f"{count} {cell.replace('_', ' ')}" for cell, count in figures["cells"].items() if count)
    broken = "".join(f"; UNACCOUNTED: {one}" for one in figures["unaccounted"])
    return f"notices: {counted or 'none yet'}{broken}"


def policy_lines(answer: Mapping[str, Any], zone: str) -> list[str]:
    """What counts, and whether it is the person's own."""
    rules = answer["rules"]
    quiet = ", ".join(_window(one) for one in rules["quiet_hours"]) or "none"
    own = answer["policy"]
    lines = [
        f"policy: {_own(own)}",
        f"quiet hours: {quiet} ({rules['zone']})",
        f"slots: {', '.join(rules['slots']) or 'none'}",
    ]
    return lines + [f"away until {moment_words(one['until'], zone)}" for one in answer["away"]]


def _own(policy: Mapping[str, Any] | None) -> str:
    if policy is None:
        return "none of their own"
    return str(policy.get("preset") or "their own")


def _window(window: Mapping[str, Any]) -> str:
    days = f" on {' '.join(window['days'])}" if "days" in window else ""
    return f"{window['from']}-{window['until']}{days}"
