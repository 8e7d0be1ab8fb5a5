"""Lets a program answer for a person."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from postroom.message.inbound import InboundEvent
from tests.testing.pager import Pager

FAILS = {"inbound/bots"}


class Broken(Pager):
    def event(self, told: Mapping[str, Any]) -> InboundEvent:
        return super().event({**told, "bot": False})
