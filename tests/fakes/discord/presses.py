"""Presses of buttons: the bot has three seconds to answer each, once; after that the person sees that it failed."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from postroom.kernel.running.clock import Clock
from postroom.kernel.values.ids import seconds
from tests.fakes.discord.form import check_changes
from tests.fakes.discord.objects import interaction
from tests.fakes.discord.places import snowflake
from tests.fakes.discord.refusal import DiscordRefusal
from tests.fakes.record import PressedKey

ANSWER_SECONDS: Final = 3.0
FAILED: Final = "This interaction failed"
WITHOUT_WORDS: Final = 6
EPHEMERAL: Final = 1 << 6


@dataclass(slots=True, kw_only=True)
class OpenPress:
    number: str
    token: str = field(repr=False)
    until_us: int
    pressed: PressedKey
    answered: asyncio.Event = field(default_factory=asyncio.Event)
    words: str | None = None
    only_for_one: bool = False

    def shown(self, by: str) -> dict[str, Any]:
        """What the person sees."""
        done = self.answered.is_set()
        return {
            "interaction_id": self.number,
            "button": self.pressed.button.label,
            "from_id": by,
            "answered": done,
            "text": self.words if done else FAILED,
            "ephemeral": self.only_for_one,
        }


class DiscordPresses:
    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._open: dict[str, OpenPress] = {}
        self._count = 0

    def begin(self, pressed: PressedKey, by: str) -> tuple[OpenPress, dict[str, Any]]:
        """With what the bot is told of it."""
        now_us = self._clock.now_us()
        self._count += 1
        number, token = snowflake(now_us, self._count), secrets.token_urlsafe(32)
        press = OpenPress(number=number, token=token, until_us=now_us + seconds(ANSWER_SECONDS), pressed=pressed)
        self._open[number] = press
        return press, interaction(number, token, pressed, by)

    async def end(self, press: OpenPress) -> None:
        """When it is answered, or too late."""
        try:
            await self._clock.wait(press.answered, press.until_us)
        finally:
            if not press.answered.is_set():
                del self._open[press.number]

    def answer(self, number: str, token: str, body: Mapping[str, Any]) -> OpenPress:
        press = self._open.get(number)
        if press is None or press.token != token:
            raise DiscordRefusal(10062)
        if press.answered.is_set():
            raise DiscordRefusal(40060)
        self._read(press, body)
        press.answered.set()
        return press

    def _read(self, press: OpenPress, body: Mapping[str, Any]) -> None:
        if body["type"] == WITHOUT_WORDS:
            return
        data = body["data"]
        check_changes(data)
        press.words = data["content"]
        press.only_for_one = bool((data.get("flags") or 0) & EPHEMERAL)
