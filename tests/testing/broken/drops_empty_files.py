"""Sends a message without its empty file, as if that were nothing."""

from __future__ import annotations

from postroom.message.attachment import Attachment
from postroom.message.delivery import Message
from tests.testing.pager import Pager

FAILS = {"capability/files-empty"}


class Broken(Pager):
    def files(self, message: Message) -> tuple[Attachment, ...]:
        return tuple(one for one in message.attachments if one.size)
