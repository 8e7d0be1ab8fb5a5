"""What a server still keeps of a topic, asked for one message of ours; pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from postroom.domain.delivery import Receipt
from postroom.domain.errors import TargetUnavailable
from postroom.world.channels.ntfy.call import NtfyCall

CLOCKS_DIFFER_SECONDS: Final = 300
USUAL_SECONDS: Final = 43_200  # how long a server keeps messages unless it is set up otherwise
_TOO_OLD: Final = "this ntfy server keeps no sequence ids and cannot be asked what arrived: it needs version 2.16"


def found(call: NtfyCall, told: Iterable[Mapping[str, Any]]) -> Receipt | None:
    """Raises when something looks like it, on a server too old to say whether it is."""
    messages = [event for event in told if event.get("event") == "message" and isinstance(event.get("id"), str)]
    ours = [event for event in messages if event.get("sequence_id") == call.sequence_id]
    if call.is_edit:
        ours = [event for event in ours if _says_the_same(call, event)]
    if ours:
        return Receipt(ours[-1]["id"])
    if any("sequence_id" not in event and _says_the_same(call, event) for event in messages):
        raise TargetUnavailable(_TOO_OLD)
    return None


def keeps_messages(told: Sequence[Mapping[str, Any]]) -> bool:
    """Whether one of them is there for a while; without any, nothing is known."""
    return any(_number(event.get("expires")) > _number(event.get("time")) for event in told)


def kept_seconds(account: Mapping[str, Any]) -> float:
    """As the server says to those who ask about their account."""
    limits = account.get("limits")
    said = limits.get("messages_expiry_duration") if isinstance(limits, Mapping) else None
    return USUAL_SECONDS if said is None else _number(said)


def _says_the_same(call: NtfyCall, event: Mapping[str, Any]) -> bool:
    """The server takes the space off both ends."""
    return str(event.get("message", "")).strip() == call.text.strip() and event.get("title") == call.body.get("title")


def _number(value: object) -> float:
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else 0.0
