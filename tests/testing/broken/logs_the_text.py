"""Logs what could not be sent, for people who look for the reason."""

from __future__ import annotations

import logging

from postroom.kernel.values.errors import ValidationError
from postroom.message.delivery import Receipt
from tests.testing.pager import Page, Pager

FAILS = {"refused-for-ever", "refused-quoting-us", "early-refusal", "error-inside"}


class Broken(Pager):
    async def send(self, part: Page, timeout_seconds: float) -> Receipt:
        try:
            return await super().send(part, timeout_seconds)
        except ValidationError:
            logging.getLogger("pager").info("could not send %s", part.body["text"])
            raise
