"""The access token of a mailbox: renewed before it ends, and at once when a server refuses it."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Final

from postroom.domain.errors import CredentialsRefused
from postroom.world.channels.mail_oauth.grant import Grant, GrantFile
from postroom.world.channels.mail_oauth.provider import OauthProvider
from postroom.world.channels.mail_oauth.token_answer import ask, granted

_EARLY_SECONDS: Final = 120.0


class MailAccess:
    """Shared by sending and listening; of those who ask at the same time one asks the provider."""

    def __init__(
        self, file: GrantFile, provider: OauthProvider, account: str, now: Callable[[], float] = time.time
    ) -> None:
        self._file = file
        self._provider = provider
        self._again = f"run `postroom login-mail {account}`"
        self._now = now
        self._lock = asyncio.Lock()

    async def token(self, *, refused: str | None = None) -> str:
        """Another one than `refused`. Raises CredentialsRefused when a person has to log in again."""
        async with self._lock:
            grant = await asyncio.to_thread(self._file.read)
            if grant is None:
                raise CredentialsRefused(f"no access to this mailbox has been granted yet: {self._again}")
            if self._is_good(grant, refused):
                return grant.access_token
            return await self._renewed(refused)

    def _is_good(self, grant: Grant, refused: str | None) -> bool:
        return grant.access_token not in ("", refused) and grant.expires_at - _EARLY_SECONDS > self._now()

    async def _renewed(self, refused: str | None) -> str:
        """Another process may have done it while we waited for the lock."""
        held = self._file.alone()
        await asyncio.to_thread(held.__enter__)
        try:
            grant = await asyncio.to_thread(self._file.read)
            if grant is None:
                raise CredentialsRefused(f"no access to this mailbox has been granted yet: {self._again}")
            if not self._is_good(grant, refused):
                grant = await self._asked(grant)
                await asyncio.to_thread(self._file.write, grant)
            return grant.access_token
        finally:
            await asyncio.to_thread(held.__exit__, None, None, None)

    async def _asked(self, grant: Grant) -> Grant:
        """Microsoft gives another refresh token each time, and the old one ends some day."""
        fields = {"grant_type": "refresh_token", "refresh_token": grant.refresh_token, "client_id": grant.client_id}
        if grant.client_secret:
            fields["client_secret"] = grant.client_secret
        if self._provider.name == "microsoft":
            fields["scope"] = " ".join(self._provider.scopes)
        told = granted(
            self._provider.title, await ask(self._provider.title, self._provider.token_url, fields), self._again
        )
        return replace(
            grant,
            access_token=told.access_token,
            refresh_token=told.refresh_token or grant.refresh_token,
            expires_at=self._now() + told.lasts_seconds,
        )


def xoauth2(user: str, token: str) -> bytes:
    return f"user={user}\x01auth=Bearer {token}\x01\x01".encode()
