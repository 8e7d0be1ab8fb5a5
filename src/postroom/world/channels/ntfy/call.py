"""One message to one topic, ready to be published."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from postroom.domain.attachment import Attachment


@dataclass(frozen=True, slots=True, kw_only=True)
class NtfyCall:
    """
    `sequence_id` names the notification on the person's device: what comes later under the same name replaces it, and
    a call that `deletes` takes it away (servers from 2.16 on), which the server knew as `about`.

    The body holds the message and stays out of `repr`. With a `file` it goes as headers, for the file is the content.
    """

    topic: str
    sequence_id: str
    is_edit: bool = False
    deletes: bool = False
    about: str = ""
    body: Mapping[str, Any] = field(repr=False)
    file: Attachment | None = field(default=None, repr=False)

    @property
    def text(self) -> str:
        return str(self.body.get("message", ""))

    @property
    def private(self) -> list[str]:
        """What no error may quote: the words, and what is as good as an answer."""
        behind = [str(action.get(part, "")) for action in self.body.get("actions", ()) for part in ("url", "body")]
        return [self.text, str(self.body.get("title", "")), *behind]
