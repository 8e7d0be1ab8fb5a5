"""The messages of a topic as they are served: since when, and in which shape."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from postroom.kernel.values.ids import SECOND_US
from tests.fakes.ntfy import errors
from tests.fakes.ntfy.errors import NtfyRefusal
from tests.fakes.record import KEPT_FILES, FaceMessage

KEPT_SECONDS: Final = 43_200
_NAME: Final = re.compile(r"[A-Za-z0-9]{12}")
_DURATION: Final = re.compile(r"(\d{1,9})([smh])")
_UNITS: Final = {"s": 1, "m": 60, "h": 3_600}


def name_of(number: int) -> str:
    """Twelve letters and digits."""
    return f"n{number:011d}"


def event_of(message: FaceMessage) -> dict[str, Any]:
    second = message.at_us // SECOND_US
    head = {"id": message.message_id, "time": second, "expires": second + KEPT_SECONDS, "event": "message"}
    said = {name: value for name, value in message.body.items() if name != KEPT_FILES}
    return head | {"topic": message.place} | said


@dataclass(frozen=True, slots=True, kw_only=True)
class Since:
    """Where a reader begins."""

    nothing: bool = False
    latest: bool = False
    name: str | None = None
    second: int = 0

    def of(self, messages: Sequence[FaceMessage]) -> Sequence[FaceMessage]:
        if self.nothing:
            return []
        if self.latest:
            return messages[-1:]
        names = [one.message_id for one in messages]
        if self.name in names:
            return messages[names.index(self.name) + 1 :]
        return [one for one in messages if one.at_us // SECOND_US >= self.second]


def read_since(text: str, *, poll: bool, now_us: Callable[[], int]) -> Since:
    if text in ("", "none"):
        return Since(nothing=text == "none" or not poll)
    if text == "all":
        return Since()
    if text == "latest":
        return Since(latest=True)
    if _NAME.fullmatch(text):
        return Since(name=text)
    if text.isdecimal():
        return Since(second=int(text))
    if found := _DURATION.fullmatch(text):
        return Since(second=now_us() // SECOND_US - int(found[1]) * _UNITS[found[2]])
    raise NtfyRefusal(errors.SINCE)
