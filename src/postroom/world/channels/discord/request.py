"""One request to Discord about one place, ready to be made."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from postroom.domain.attachment import Attachment


class Act(StrEnum):
    WRITE = "message"
    EDIT = "edit"
    DELETE = "delete"
    REACT = "reaction"


@dataclass(frozen=True, slots=True, kw_only=True)
class DiscordRequest:
    """
    `place` is a channel, or a person whose direct channel is found first; `path` goes on below the channel.

    The body holds the message and stays out of `repr`. With `files` it goes as a form, and their bytes are read when
    the request is made.
    """

    act: Act
    place: str
    method: str
    path: str
    about: str = ""
    """The message that is edited, deleted or reacted to."""
    body: Mapping[str, Any] | None = field(default=None, repr=False)
    files: tuple[Attachment, ...] = field(default=(), repr=False)

    @property
    def private(self) -> list[str]:
        """What no error may quote: the text, the files' names, and links and tokens that are as good as an answer."""
        body = self.body or {}
        named = (one.name for one in self.files)
        return [str(body.get("content", "")), *named, *_behind_buttons(body.get("components", []))]


def _behind_buttons(rows: list[Mapping[str, Any]]) -> Iterator[str]:
    for row in rows:
        for key in row["components"]:
            yield key.get("url") or key["custom_id"]
