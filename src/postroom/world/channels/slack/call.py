"""One call of Slack's Web API, ready to be made."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from postroom.domain.attachment import Attachment

POST: Final = "chat.postMessage"
UPDATE: Final = "chat.update"
DELETE: Final = "chat.delete"
DELETE_FILE: Final = "files.delete"
REACT: Final = "reactions.add"
PUBLISH: Final = "files.completeUploadExternal"
FILE_ID: Final = "file:"  # before the id of a file, where Slack did not say in which message it stands


@dataclass(frozen=True, slots=True, kw_only=True)
class SlackCall:
    """
    One method with its arguments; the arguments hold the message and stay out of `repr`.

    `keeps_text`: an edit of the buttons alone, so the text that stands there has to be fetched first. `file`: what is
    uploaded before the call that publishes it.
    """

    method: str
    body: Mapping[str, Any] = field(repr=False)
    keeps_text: bool = False
    file: Attachment | None = field(default=None, repr=False)

    @property
    def channel(self) -> str:
        return str(self.body.get("channel", ""))

    @property
    def thread(self) -> str | None:
        return self.body.get("thread_ts")

    @property
    def text(self) -> str:
        """As it is sent, escaped."""
        return str(self.body.get("text", ""))

    @property
    def mark(self) -> str | None:
        """By which the message is found again."""
        metadata = self.body.get("metadata")
        return metadata["event_payload"]["mark"] if metadata else None
