"""Gives an event another name whenever it is heard, so an answer counts twice."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from itertools import count
from typing import Any

from postroom.message.inbound import InboundEvent, InboundMessage
from tests.testing.pager import Pager

FAILS = {"inbound/same-event", "inbound/restart"}
NUMBERS = count()


class Broken(Pager):
    def event(self, told: Mapping[str, Any]) -> InboundEvent:
        event = super().event(told)
        return replace(event, message_id=str(next(NUMBERS))) if isinstance(event, InboundMessage) else event
