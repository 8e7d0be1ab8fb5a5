"""Which thread a message was heard in: an answer to it goes to the thread's first message, as Slack wants."""

from __future__ import annotations

from collections import OrderedDict
from typing import Final

from postroom.domain.inbound_message import InboundEvent, InboundMessage

_MOST: Final = 10_000


class SlackThreads:
    """Of what this process heard; an answer to anything else names the message itself, which then begins a thread."""

    def __init__(self) -> None:
        self._roots: OrderedDict[tuple[str, str], str] = OrderedDict()

    def heard(self, event: InboundEvent | None) -> None:
        if not isinstance(event, InboundMessage) or event.replies_to is None:
            return
        for place in event.places:
            self._roots[place, event.message_id] = event.replies_to
        while len(self._roots) > _MOST:
            self._roots.popitem(last=False)

    def root(self, place: str, message_id: str) -> str:
        return self._roots.get((place, message_id), message_id)
