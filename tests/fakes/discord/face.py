"""Discord's face: a bot writes over REST and hears over the Gateway; the person reads, writes and presses."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from aiohttp import web

from tests.fakes.discord.form import every_button
from tests.fakes.discord.gateway import GatewayDoor
from tests.fakes.discord.objects import HOST, created
from tests.fakes.discord.places import SOMEBODY, channel_of, person_in, snowflake
from tests.fakes.discord.presses import DiscordPresses
from tests.fakes.discord.rest import DiscordRest
from tests.fakes.discord.room import Room
from tests.fakes.discord.sessions import BotSessions
from tests.fakes.face import FaceParts
from tests.fakes.ledger import FaceLedger
from tests.fakes.record import KEPT_FILES, FaceButton, FaceMessage, PressedKey, Wrote


class DiscordFace:
    name = "discord"

    def __init__(self, parts: FaceParts) -> None:
        self._parts = parts
        self._sessions = BotSessions()
        self._presses = DiscordPresses(parts.clock)
        self.rest = DiscordRest(parts, Room(parts, self._sessions), self._presses)
        self._gateway = GatewayDoor(self._sessions, parts.stopping)

    @property
    def ledger(self) -> FaceLedger:
        return self._parts.ledger

    def routes(self) -> Sequence[web.RouteDef]:
        return [*self._gateway.routes(), *self.rest.routes()]

    def buttons(self, message: FaceMessage) -> Sequence[FaceButton]:
        return [
            FaceButton(label=key["label"], data=key.get("custom_id"), url=key.get("url"))
            for key in every_button(message.body)
        ]

    async def written(self, wrote: Wrote) -> FaceMessage:
        channel_id = channel_of(wrote.place)
        now_us = self._parts.clock.now_us()
        kept_files = [self._parts.files.keep(one).listing() for one in wrote.files]
        kept = self._parts.ledger.keep(
            place=channel_id,
            text=wrote.text,
            body={HOST: wrote.host, KEPT_FILES: kept_files} if kept_files else {},
            name=lambda number: snowflake(now_us, number),
            now_us=now_us,
            from_person=True,
            author=_person(wrote.author, channel_id),
            thread=wrote.reply_to,
        )
        await self._sessions.tell("MESSAGE_CREATE", created(kept))
        return kept

    async def pressed(self, pressed: PressedKey) -> dict[str, Any]:
        """Waits for the bot's answer, as the person does, for three seconds at most."""
        by = _person(pressed.author, pressed.message.place)
        press, told = self._presses.begin(pressed, by)
        await self._sessions.tell("INTERACTION_CREATE", told)
        await self._presses.end(press)
        shown = press.shown(by)
        self._note(pressed.message, shown)
        return shown

    def _note(self, message: FaceMessage, shown: dict[str, Any]) -> None:
        """Beside the message that was pressed, which may have been edited meanwhile."""
        if (now := self._parts.ledger.find(message.message_id, message.place)) is not None:
            presses = [*now.body.get("presses", []), shown]
            self._parts.ledger.edit(now, now.text, {**now.body, "presses": presses})


def _person(given: str | None, channel_id: str) -> str:
    """In a direct channel there is one."""
    return (given or person_in(channel_id) or SOMEBODY).removeprefix("user:")
