"""One call of the Bot API, ready to be made."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class TelegramCall:
    """One Bot API method with its arguments; the arguments hold the message and stay out of `repr`."""

    method: str
    body: Mapping[str, Any] = field(repr=False)

    @property
    def private(self) -> list[str]:
        """What no error may quote: the text, and links and tokens that are as good as an answer."""
        targets = [entity["url"] for entity in self.body.get("entities", []) if "url" in entity]
        return [str(self.body.get("text", "")), *targets, *_behind_buttons(self.body.get("reply_markup", {}))]


def _behind_buttons(markup: Mapping[str, Any]) -> Iterator[str]:
    for row in markup.get("inline_keyboard", []):
        for key in row:
            yield key.get("url") or key["callback_data"]
