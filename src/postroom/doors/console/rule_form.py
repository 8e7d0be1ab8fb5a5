"""A standing rule as a person fills it in."""

from __future__ import annotations

from typing import Any, Final

from postroom.domain.time import seconds, to_text
from postroom.doors.console.form import Form

_DAY_SECONDS: Final = 24 * 3600.0
_MOST_DAYS: Final = 3650
CONSTRAINTS: Final = ("origin_butler", "recipient", "channel")


def rule_wish(form: Form, now_us: int) -> dict[str, Any] | bool:
    """For the approval it comes with: the same sender to the same person on the same channel; False for none."""
    return bounds(form, now_us) if form.get("rule") == "yes" else False


def rule_request(form: Form, now_us: int) -> dict[str, Any]:
    """A star is a wildcard only where the person says that it is one."""
    constraints = {}
    for name in CONSTRAINTS:
        if value := form.get(name).strip():
            kind = "pattern" if form.get(f"{name}_kind") == "pattern" else "exact"
            constraints[name] = {"type": kind, "value": value}
    return {"constraints": constraints, **bounds(form, now_us)}


def bounds(form: Form, now_us: int) -> dict[str, Any]:
    wish: dict[str, Any] = {"description": form.get("description").strip()}
    uses, days = form.get("max_uses").strip(), form.get("days").strip()
    if uses.isascii() and uses.isdecimal():
        wish["max_uses"] = int(uses[:9])
    if days.isascii() and days.isdecimal() and 0 < int(days[:9]) <= _MOST_DAYS:
        wish["expires_at"] = to_text(now_us + seconds(int(days[:9]) * _DAY_SECONDS))
    return wish
