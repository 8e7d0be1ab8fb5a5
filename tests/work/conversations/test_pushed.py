from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from tests.clock import START_US, FakeClock

from postroom.domain.errors import PostroomError, StoreUnavailable, TargetUnavailable
from postroom.domain.inbound_message import InboundEvent, InboundMessage, Listened
from postroom.domain.push_state import PushState
from postroom.domain.time import seconds
from postroom.system.signal import Signal
from postroom.work.conversations.inbound import Inbound
from postroom.work.conversations.pushed import LeftPushes, PushedUpdates


class World:
    """A provider that says how it fares, and a store of what it brought."""

    is_pushed = True

    def __init__(self, clock: FakeClock, *numbers: int) -> None:
        self.rows = list(numbers)
        self.state: PushState | PostroomError = PushState()
        self.done: list[int] = []
        self.heard: list[str] = []
        self.looks: list[bool] = []
        self.received_us = 0
        self.refusal: PostroomError | None = None
        self.updates = PushedUpdates(channel="telegram", bot=self, store=self, clock=clock, bell=Signal())
        self.inbound = Inbound(
            source="telegram", bot=self.updates, offsets=self.updates, handlers=[self.take], clock=clock, watch=self
        )

    async def push_state(self, timeout_seconds: float) -> PushState:
        if isinstance(self.state, PostroomError):
            raise self.state
        return self.state

    async def pushed(self, updates: Sequence[Mapping[str, Any]]) -> Listened:
        events = [_message(one["update_id"]) for one in updates]
        return Listened(events=events, position=len(events) or None)

    async def waiting(self, channel: str, limit: int) -> Sequence[tuple[int, Mapping[str, Any]]]:
        return [(one, {"update_id": one}) for one in self.rows[:limit]]

    async def handled(self, channel: str, numbers: Sequence[int], now_us: int) -> None:
        self.done += numbers
        self.rows = [one for one in self.rows if one not in numbers]

    async def last_us(self, channel: str) -> int:
        return self.received_us

    async def take(self, event: InboundEvent) -> bool:
        if self.refusal is not None:
            raise self.refusal
        assert isinstance(event, InboundMessage)
        self.heard.append(event.message_id)
        return True

    async def patience(self, channel: str, longest_seconds: float) -> float:
        return 0

    async def looked(self, channel: str, began_us: int, *, everything: bool) -> None:
        self.looks.append(everything)


def _message(number: int) -> InboundMessage:
    return InboundMessage(channel="telegram", number=number, message_id=str(number), places=("77",))


@pytest.mark.requirement("talk:webhook")
async def test_what_was_brought_is_handled_and_then_marked(clock: FakeClock) -> None:
    world = World(clock, 7, 8)

    assert await world.inbound.poll(0) == 2
    assert await world.inbound.poll(0) == 0

    assert (world.heard, world.done, world.looks) == (["7", "8"], [7, 8], [True, True])


@pytest.mark.requirement("talk:webhook-once")
async def test_what_a_failure_of_ours_left_unhandled_waits(clock: FakeClock) -> None:
    world = World(clock, 7)
    world.refusal = StoreUnavailable("away")
    with pytest.raises(StoreUnavailable):
        await world.inbound.poll(0)
    world.refusal = None

    assert world.done == []
    await world.inbound.poll(0)
    assert (world.heard, world.done) == (["7"], [7])


async def test_while_something_is_under_way_not_everything_was_heard(clock: FakeClock) -> None:
    world = World(clock, 7)
    world.state = PushState(waiting=1)

    await world.inbound.poll(0)

    assert world.looks == [False]


@pytest.mark.requirement("talk:webhook")
async def test_a_provider_that_cannot_reach_us_is_a_trouble_and_no_look(clock: FakeClock) -> None:
    world = World(clock)
    world.state = PushState(waiting=1, error="502 Bad Gateway", error_at_us=START_US)

    with pytest.raises(TargetUnavailable, match="502 Bad Gateway"):
        await world.inbound.poll(0)
    assert world.looks == []

    world.received_us = START_US + seconds(1)  # something came since
    world.rows = [7]
    await world.inbound.poll(0)
    assert (world.heard, world.looks) == (["7"], [False])


async def test_a_provider_that_is_away_holds_up_nothing_that_was_brought(clock: FakeClock) -> None:
    world = World(clock, 7)
    world.state = TargetUnavailable("away")

    await world.inbound.poll(0)
    assert world.heard == ["7"]
    with pytest.raises(TargetUnavailable):
        await world.inbound.poll(0)


@pytest.mark.requirement("talk:webhook-once")
async def test_what_is_left_when_we_ask_again_is_handled(clock: FakeClock) -> None:
    world = World(clock, 7)
    left = LeftPushes(channel="telegram", bot=world, store=world, handlers=[world.take], clock=clock)

    assert await left.look() is not None
    assert await left.look() is None
    assert (world.heard, world.done) == (["7"], [7])
