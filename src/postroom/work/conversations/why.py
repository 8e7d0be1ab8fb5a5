"""Why a message that a person wrote went where it went, in one paragraph."""

from __future__ import annotations

from typing import Any, Final

from postroom.domain.conversation_states import InboundStatus
from postroom.domain.kept_message import KeptMessage
from postroom.domain.spoken_time import relative
from postroom.domain.time import to_text

_STATES: Final = {
    InboundStatus.RECEIVED: "Nothing is decided about it yet.",
    InboundStatus.ROUTED: "It waits for those before it in the same conversation, or for the butler to take it.",
    InboundStatus.WAITING: "The butler has it, and its session waits for its turn.",
    InboundStatus.RUNNING: "The butler's model works on it.",
    InboundStatus.ANSWERED: "It is answered.",
    InboundStatus.FAILED: "It could not be answered, or not to the end, and that was said.",
    InboundStatus.STOPPED: "The person stopped it.",
    InboundStatus.HANDLED: "It needed no butler.",
    InboundStatus.REFUSED: "Nothing is done for it.",
}


def why_inbound(kept: KeptMessage, name: str | None, now_us: int) -> str:
    """`name` of the person who wrote it, where they are known."""
    message = kept.message
    who = name or "A sender who is not known"
    went = f" It went to {kept.target}" if kept.target and kept.reason else " The decision" if kept.reason else ""
    reason = f"{went}: {kept.reason}." if kept.reason else ""
    session = f" Its session is {kept.session_id}." if kept.session_id else ""
    when = relative(kept.received_us, now_us)
    return f"{who} wrote this on {message.channel} {when}.{reason} {_STATES[kept.status]}{session}"


def inbound_document(kept: KeptMessage, name: str | None) -> dict[str, Any]:
    """For a trace: what was decided, and not a word of what was said."""
    return {
        "id": kept.id,
        "channel": kept.message.channel,
        "place": kept.message.places[0],
        "person": name,
        "received_at": to_text(kept.received_us),
        "status": str(kept.status),
        "kind": kept.kind and str(kept.kind),
        "butler": kept.target,
        "reason": kept.reason,
        "session_id": kept.session_id,
    }
