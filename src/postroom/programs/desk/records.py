"""One line of VoiceMode's conversation log: how it is written and what it must not be."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from postroom.programs.desk.who import Who

NEWEST_VERSION = 4
OLDEST_VERSION = 3
LINE_BYTES = 980
"""The longest last line that VoiceMode still finds: it looks for it in the last 1,024 bytes of the file."""


_PERSON_TYPES = frozenset({"stt", "notify_in"})
_SILENCE = frozenset({"", "[no speech detected]", "[empty]"})


@dataclass(frozen=True, slots=True, kw_only=True)
class ConversationRecord:
    version: int
    timestamp: datetime
    conversation_id: str
    who: Who
    text: str = field(repr=False)
    project_path: str
    part: int = 1
    parts: int = 1

    @property
    def silent(self) -> bool:
        return self.text.strip() in _SILENCE


def encode(record: ConversationRecord) -> bytes:
    """ASCII only: a reader that cuts the file at a byte must never meet half a character."""
    metadata: dict[str, Any] = {
        "voice_mode_version": "postroom",
        "provider": "popup",
        "transport": "notify",
        "mode": "notify",
    }
    if record.parts > 1:
        metadata |= {"part": record.part, "parts": record.parts}
    line = {
        "version": record.version,
        "timestamp": record.timestamp.isoformat(timespec="microseconds"),
        "conversation_id": record.conversation_id,
        "type": record.who.value,
        "text": record.text,
        "project_path": record.project_path,
        "metadata": metadata,
    }
    return json.dumps(line, ensure_ascii=True).encode("ascii") + b"\n"


def decode(line: bytes) -> ConversationRecord | None:
    """None for a line that is not a complete record."""
    try:
        raw = json.loads(line)
        timestamp = datetime.fromisoformat(raw["timestamp"])
        metadata = raw.get("metadata") or {}
        return ConversationRecord(
            version=int(raw.get("version", OLDEST_VERSION)),
            timestamp=timestamp if timestamp.tzinfo else timestamp.astimezone(),
            conversation_id=str(raw["conversation_id"]),
            who=Who.PERSON if raw["type"] in _PERSON_TYPES else Who.ASSISTANT,
            text=str(raw["text"]),
            project_path=str(raw.get("project_path", "")),
            part=_count(metadata, "part"),
            parts=_count(metadata, "parts"),
        )
    except (ValueError, KeyError, TypeError, AttributeError):
        return None


def _count(metadata: Mapping[str, Any], name: str) -> int:
    value = metadata.get(name)
    return value if isinstance(value, int) and value > 0 else 1


def split(record: ConversationRecord) -> tuple[ConversationRecord, ...]:
    """As one line when it is short enough to end the file with, otherwise as a head and a short tail."""
    if len(encode(record)) <= LINE_BYTES:
        return (record,)
    cut = _tail_start(record)
    return tuple(
        ConversationRecord(
            version=record.version,
            timestamp=record.timestamp,
            conversation_id=record.conversation_id,
            who=record.who,
            text=text,
            project_path=record.project_path,
            part=part,
            parts=2,
        )
        for part, text in ((1, record.text[:cut]), (2, record.text[cut:]))
    )


def _tail_start(record: ConversationRecord) -> int:
    """As far to the left as the tail's line allows; everything else goes into the head."""
    frame = len(encode(ConversationRecord(**_fields(record) | {"text": "", "part": 2, "parts": 2})))
    room, start = LINE_BYTES - frame, len(record.text)
    while start > 0:
        room -= len(json.dumps(record.text[start - 1])) - 2
        if room < 0:
            break
        start -= 1
    return start


def _fields(record: ConversationRecord) -> dict[str, Any]:
    return {name: getattr(record, name) for name in ConversationRecord.__slots__}
