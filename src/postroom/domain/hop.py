"""One message passing through the switchboard, as its log keeps it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Hop:
    """What the log keeps of a call; of an envelope that may be anything at all, what can be read from it."""

    request_id: str
    source_butler: str
    caller: str
    channel: object = None
    intent: object = None
