"""Repeats in an error whatever the provider said."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from postroom.kernel.http.call import HttpAnswer as Answer
from postroom.kernel.values.errors import PostroomError, ValidationError
from tests.testing.pager import Pager

FAILS = {"refused-quoting-us"}


class Broken(Pager):
    def refusal(self, answer: Answer, told: Mapping[str, Any]) -> PostroomError:
        return ValidationError(told["error"]) if answer.status == 400 else super().refusal(answer, told)
