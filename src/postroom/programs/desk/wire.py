"""What the server and the window's process say to each other: one JSON object per line."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Sheet:
    """Everything the window needs to know before it appears."""

    message: str = field(repr=False)
    title: str
    project: str = ""
    history: tuple[tuple[str, str], ...] = field(default=(), repr=False)
    """Who (`stt` for the person, `tts` for the assistant) said what, oldest first."""
    wait_for_response: bool = True
    timeout_seconds: float | None = None
    """For a question, when to give up; for a plain message, when to leave."""
    grace_seconds: float = 10.0
    palette: str = "light"
    options: tuple[str, ...] = field(default=(), repr=False)
    allow_multiple: bool = False
    secret: bool = False
    reply_limit: int = 10_000
    draft_file: str
    turn_file: str
    turn_token: str
    preview: bool = False
    """Only to see what it looks like: it leaves by itself as soon as it is drawn."""
    screenshot: str | None = None
    """Where a preview puts its picture."""


def encode(value: dict[str, Any]) -> bytes:
    return json.dumps(value).encode("ascii") + b"\n"


def encode_sheet(sheet: Sheet) -> bytes:
    return encode(asdict(sheet))


def decode_sheet(line: bytes | str) -> Sheet:
    raw = json.loads(line)
    raw["history"] = tuple((who, text) for who, text in raw["history"])
    raw["options"] = tuple(raw["options"])
    return Sheet(**raw)
