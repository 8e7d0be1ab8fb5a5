"""What keeps a channel from hearing people, in one sentence, and since when."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class InboundTrouble:
    channel: str
    sentence: str
    since_us: int
