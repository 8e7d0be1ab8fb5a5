"""Reads milliseconds as seconds."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from postroom.kernel.http.call import HttpAnswer as Answer
from tests.testing.pager import Pager

FAILS = {"throttled-milliseconds"}


class Broken(Pager):
    def wait(self, answer: Answer, told: Mapping[str, Any]) -> float:
        return super().wait(answer, {"retry": told["retry_ms"]} if "retry_ms" in told else told)
