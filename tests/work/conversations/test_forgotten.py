"""A message that was stored and never decided is handed on again, once it is old enough."""

from __future__ import annotations

from collections.abc import Sequence

from tests.clock import START_US, FakeClock

from postroom.domain.inbound_message import InboundEvent, InboundMessage
from postroom.domain.kept_message import KeptMessage
from postroom.domain.time import seconds
from postroom.work.conversations.forgotten import AGE_SECONDS, Forgotten

WORDS = InboundMessage(channel="discord", number=1, message_id="9", places=("77",), text="hi")


class Store:
    asked: int = 0

    async def undecided(self, before_us: int) -> Sequence[KeptMessage]:
        self.asked = before_us
        return [KeptMessage(id="m", message=WORDS, received_us=START_US)]


async def test_it_goes_to_the_handlers_in_their_order_until_one_takes_it(clock: FakeClock) -> None:
    heard: list[str] = []

    def handler(name: str, takes: bool):  # type: ignore[no-untyped-def]
        async def handle(event: InboundEvent) -> bool:
            assert event == WORDS
            heard.append(name)
            if name == "broken":
                raise LookupError
            return takes

        return handle

    store = Store()
    handlers = [handler("broken", False), handler("passes", False), handler("takes", True), handler("never", True)]
    again_us = await Forgotten(kept=store, handlers=handlers, clock=clock).look()

    assert heard == ["broken", "passes", "takes"]
    assert store.asked == clock.now_us() - seconds(AGE_SECONDS)
    assert again_us == clock.now_us() + seconds(AGE_SECONDS)
