"""Gives all parts of a message the same key."""

from __future__ import annotations

from postroom.message.delivery import Message
from tests.testing.pager import Pager

FAILS = {"capability/dedupes"}


class Broken(Pager):
    def key(self, message: Message, number: int) -> str:
        return super().key(message, 0)
