"""Gives every message the same key, so that the provider drops the second."""

from __future__ import annotations

from postroom.message.delivery import Message
from tests.testing.pager import Pager

FAILS = {"capability/dedupes", "capability/reconciles"}


class Broken(Pager):
    def key(self, message: Message, number: int) -> str:
        return f"part-{number}"
