"""Looks at the status and not at what is said under it."""

from __future__ import annotations

from postroom.kernel.http.call import HttpAnswer as Answer
from postroom.message.delivery import Receipt
from tests.testing.pager import Pager, parsed

FAILS = {"error-inside"}


class Broken(Pager):
    def read(self, answer: Answer) -> Receipt:
        return Receipt("page-1") if answer.status == 200 and "error" in parsed(answer) else super().read(answer)
