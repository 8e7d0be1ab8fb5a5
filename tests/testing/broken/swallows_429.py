"""Takes a throttle for a provider that is away, and forgets how long to wait."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from postroom.kernel.http.call import HttpAnswer as Answer
from postroom.kernel.values.errors import PostroomError, TargetUnavailable
from tests.testing.pager import Pager

FAILS = {
    "throttled-seconds",
    "throttled-date",
    "throttled-float",
    "throttled-milliseconds",
    "throttled-day",
    "throttled-skewed",
}


class Broken(Pager):
    def refusal(self, answer: Answer, told: Mapping[str, Any]) -> PostroomError:
        if answer.status == 429:
            return TargetUnavailable("the pager is busy")
        return super().refusal(answer, told)
