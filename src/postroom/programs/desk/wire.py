"""What the server and the window's process say to each other: one JSON object per line."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class FormField:
    """One line of a form: with choices something is picked, without them it is typed."""

    name: str
    label: str
    hint: str = ""
    required: bool = False
    choices: tuple[tuple[str, str], ...] = ()
    """Each value with what the person reads."""
    several: bool = False
    value: tuple[str, ...] = field(default=(), repr=False)
    """What stands in it at first."""


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
    fields: tuple[FormField, ...] = field(default=(), repr=False)
    """Of a form, in place of options and reply."""
    has_reply: bool = True
    """Whether words of one's own can be typed."""
    text: str = field(default="", repr=False)
    """What stands in the reply at first."""
    problem: str = ""
    """Why it is shown once more."""
    needs_answer: bool = False
    """Nothing at all, or a choice and words at once, cannot be submitted."""
    settle_seconds: float = 0.0
    """Keys meant for another window must not answer: nothing can be submitted before it was there for so long."""
    submit_label: str = "Submit"
    cancel_label: str = "Cancel"
    decline_label: str = ""
    """With it there is a button that refuses to answer, which is an answer."""
    reply_limit: int = 10_000
    draft_file: str
    turn_file: str
    turn_token: str
    preview: bool = False
    """Only to see what it looks like: it leaves by itself as soon as it is drawn."""

    @property
    def ends_by_choosing(self) -> bool:
        """A press on an option is all there is to do, so there is nothing to submit."""
        return bool(self.options) and not self.allow_multiple and not self.has_reply


def encode(value: dict[str, Any]) -> bytes:
    return json.dumps(value).encode("ascii") + b"\n"


def encode_sheet(sheet: Sheet) -> bytes:
    return encode(asdict(sheet))


def decode_sheet(line: bytes | str) -> Sheet:
    raw = json.loads(line)
    raw["history"] = tuple((who, text) for who, text in raw["history"])
    raw["options"] = tuple(raw["options"])
    raw["fields"] = tuple(_field(one) for one in raw["fields"])
    return Sheet(**raw)


def _field(raw: dict[str, Any]) -> FormField:
    choices = tuple((value, label) for value, label in raw["choices"])
    return FormField(**raw | {"choices": choices, "value": tuple(raw["value"])})
