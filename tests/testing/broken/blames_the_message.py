"""Takes a throttle that is no 429 for a fault of the message."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from postroom.kernel.http.call import HttpAnswer as Answer
from postroom.kernel.values.errors import PostroomError, ValidationError
from tests.testing.pager import Pager

FAILS = {"throttled-otherwise"}


class Broken(Pager):
    def refusal(self, answer: Answer, told: Mapping[str, Any]) -> PostroomError:
        return ValidationError("no") if answer.status == 420 else super().refusal(answer, told)
