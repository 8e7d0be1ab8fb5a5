"""A message is stored before any other handler sees it, and what was decided before is not decided again."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.clock import FakeClock

from postroom.domain.conversation_states import InboundStatus
from postroom.domain.inbound_message import InboundEvent, InboundMessage, Press
from postroom.domain.kept_message import KeptMessage, RoutedMessage, RouteKind
from postroom.domain.person import Person
from postroom.work.conversations.inbound import hand_over
from postroom.work.conversations.kept import answering, commanding, keeping_handler

WORDS = InboundMessage(channel="telegram", number=1, message_id="9", places=("77",), text="yes")
PRESS = Press(channel="telegram", event_id="e", callback_id="c", places=("77",), sender="77", token="t")


class Known:
    async def at(self, channel: str, address: str) -> Person | None:
        return None


class Store:
    def __init__(self) -> None:
        self.kept: KeptMessage | None = None
        self.decided: list[RoutedMessage] = []

    async def keep(self, message: InboundMessage, now_us: int) -> KeptMessage:
        self.kept = self.kept or KeptMessage(id="m", message=message, received_us=now_us)
        return self.kept

    async def decide(
        self, kept: KeptMessage, routed: RoutedMessage, person: str | None, now_us: int
    ) -> KeptMessage | None:
        self.decided.append(routed)
        self.kept = replace(kept, status=InboundStatus.HANDLED)
        return self.kept


@pytest.mark.requirement("talk:stored-first")
async def test_it_is_stored_first_and_a_second_time_nothing_more_is_done(clock: FakeClock) -> None:
    store, seen = Store(), list[InboundStatus]()

    async def takes(event: InboundEvent) -> bool:
        assert store.kept is not None
        seen.append(store.kept.status)
        return True

    handlers = [keeping_handler(store, clock), answering(store, clock, takes, "a question", Known(), {})]
    for _ in range(2):
        await hand_over(WORDS, handlers, "telegram")

    assert seen == [InboundStatus.RECEIVED]
    assert [(one.kind, one.reason) for one in store.decided] == [(RouteKind.ANSWER, "it answers a question")]


@pytest.mark.requirement("talk:order")
@pytest.mark.parametrize(
    ("text", "replies_to", "answers"),
    [
        ("/general what is on?", None, False),
        ("@General what is on?", None, False),
        ("/general what is on?", "7", True),
        ("/other what is on?", None, True),
        ("general", None, True),
    ],
)
async def test_words_to_a_butler_by_name_answer_no_open_question_unless_they_reply_to_it(
    clock: FakeClock, text: str, replies_to: str | None, answers: bool
) -> None:
    heard: list[InboundEvent] = []

    async def takes(event: InboundEvent) -> bool:
        heard.append(event)
        return True

    handler = answering(Store(), clock, takes, "a question", Known(), {"general": True})
    assert await handler(replace(WORDS, text=text, replies_to=replies_to)) is answers
    assert bool(heard) is answers


async def test_what_a_handler_leaves_is_undecided_and_a_press_is_no_message(clock: FakeClock) -> None:
    store = Store()

    async def leaves(event: InboundEvent) -> bool:
        return isinstance(event, Press)

    handlers = [keeping_handler(store, clock), commanding(store, clock, leaves, "it is a command", Known())]
    await hand_over(WORDS, handlers, "telegram")
    await hand_over(PRESS, handlers, "telegram")

    assert store.kept is not None and store.kept.status is InboundStatus.RECEIVED
    assert store.decided == []
