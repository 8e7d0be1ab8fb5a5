"""What a model did in a session, whichever program ran it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from postroom.domain.storable_text import storable

MAX_CALLS: Final = 100
MAX_TEXT_CHARACTERS: Final = 16_000
MAX_ARGUMENT_CHARACTERS: Final = 2_000
MAX_ERROR_CHARACTERS: Final = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCall:
    """`ok` says that the call reached the tool and came back, not that the tool agreed."""

    tool: str
    arguments: str = field(repr=False)
    ok: bool
    answer: str = field(default="", repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Transcript:
    """
    Read from what the program printed; its exit code says too little.

    `finished` means that the program itself declared the turn complete, and
    `connected` is None when it does not say whether it reached our server.
    """

    finished: bool
    text: str = field(default="", repr=False)
    calls: Sequence[ToolCall] = ()
    error: str | None = None
    connected: bool | None = None
    input_tokens: int = 0
    output_tokens: int = 0

    @property
    def failure(self) -> str | None:
        """Why the session must not be called done."""
        if self.connected is False:
            return "the model could not reach the butler's own server"
        if self.error is not None:
            return self.error
        if not self.finished:
            return "the program ended before the model had finished"
        if self.calls and not any(call.ok for call in self.calls):
            return "none of the model's tool calls went through"
        return None


def document(transcript: Transcript) -> dict[str, Any]:
    """For the record; bounded, whatever a model may print."""
    return {
        "text": cut(transcript.text, MAX_TEXT_CHARACTERS),
        "tool_calls": [
            {"tool": cut(call.tool, 200), "arguments": call.arguments, "ok": call.ok, "answer": call.answer}
            for call in transcript.calls[:MAX_CALLS]
        ],
        "tool_call_count": len(transcript.calls),
        "usage": {"input_tokens": transcript.input_tokens, "output_tokens": transcript.output_tokens},
    }


def as_text(value: object) -> str:
    """An argument or an answer of a tool call, short enough to keep."""
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    return cut(text, MAX_ARGUMENT_CHARACTERS)


def cut(text: str, most: int) -> str:
    """Words of a model, as they may be kept: whatever it printed, every store can hold them."""
    text = storable(text)
    return text if len(text) <= most else text[: most - 1] + "…"
