"""One call of the Bot API, ready to be made, and what a refusal of it means."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from postroom.domain.attachment import Attachment
from postroom.domain.errors import (
    CredentialsRefused,
    PostroomError,
    ProviderFailed,
    ProviderThrottled,
    TargetUnavailable,
    ValidationError,
)
from postroom.domain.patience import LONGEST_SECONDS, shortened
from postroom.world.http.retry_after import asked_seconds

_BROKE_WHILE_ANSWERING = frozenset({500, 502, 504})  # 503 says that nothing was begun


@dataclass(frozen=True, slots=True, kw_only=True)
class TelegramCall:
    """
    One Bot API method with its arguments; the arguments hold the message and stay out of `repr`.

    With `files` it goes as a form, and their bytes are read when it is made. `instead` is called where Telegram
    refuses this one. `brought`: the call before it brought this part along.
    """

    method: str
    body: Mapping[str, Any] = field(repr=False)
    files: tuple[Attachment, ...] = field(default=(), repr=False)
    brought: bool = False
    instead: TelegramCall | None = field(default=None, repr=False)

    @property
    def private(self) -> list[str]:
        """What no error may quote: the text, a file's name, and links and tokens that are as good as an answer."""
        said = [self.body, *self.body.get("media", [])]
        spans = [span for one in said for name in ("entities", "caption_entities") for span in one.get(name, [])]
        targets = [entity["url"] for entity in spans if "url" in entity]
        words = [str(one.get(name, "")) for one in said for name in ("text", "caption")]
        named = [one.name for one in self.files]
        return [*words, *named, *targets, *_behind_buttons(self.body.get("reply_markup", {}))]


def _behind_buttons(markup: Mapping[str, Any]) -> Iterator[str]:
    for row in markup.get("inline_keyboard", []):
        for key in row:
            yield key.get("url") or key["callback_data"]


def read_refusal(
    status: int, told: Mapping[str, Any], retry_after: str | None, words: str, now: datetime
) -> PostroomError:
    said = f"Telegram answered {status}" + (f": {words}" if words else "")
    if status == 429:
        parameters = told.get("parameters")
        number = parameters.get("retry_after") if isinstance(parameters, Mapping) else None
        asked = asked_seconds(number, retry_after, now)
        return ProviderThrottled(said + shortened(asked), retry_after_seconds=min(asked, LONGEST_SECONDS))
    if status == 401:
        return CredentialsRefused("Telegram does not accept our bot token")
    if status == 413:
        return ValidationError("Telegram takes no file of this size (413)")
    if 400 <= status < 500:
        return ValidationError(said)
    return ProviderFailed(said) if status in _BROKE_WHILE_ANSWERING else TargetUnavailable(said)
