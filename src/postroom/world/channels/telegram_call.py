"""One call of the Bot API, ready to be made."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from postroom.domain.attachment import Attachment


@dataclass(frozen=True, slots=True, kw_only=True)
class TelegramCall:
    """
    One Bot API method with its arguments; the arguments hold the message and stay out of `repr`.

    With a `file` it goes as a form, and the file's bytes are read when it is made. `instead` is called where Telegram
    refuses this one.
    """

    method: str
    body: Mapping[str, Any] = field(repr=False)
    file: Attachment | None = field(default=None, repr=False)
    instead: TelegramCall | None = field(default=None, repr=False)

    @property
    def private(self) -> list[str]:
        """What no error may quote: the text, a file's name, and links and tokens that are as good as an answer."""
        spans = [*self.body.get("entities", []), *self.body.get("caption_entities", [])]
        targets = [entity["url"] for entity in spans if "url" in entity]
        words = [str(self.body.get(name, "")) for name in ("text", "caption")]
        named = [self.file.name] if self.file else []
        return [*words, *named, *targets, *_behind_buttons(self.body.get("reply_markup", {}))]


def _behind_buttons(markup: Mapping[str, Any]) -> Iterator[str]:
    for row in markup.get("inline_keyboard", []):
        for key in row:
            yield key.get("url") or key["callback_data"]
