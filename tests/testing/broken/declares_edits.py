"""Declares that it edits, and does not."""

from __future__ import annotations

from postroom.kernel.values.errors import ValidationError
from postroom.message.delivery import Message
from tests.testing.pager import Pager

FAILS = {"capability/edits"}


class Broken(Pager):
    def check(self, message: Message) -> None:
        if message.revises is not None:
            raise ValidationError("a page cannot be edited")
        super().check(message)
