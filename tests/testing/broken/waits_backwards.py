"""Subtracts the provider's date from its own clock, whatever comes of it."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any

from postroom.kernel.http.call import HttpAnswer as Answer
from tests.testing.pager import Pager

FAILS = {"throttled-skewed"}


class Broken(Pager):
    def wait(self, answer: Answer, told: Mapping[str, Any]) -> float:
        if answer.retry_after and not answer.retry_after.isdigit():
            return (parsedate_to_datetime(answer.retry_after) - datetime.now(UTC)).total_seconds()
        return super().wait(answer, told)
