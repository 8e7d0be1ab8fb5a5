"""Discord: make the request once, read the answer; listen to its Gateway."""

from __future__ import annotations

import asyncio
import random
import re
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from importlib.metadata import version
from typing import ClassVar, Final

from postroom.channels.discord.building import (
    NO_MENTIONS,
    USER,
    DiscordRequest,
    address,
    build,
    form,
    inner_words,
    read_refusal,
    receipt_of,
    shown_beginning,
    snowflake,
)
from postroom.channels.discord.gateway import Gateway, GatewayIntent, GatewayNeeds, GatewayStart, inbound_event
from postroom.channels.discord.kind import DISCORD, DiscordAccount
from postroom.channels.provider import ProviderApi, asked, blameless, is_at, press_answered, worked
from postroom.channels.shared import MultipartForm, check_files, read_file
from postroom.kernel.http.answers import JsonBody, JsonObject, wait_seconds
from postroom.kernel.http.call import HttpAnswer
from postroom.kernel.values.errors import OutcomeUncertain, ProviderThrottled, TargetUnavailable, ValidationError
from postroom.kernel.values.ids import to_us
from postroom.message.attachment import FileContents
from postroom.message.channel import Capabilities
from postroom.message.delivery import Message, Receipt, ReceiptKind
from postroom.message.inbound import InboundFile, InboundMessage, Listened
from postroom.settings.accounts import Surroundings

API_BASE_URL: Final = "https://discord.com/api/v10"
_HOME: Final = "https://postroom.dev"  # Discord turns away a client that names no address and version
_PRESS_SECONDS: Final = 2.5  # Discord gives up on an answer to a press after three
_EPHEMERAL: Final = 1 << 6
_WORDS, _NO_WORDS = 4, 6
_TOKEN = re.compile(r"[A-Za-z0-9._-]+")
_HEARS: Final = GatewayIntent.DIRECT_MESSAGES | GatewayIntent.GUILD_MESSAGES


