"""Says that a message was delivered when the provider broke."""

from __future__ import annotations

from postroom.kernel.http.call import HttpAnswer as Answer
from postroom.message.delivery import Receipt
from tests.testing.pager import Pager

FAILS = {"broken-500"}


class Broken(Pager):
    def read(self, answer: Answer) -> Receipt:
        return Receipt("page-1") if answer.status == 500 else super().read(answer)
