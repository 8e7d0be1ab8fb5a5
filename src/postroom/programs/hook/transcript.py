"""Whether a tool call is the only one of its message: Claude Code resumes one deferred call and forgets the others."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

_SECONDS: Final = 20.0
_PAUSE_SECONDS: Final = 0.1


def is_alone(
    transcript: Path,
    tool_use_id: str,
    *,
    now: Callable[[], float] = time.monotonic,
    pause: Callable[[float], None] = time.sleep,
) -> bool:
    """False, too, when the message does not appear in time: only a call that is seen to be alone may be deferred."""
    until = now() + _SECONDS
    while not (beside := _beside(transcript, tool_use_id)):
        if now() >= until:
            return False
        pause(_PAUSE_SECONDS)
    pause(_PAUSE_SECONDS)  # its parts are lines of their own
    return _beside(transcript, tool_use_id) == beside == {tool_use_id}


def _beside(transcript: Path, tool_use_id: str) -> set[str]:
    """The calls of the message that holds this one; it is written when the message is complete."""
    messages: dict[str, set[str]] = {}
    for message in _messages(transcript):
        calls = {part["id"] for part in message["content"] if _is_call(part)}
        messages.setdefault(str(message.get("id")), set()).update(calls)
    return next((calls for calls in messages.values() if tool_use_id in calls), set())


def _messages(transcript: Path) -> list[dict[str, Any]]:
    try:
        lines = transcript.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return []
    found = (_message(line) for line in lines if '"tool_use"' in line)
    return [one for one in found if one is not None]


def _message(line: str) -> dict[str, Any] | None:
    try:
        said = json.loads(line)
    except (ValueError, RecursionError):
        return None
    message = said.get("message") if isinstance(said, dict) else None
    return message if isinstance(message, dict) and isinstance(message.get("content"), list) else None


def _is_call(part: Any) -> bool:
    return isinstance(part, dict) and part.get("type") == "tool_use" and isinstance(part.get("id"), str)
