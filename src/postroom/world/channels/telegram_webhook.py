"""Telegram's webhook: the address it brings updates to, set once, looked after, and taken away on the way back."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final
from urllib.parse import urlsplit

from postroom.domain.errors import PostroomError
from postroom.domain.push_state import PushState
from postroom.domain.time import seconds
from postroom.world.channels.provider_words import provider_words

_MOST_CONNECTIONS: Final = 10  # each of them stores one update; 40 is Telegram's own choice
_SECRET = re.compile(r"[A-Za-z0-9_-]{1,256}")

Ask = Callable[[str, Mapping[str, Any], float], Awaitable[Mapping[str, Any]]]


@dataclass(frozen=True, slots=True, kw_only=True)
class TelegramHook:
    """Where updates are to be brought, and the secret that comes along with each of them."""

    url: str
    secret: str = field(repr=False)

    def __post_init__(self) -> None:
        if not _SECRET.fullmatch(self.secret):
            raise ValueError("a webhook's secret is 1 to 256 of A-Z a-z 0-9 _ -")


def path_of(account: str) -> str:
    """Where an account's updates are taken, on the API port."""
    return f"/channels/{account}/webhook"


def hook_url(base: str, account: str) -> str:
    """The whole address, whether or not the settings name its end."""
    base = base.rstrip("/")
    return base if base.endswith(path_of(account)) else base + path_of(account)


@dataclass(frozen=True, slots=True, kw_only=True)
class HookInfo:
    url: str
    state: PushState


def hook_info(told: Mapping[str, Any], secrets: Sequence[str] = ()) -> HookInfo:
    result = told.get("result")
    info = result if isinstance(result, Mapping) else {}
    waiting, error_at, url = (info.get(one) for one in ("pending_update_count", "last_error_date", "url"))
    state = PushState(
        waiting=waiting if isinstance(waiting, int) else 0,
        error=provider_words(info.get("last_error_message"), secrets=secrets) if error_at else "",
        error_at_us=seconds(error_at) if isinstance(error_at, int) else 0,
    )
    return HookInfo(url=url if isinstance(url, str) else "", state=state)


class HookKeeper:
    """Of one bot; `ask` makes a call of the Bot API."""

    def __init__(self, hook: TelegramHook, ask: Ask, kinds: Sequence[str]) -> None:
        self._hook = hook
        self._ask = ask
        self._kinds = kinds
        self._is_set = False

    @property
    def url(self) -> str:
        return self._hook.url

    async def info(self, timeout_seconds: float) -> HookInfo:
        return hook_info(await self._ask("getWebhookInfo", {}, timeout_seconds), [self._hook.secret])

    async def kept(self, timeout_seconds: float) -> HookInfo:
        """Set once in every life of ours, for the secret cannot be read back; and when it was taken away."""
        if not self._is_set:
            await self._set(timeout_seconds)
        info = await self.info(timeout_seconds)
        self._is_set = bool(info.url)
        return info

    def is_ours(self, info: HookInfo) -> bool:
        return info.url in ("", self._hook.url)

    async def _set(self, timeout_seconds: float) -> None:
        body = {
            "url": self._hook.url,
            "secret_token": self._hook.secret,
            "allowed_updates": list(self._kinds),
            "max_connections": _MOST_CONNECTIONS,
        }
        await self._ask("setWebhook", body, timeout_seconds)
        self._is_set = True


async def took_away_own(account: str, ask: Ask, timeout_seconds: float) -> bool:
    """On the way back to asking: only what this household set, by its path; another program's webhook stays."""
    try:
        url = hook_info(await ask("getWebhookInfo", {}, timeout_seconds)).url
    except PostroomError:  # then nothing better is known than the refusal itself
        return False
    if not urlsplit(url).path.endswith(path_of(account)):
        return False
    await ask("deleteWebhook", {"drop_pending_updates": False}, timeout_seconds)
    return True
