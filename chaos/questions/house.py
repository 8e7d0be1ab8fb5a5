"""A household of questions, put together by the app's own builders: it asks, shows, hears and closes."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from typing import Final

from tests.support.worlds import world_of

from chaos.crash_points import Crash
from chaos.journal import Journal
from chaos.offset_clock import OffsetClock
from chaos.questions.steps import after, watch
from chaos.watched_channel import watched
from chaos.watched_ledger import WatchedLedger
from postroom.conversations.inbound import Inbound
from postroom.delivery.accept import Plane
from postroom.household.channels import build_channels
from postroom.household.delivery import running_plane
from postroom.household.questions import AskingParts, hearing, presenting
from postroom.household.store import World, open_store
from postroom.kernel.values.principal import Principal, Role
from postroom.message.channel import Channel, Listen
from postroom.message.inbound import InboundEvent, InboundMessage, Listened
from postroom.sandbox.accounts import SandboxAddress
from postroom.settings import Settings

ASKER: Final = Principal(Role.BUTLER, "general")


@dataclass(frozen=True, slots=True, kw_only=True)
class House:
    """`hears`: it reads the bot's updates, which only one process may do."""

    settings: Settings
    clock: OffsetClock
    journal: Journal
    crash: Crash
    hears: bool = True
    channel: str = "telegram"

    @asynccontextmanager
    async def running(self) -> AsyncIterator[AskingParts]:
        channels = _channels(self.settings)
        sending = {name: watched(one, self.journal, self.crash) for name, one in channels.items()}
        async with open_store(self.settings) as store:
            store.ledger = WatchedLedger(store.ledger, self.journal, self.crash)
            parts = self._parts(world_of(self.settings, store, clock=self.clock))
            async with (
                running_plane(parts.world, sending) as plane,
                presenting(parts, plane),
                self._ears(parts, plane, channels),
            ):
                yield parts

    def _parts(self, world: World) -> AskingParts:
        parts = AskingParts(world)
        watch(parts.store, ["ask", "hear", "collect"], self.crash)
        cards = ["due", "submitted", "presented"]
        watch(world.store.presentations, cards, self.crash)
        return parts

    @asynccontextmanager
    async def _ears(self, parts: AskingParts, plane: Plane, channels: dict[str, Channel]) -> AsyncIterator[None]:
        bot = channels[self.channel]
        if not self.hears or not isinstance(bot, Listen):
            yield
            return
        if hasattr(bot, "answer_press"):
            watch(bot, ["answer_press"], self.crash)
        marks = parts.world.store.marks
        watch(marks, ["save_offset"], self.crash)
        async with hearing(parts, channels, plane) as ear:
            ear.watch.expect(bot.name)
            inbound = Inbound(
                source=bot.name,
                bot=_Ear(bot, self.clock, self.crash),
                offsets=marks,
                handlers=[ear.handle],
                clock=self.clock,
                watch=ear.watch,
            )
            async with parts.world.loops.running(f"inbound:{bot.name}", inbound.look, cut_off=True):
                yield


class _Ear:
    """Dies when a person has said something, not after each look; the provider's clock is as far ahead as ours."""

    def __init__(self, bot: Listen, clock: OffsetClock, crash: Crash) -> None:
        self._bot = bot
        self._clock = clock
        self._crash = crash

    async def listen(self, position: int | None, timeout_seconds: float) -> Listened:
        heard = await self._bot.listen(position, timeout_seconds)
        if heard.events:
            self._crash.at(after("listen"))
        return replace(heard, events=[self._dated(event) for event in heard.events])

    def _dated(self, event: InboundEvent) -> InboundEvent:
        if not isinstance(event, InboundMessage) or event.said_at_us is None:
            return event
        return replace(event, said_at_us=event.said_at_us + self._clock.offset_us)


def _channels(settings: Settings) -> dict[str, Channel]:
    """The sandbox lives in a process of its own; the ports say where."""
    sandbox = SandboxAddress(
        settings.host, settings.ports.sandbox, settings.ports.sandbox_smtp, settings.ports.sandbox_imap
    )
    return dict(build_channels(settings, sandbox))
