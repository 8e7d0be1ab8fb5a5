"""The Bot API's webhooks: updates brought to the bot's address one by one, again and again until it takes them."""

from __future__ import annotations

import asyncio
import re
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Final
from urllib.parse import urlsplit

import aiohttp

from postroom.domain.ports import Clock
from postroom.domain.time import SECOND_US, seconds
from postroom.programs.sandbox.arguments import Arguments, bad_request
from postroom.programs.sandbox.guard import is_loopback
from postroom.programs.sandbox.telegram_ledger import TelegramLedger
from postroom.system.signal import Signal

SECRET_HEADER: Final = "X-Telegram-Bot-Api-Secret-Token"  # noqa: S105 - the name of it
_DEFAULT_CONNECTIONS: Final = 40
_ANSWER_SECONDS: Final = 10.0
_FIRST_PAUSE_SECONDS: Final = 0.25
_LONGEST_PAUSE_SECONDS: Final = 5.0
_SECRET: Final = re.compile(r"[A-Za-z0-9_-]{1,256}")


@dataclass(slots=True, kw_only=True)
class SetWebhook:
    url: str
    secret: str = field(default="", repr=False)
    connections: int = _DEFAULT_CONNECTIONS
    kinds: tuple[str, ...]
    error: str = ""
    error_us: int = 0
    task: asyncio.Task[None] | None = None


class BotWebhooks:
    def __init__(self, ledger: TelegramLedger, clock: Clock, news: Signal) -> None:
        self._ledger = ledger
        self._clock = clock
        self._news = news
        self._set: dict[str, SetWebhook] = {}

    def is_set(self, bot: str) -> bool:
        return bot in self._set

    async def set(self, given: Arguments, bot: str, kinds: tuple[str, ...]) -> bool:
        url = given.text("url")
        if not url:
            return await self.delete(given, bot)
        hook = SetWebhook(url=_checked(url), secret=_secret(given), connections=_connections(given), kinds=kinds)
        await self._end(bot)
        self._drop(given, bot)
        self._set[bot] = hook
        hook.task = asyncio.create_task(self._bring(bot, hook))
        return True

    async def delete(self, given: Arguments, bot: str) -> bool:
        await self._end(bot)
        self._drop(given, bot)
        return True

    def info(self, bot: str) -> dict[str, Any]:
        hook, waiting = self._set.get(bot), self._ledger.waiting_updates(now_us=self._clock.now_us(), bot=bot)
        told = {"url": hook.url if hook else "", "has_custom_certificate": False, "pending_update_count": waiting}
        if hook is None:
            return told
        told |= {"max_connections": hook.connections, "allowed_updates": list(hook.kinds)}
        if hook.error:
            told |= {"last_error_date": hook.error_us // SECOND_US, "last_error_message": hook.error}
        return told

    async def close(self) -> None:
        for bot in list(self._set):
            await self._end(bot)

    async def _end(self, bot: str) -> None:
        hook = self._set.pop(bot, None)
        if hook is not None and hook.task is not None:
            hook.task.cancel()
            with suppress(asyncio.CancelledError):
                await hook.task

    def _drop(self, given: Arguments, bot: str) -> None:
        if given.raw("drop_pending_updates") in (True, "true", "True", "1"):
            self._ledger.drop_updates(bot)

    def _fetched(self, bot: str, kinds: tuple[str, ...], offset: int = 0) -> list[dict[str, Any]]:
        return self._ledger.updates(offset=offset, limit=1, kinds=kinds, now_us=self._clock.now_us(), bot=bot)

    def _confirm(self, bot: str, number: int) -> None:
        self._fetched(bot, (), offset=number + 1)

    async def _bring(self, bot: str, hook: SetWebhook) -> None:
        pause = _FIRST_PAUSE_SECONDS
        timeout = aiohttp.ClientTimeout(total=_ANSWER_SECONDS)
        async with aiohttp.ClientSession(timeout=timeout) as http:
            while True:
                news = self._news.news()
                found = self._fetched(bot, hook.kinds)
                if not found:
                    await self._clock.wait(news, None)
                elif error := await _brought(http, hook, found[0]):
                    hook.error, hook.error_us = error, self._clock.now_us()
                    await self._clock.wait(asyncio.Event(), self._clock.now_us() + seconds(pause))
                    pause = min(2 * pause, _LONGEST_PAUSE_SECONDS)
                else:
                    self._confirm(bot, found[0]["update_id"])
                    pause = _FIRST_PAUSE_SECONDS


async def _brought(http: aiohttp.ClientSession, hook: SetWebhook, update: dict[str, Any]) -> str:
    """What went wrong; empty when the bot took it."""
    headers = {SECRET_HEADER: hook.secret} if hook.secret else {}
    try:
        async with http.post(hook.url, json=update, headers=headers, allow_redirects=False) as answer:
            if 200 <= answer.status < 300:
                return ""
            return f"Wrong response from the webhook: {answer.status} {answer.reason}"
    except (aiohttp.ClientError, OSError):
        return "Connection refused"
    except TimeoutError:
        return "Read timeout expired"


def _checked(url: str) -> str:
    """Telegram wants TLS; here, where nothing leaves the machine, plain HTTP to this machine will do."""
    parts = urlsplit(url)
    if not parts.hostname:
        raise bad_request("bad webhook: invalid URL specified")
    if parts.scheme != "http" or not is_loopback(parts.hostname):
        raise bad_request("bad webhook: the sandbox brings updates to http:// addresses of this machine only")
    return url


def _secret(given: Arguments) -> str:
    secret = given.text("secret_token")
    if secret and not _SECRET.fullmatch(secret):
        raise bad_request("secret token contains unallowed characters")
    return secret


def _connections(given: Arguments) -> int:
    return min(max(given.integer("max_connections", _DEFAULT_CONNECTIONS), 1), 100)
