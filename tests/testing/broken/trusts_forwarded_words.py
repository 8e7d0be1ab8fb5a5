"""Takes what somebody else once wrote for the words of the person who forwards it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from postroom.message.inbound import InboundEvent
from tests.testing.pager import Pager

FAILS = {"inbound/forged"}


class Broken(Pager):
    def event(self, told: Mapping[str, Any]) -> InboundEvent:
        return super().event({**told, "forwarded": False})
