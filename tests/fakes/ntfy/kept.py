"""The messages of a topic as they are served: since when, and in which shape."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from postroom.kernel.values.ids import SECOND_US
from tests.fakes.record import KEPT_FILES, FaceMessage

KEPT_SECONDS: Final = 43_200


def name_of(number: int) -> str:
    """Twelve letters and digits."""
    return f"n{number:011d}"


def event_of(message: FaceMessage) -> dict[str, Any]:
    second = message.at_us // SECOND_US
    head = {"id": message.message_id, "time": second, "expires": second + KEPT_SECONDS, "event": "message"}
    said = {name: value for name, value in message.body.items() if name != KEPT_FILES}
    return head | {"topic": message.place} | said


def kept_since(text: str, messages: Sequence[FaceMessage]) -> Sequence[FaceMessage]:
    """`all` of them, or those from a second on."""
    return messages if text == "all" else [one for one in messages if one.at_us // SECOND_US >= int(text)]
