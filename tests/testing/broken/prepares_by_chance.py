"""Prepares the same message differently each time."""

from __future__ import annotations

from itertools import count

from postroom.message.delivery import Message
from tests.testing.pager import Page, Pager

FAILS = {"property/pure", "manners/card", "manners/repeated"}
NUMBERS = count()


class Broken(Pager):
    def page(self, message: Message, number: int, text: str) -> Page:
        page = super().page(message, number, text)
        return Page(key=page.key, body={**page.body, "nonce": next(NUMBERS)})
