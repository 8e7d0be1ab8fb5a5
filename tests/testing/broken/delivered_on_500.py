"""Says that a message was delivered when the provider broke."""

from __future__ import annotations

from postroom.channels.http_call import Answer
from postroom.domain.delivery import Receipt
from tests.testing.pager import Pager

FAILS = {"broken-500"}


class Broken(Pager):
    def read(self, answer: Answer) -> Receipt:
        return Receipt("page-1") if answer.status == 500 else super().read(answer)
