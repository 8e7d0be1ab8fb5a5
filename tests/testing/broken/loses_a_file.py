"""Carries the first of several files, and says nothing of the others."""

from __future__ import annotations

from postroom.message.attachment import Attachment
from postroom.message.delivery import Message
from tests.testing.pager import Pager

FAILS = {"capability/files"}


class Broken(Pager):
    def files(self, message: Message) -> tuple[Attachment, ...]:
        return message.attachments[:1]
