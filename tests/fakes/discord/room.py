"""What stands in the channels, and how a bot changes it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from postroom.kernel.values.ids import seconds
from tests.fakes.discord.form import check_changes, check_message
from tests.fakes.discord.objects import created, message_object
from tests.fakes.discord.places import is_number, person_in, snowflake
from tests.fakes.discord.refusal import DiscordRefusal
from tests.fakes.discord.sessions import BotSessions
from tests.fakes.face import FaceParts
from tests.fakes.record import FaceMessage

NONCE_SECONDS: Final = 300.0
_OF_CHANNELS: Final = frozenset({10003, 20016, 50001, 50013})
_OF_PEOPLE: Final = frozenset({50007, 50278})


class Room:
    def __init__(self, parts: FaceParts, sessions: BotSessions) -> None:
        self._parts = parts
        self._sessions = sessions
        self._nonces: dict[str, tuple[str, int]] = {}

    async def write(self, channel_id: str, body: Mapping[str, Any]) -> dict[str, Any]:
        self._enter(channel_id)
        check_message(body)
        nonce = body.get("nonce")
        if body.get("enforce_nonce") is True and nonce is not None and (known := self._known(str(nonce))):
            return message_object(self._message(channel_id, known)) | {"nonce": nonce}
        message = self._keep(channel_id, body)
        if nonce is not None:
            self._nonces[str(nonce)] = (message.message_id, message.at_us)
        await self._sessions.tell("MESSAGE_CREATE", created(message))
        return message_object(message) | ({} if nonce is None else {"nonce": nonce})

    async def say(self, channel_id: str, text: str) -> None:
        """Without anybody having asked over REST: the answer to a press that everybody may see."""
        await self._sessions.tell("MESSAGE_CREATE", created(self._keep(channel_id, {"content": text})))

    def edit(self, channel_id: str, message_id: str, body: Mapping[str, Any]) -> dict[str, Any]:
        self._enter(channel_id)
        message = self._message(channel_id, message_id)
        check_changes(body)
        text = body.get("content") or "" if "content" in body else message.text
        return message_object(self._parts.ledger.edit(message, text, {**message.body, **body}))

    def delete(self, channel_id: str, message_id: str) -> None:
        self._enter(channel_id)
        self._parts.ledger.delete(self._message(channel_id, message_id))

    def react(self, channel_id: str, message_id: str, emoji: str, *, takes_back: bool = False) -> None:
        self._enter(channel_id)
        message = self._message(channel_id, message_id)
        others = [one for one in message.reactions if one != emoji]
        self._parts.ledger.react(message, others if takes_back else [*others, emoji])

    def _keep(self, channel_id: str, body: Mapping[str, Any]) -> FaceMessage:
        now_us = self._parts.clock.now_us()
        return self._parts.ledger.keep(
            place=channel_id,
            text=body.get("content") or "",
            body=body,
            name=lambda number: snowflake(now_us, number),
            now_us=now_us,
            thread=self._answered(channel_id, body.get("message_reference")),
        )

    def _enter(self, channel_id: str) -> None:
        """A number that is an error's is that error."""
        if not is_number(channel_id):
            raise DiscordRefusal(50035)
        code, person = int(channel_id), int(person_in(channel_id) or 0)
        for met in {code} & _OF_CHANNELS | {person} & _OF_PEOPLE:
            raise DiscordRefusal(met)

    def _message(self, channel_id: str, message_id: str) -> FaceMessage:
        message = self._parts.ledger.find(message_id, channel_id)
        if message is None:
            raise DiscordRefusal(10008)
        return message

    def _known(self, nonce: str) -> str | None:
        since_us = self._parts.clock.now_us() - seconds(NONCE_SECONDS)
        self._nonces = {key: known for key, known in self._nonces.items() if known[1] > since_us}
        return self._nonces[nonce][0] if nonce in self._nonces else None

    def _answered(self, channel_id: str, about: object) -> str | None:
        if not isinstance(about, Mapping):
            return None
        message_id = about.get("message_id")
        if isinstance(message_id, str) and self._parts.ledger.find(message_id, channel_id):
            return message_id
        if about.get("fail_if_not_exists", True):
            raise DiscordRefusal(50035)
        return None
