"""The bodies of the routes about attention, for the OpenAPI document."""

from __future__ import annotations

from typing import Any, Final

from postroom.domain.attention import URGENCIES
from postroom.domain.attention_wish import MAX_NAME_CHARACTERS
from postroom.doors.attention.arguments import LONGEST_MUTE, LONGEST_SNOOZE, MINUTE, UNTIL_UNMUTED
from postroom.work.attention.policy import DAYS, Preset

_TEXT: Final = {"type": "string"}
_URGENCY: Final = {"type": "string", "enum": [str(one) for one in URGENCIES]}
_COUNT: Final = {"type": "integer", "minimum": 0}
_CLOCK: Final = {"type": "string", "examples": ["07:00"]}
_UNTIL: Final = {"type": "string", "description": "RFC 3339 with an offset."}


def _object(required: tuple[str, ...] = (), /, **properties: Any) -> dict[str, Any]:
    needed = {"required": list(required)} if required else {}
    return {"type": "object", "additionalProperties": False, **needed, "properties": properties}


def _list(item: dict[str, Any]) -> dict[str, Any]:
    return {"type": "array", "items": item}


def _by_name(item: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "additionalProperties": item}


def _length(most: int) -> dict[str, Any]:
    return {"type": "integer", "minimum": MINUTE, "maximum": most, "description": "Instead of until; one hour."}


_WHAT: Final = dict.fromkeys(("agent", "thread", "category"), _TEXT)

WITHDRAW_BODY: Final = _object(("key",), key={**_TEXT, "maxLength": MAX_NAME_CHARACTERS})
SNOOZE_BODY: Final = _object(until=_UNTIL, for_seconds=_length(LONGEST_SNOOZE))
MUTE_BODY: Final = _object(
    **_WHAT,
    until={**_UNTIL, "description": f"RFC 3339 with an offset; of an agent also `{UNTIL_UNMUTED}`."},
    for_seconds=_length(LONGEST_MUTE),
)
UNMUTE_BODY: Final = _object(**_WHAT)
AWAY_BODY: Final = _object(
    back={"type": "boolean", "description": "Alone: no longer away."},
    **{"from": {**_UNTIL, "description": "RFC 3339 with an offset; now by default."}},
    until=_UNTIL,
    delegate={**_TEXT, "description": "Who stands in; without one everything waits."},
    let_pass=_list(_URGENCY),
    categories={**_list(_TEXT), "description": "What the delegate may see; everything by default."},
)
POLICY: Final = _object(
    preset={"type": "string", "enum": [str(one) for one in Preset]},
    zone={**_TEXT, "examples": ["Europe/Vienna"]},
    quiet_hours=_list(
        _object(
            ("from", "until"),
            **{"days": _list({"type": "string", "enum": list(DAYS)}), "from": _CLOCK, "until": _CLOCK},
        )
    ),
    let_pass=_list(_URGENCY),
    slots=_list(_CLOCK),
    collect=_object(("window_seconds",), window_seconds=_COUNT, most=_COUNT),
    budget=_object(per_hour=_COUNT, per_day=_COUNT),
    ceiling=_URGENCY,
    agents=_by_name(_object(ceiling=_URGENCY, critical={"type": "boolean"})),
    categories=_by_name(_object(ceiling=_URGENCY)),
    escalation=_list(_object(("after_seconds",), id=_TEXT, after_seconds=_COUNT, channel=_TEXT, person=_TEXT)),
    fallback=_list(_TEXT),
    repeat_seconds=_list(_COUNT),
    duplicate_seconds=_COUNT,
    expires_seconds=_COUNT,
    mandatory=_list(_TEXT),
)


def body(schema: dict[str, Any], *, required: bool = True) -> dict[str, Any]:
    return {"requestBody": {"required": required, "content": {"application/json": {"schema": schema}}}}