class Discord:
    """`message_content`: hear all that is written in its servers, not only what is for the bot; Discord must agree."""

    address = staticmethod(address)
    capabilities: ClassVar[Capabilities] = DISCORD

    def __init__(
        self,
        name: str,
        bot_token: str,
        api_base_url: str = API_BASE_URL,
        *,
        message_content: bool = False,
        files: FileContents | None = None,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
        dice: Callable[[], float] = random.random,
        monotonic: Callable[[], float] = time.monotonic,
        rest: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        _check(bot_token)
        self.name = name
        self._token = bot_token
        self._files = files
        self._now = now
        user_agent = f"DiscordBot ({_HOME}, {version('postroom')})"
        headers = {"User-Agent": user_agent}
        self._api = ProviderApi(
            "Discord", api_base_url, read_refusal, now, words=inner_words, secrets=[bot_token], headers=headers
        )
        self._direct: dict[str, str] = {}
        self._monotonic, self._rest = monotonic, rest
        self._full_until: dict[str, float] = {}  # by what Discord counts together
        self._gateway = Gateway(
            GatewayNeeds(
                token=bot_token,
                intents=_HEARS | (GatewayIntent.MESSAGE_CONTENT if message_content else 0),
                user_agent=user_agent,
                secure=self._api.is_encrypted,
                start=self._gateway_start,
                event=partial(inbound_event, name),
                now_us=lambda: to_us(now()),
                dice=dice,
                monotonic=monotonic,
            )
        )

    @classmethod
    def of(cls, name: str, options: DiscordAccount, given: Surroundings) -> Discord:
        token, words = options.bot_token.reveal(), options.message_content
        return cls(name, token, options.api_base_url, message_content=words, files=given.files)

    def __repr__(self) -> str:
        return f"Discord(name={self.name!r}, api_base_url={self._api.base_url!r}, bot_token=***)"

    def prepare(self, message: Message) -> Sequence[DiscordRequest]:
        check_files(message, DISCORD, self._files)
        return build(message)

    async def send(self, part: DiscordRequest, timeout_seconds: float) -> Receipt:
        ends_at = time.monotonic() + timeout_seconds
        contents = [await read_file(self._files, one, ends_at - time.monotonic()) for one in part.files]
        channel_id = await self._channel_id(part.place, ends_at - time.monotonic())
        made, path = form(part, contents) if contents else part.body, f"channels/{channel_id}/{part.path}"
        answer = await self._request(part.method, path, ends_at - time.monotonic(), made)
        if part.act is not ReceiptKind.DELETE or answer.told.get("code") != _GONE:
            try:
                self._api.checked(answer, part.private)
            except ValidationError:
                self._direct.pop(part.place, None)
                raise
        return receipt_of(part, channel_id, _message_id(part, answer))

    async def answer_press(
        self, callback_id: str, text: str = "", *, alert: bool = False, timeout_seconds: float = _PRESS_SECONDS
    ) -> bool:
        """The words are for the eyes of the one who pressed only; the address of the answer needs no token of ours."""
        number, _, token = callback_id.partition(":")
        words = {"content": shown_beginning(text), "flags": _EPHEMERAL, "allowed_mentions": NO_MENTIONS}
        body: JsonBody = {"type": _WORDS, "data": words} if text.strip() else {"type": _NO_WORDS}
        path = f"interactions/{number}/{token}/callback"

        async def answered() -> None:
            self._api.checked(await self._api.request("POST", path, timeout_seconds, body), [token, text])

        return await press_answered("discord", answered())

    async def bring_files(self, message: InboundMessage, timeout_seconds: float) -> Sequence[InboundFile]:
        """They lie at Discord's own addresses, which are signed and need no token."""
        ends_at = time.monotonic() + timeout_seconds
        return [
            await self._api.fetched(one, ends_at - time.monotonic())
            if is_at(one.reference, "discordapp.com", "discordapp.net", "discord.com", self._api.host)
            else replace(one, problem="it lies at another service")
            for one in message.offers
        ]

    async def show_work(self, place: str, message_id: str, timeout_seconds: float) -> bool:
        """Typing, as Discord shows it for ten seconds."""
        return await worked(self._type(place, timeout_seconds))

    async def probe(self, timeout_seconds: float) -> str:
        bot = await self._ask("GET", "users/@me", timeout_seconds)
        return f"@{self._api.shown(bot.get('username'))}"

    async def listen(self, position: int | None, timeout_seconds: float) -> Listened:
        return await self._gateway.listen(position, timeout_seconds)

    async def close(self) -> None:
        await self._gateway.close()
        await self._api.close()

    async def _type(self, place: str, timeout_seconds: float) -> None:
        channel_id = await self._channel_id(place, timeout_seconds)
        self._api.checked(await self._request("POST", f"channels/{channel_id}/typing", timeout_seconds))

    async def _gateway_start(self, timeout_seconds: float) -> GatewayStart:
        told = await self._ask("GET", "gateway/bot", timeout_seconds)
        url, limit = told.get("url"), told.get("session_start_limit")
        if not isinstance(url, str):
            raise TargetUnavailable("Discord named no gateway")
        if not isinstance(limit, Mapping) or not isinstance(left := limit.get("remaining"), int):
            return GatewayStart(url=url)
        wait = limit.get("reset_after")
        return GatewayStart(
            url=url, sessions_left=left, reset_after_seconds=wait / 1000 if isinstance(wait, int) else 0.0
        )

    async def _channel_id(self, place: str, timeout_seconds: float) -> str:
        """To open a direct channel sends nothing, and one that is open is found again."""
        if not place.startswith(USER):
            return place
        if place not in self._direct:
            body = {"recipient_id": place.removeprefix(USER)}
            told = await self._question("POST", "users/@me/channels", timeout_seconds, body)
            if (channel_id := snowflake(told.get("id"))) is None:
                raise TargetUnavailable("Discord named no channel for this person")
            self._direct[place] = channel_id
        return self._direct[place]

    async def _ask(self, method: str, path: str, timeout_seconds: float) -> JsonObject:
        return await blameless(self._question(method, path, timeout_seconds))

    async def _question(
        self, method: str, path: str, timeout_seconds: float, body: JsonObject | None = None
    ) -> JsonObject:
        return self._api.checked(await asked(self._request(method, path, timeout_seconds, body))).told

    async def _request(
        self, method: str, path: str, timeout_seconds: float, body: JsonObject | MultipartForm | None = None
    ) -> HttpAnswer:
        left_seconds = await self._in_turn(method, path, timeout_seconds)
        as_bot = {"Authorization": f"Bot {self._token}"}
        return self._noted(method, path, await self._api.request(method, path, left_seconds, body, headers=as_bot))

    async def _in_turn(self, method: str, path: str, timeout_seconds: float) -> float:
        """Waits until Discord takes more there, as it said it would not; what is left of the time."""
        wait = self._full_until.get(_counted(method, path), 0.0) - self._monotonic()
        if wait <= 0:
            return timeout_seconds
        if wait >= timeout_seconds:
            raise ProviderThrottled(f"Discord takes no more there for {wait:.0f} s", retry_after_seconds=wait)
        await self._rest(wait)
        return timeout_seconds - wait

    def _noted(self, method: str, path: str, answer: HttpAnswer) -> HttpAnswer:
        now = self._monotonic()
        self._full_until = {counted: until for counted, until in self._full_until.items() if until > now}
        if answer.headers.get("X-RateLimit-Remaining") == "0":
            pause = wait_seconds(None, answer.headers.get("X-RateLimit-Reset-After"), self._now())
            self._full_until[_counted(method, path)] = now + pause
        return answer


_GONE: Final = 10008


def _counted(method: str, path: str) -> str:
    """Discord counts for each method and room, whichever message it is about."""
    return f"{method} " + re.sub(r"^(channels/\d+/\w+)/.+", r"\1/…", path)


def _check(bot_token: str) -> None:
    if bot_token.startswith("Bot "):
        raise ValueError("the Discord bot token must be given without the word Bot before it")
    if not _TOKEN.fullmatch(bot_token):
        raise ValueError("the Discord bot token is malformed")


def _message_id(part: DiscordRequest, answer: HttpAnswer) -> str:
    """A reaction and a deletion are answered by silence, anything else by the message."""
    if part.act in (ReceiptKind.REACTION, ReceiptKind.DELETE):
        return part.about
    if (number := snowflake(answer.told.get("id"))) is None:
        raise OutcomeUncertain("Discord accepted the request but named no message")
    return number
