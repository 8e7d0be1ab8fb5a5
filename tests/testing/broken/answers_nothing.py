"""Sends a reply as a message of its own."""

from __future__ import annotations

from postroom.message.delivery import Message
from tests.testing.pager import Page, Pager

FAILS = {"capability/replies", "capability/threads"}


class Broken(Pager):
    def page(self, message: Message, number: int, text: str) -> Page:
        page = super().page(message, number, text)
        return page if message.emoji else Page(key=page.key, body={**page.body, "answers": None})
