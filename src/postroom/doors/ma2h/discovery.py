"""`GET /.well-known/ma2h`: what is offered here, and what is not."""

from __future__ import annotations

from typing import Any, Final

from postroom.doors.ma2h.envelope import MAX_BODY_BYTES, MAX_PART_BYTES, MAX_PARTS, VERSION

WELL_KNOWN: Final = "/.well-known/ma2h"


def capabilities(retention_days: int) -> dict[str, Any]:
    """No callback is pushed, so there are no schemes and no signatures; people are reached, agents are not."""
    return {
        "ma2h_version": VERSION,
        "max_body_bytes": MAX_BODY_BYTES,
        "max_part_bytes": MAX_PART_BYTES,
        "max_context_parts": MAX_PARTS,
        "auth_schemes": ["bearer", "apikey"],
        "callback_auth_schemes": [],
        "signature_algs": [],
        "retention_days": retention_days,
        "inbound": {"enabled": False},
        "ack": {"enabled": False},
        "presence": {"enabled": False},
        "sessions": {"enabled": False},
        "inter_agent": {"enabled": False},
    }
