"""Shows three buttons, whatever it declares."""

from __future__ import annotations

from postroom.message.delivery import Message
from tests.testing.pager import Page, Pager

FAILS = {"capability/buttons"}


class Broken(Pager):
    def last(self, message: Message, page: Page) -> Page:
        page = super().last(message, page)
        return Page(key=page.key, body={**page.body, "buttons": page.body.get("buttons", [])[:3]})
