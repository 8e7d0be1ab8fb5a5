"""Sessions of the console that live no longer than the tokens they came from."""

from __future__ import annotations

from dataclasses import dataclass

from postroom.domain.console_session import ConsoleSession
from postroom.doors.console.ports import ConsoleSessions
from postroom.doors.guard.tokens import TokenFile


@dataclass(frozen=True, slots=True)
class TokenSessions:
    """Asks the token file at every request, so that a revoked token counts at once, whoever revoked it and how."""

    stored: ConsoleSessions
    tokens: TokenFile

    async def redeem(self, link_secret: str, now_us: int) -> str | None:
        secret = await self.stored.redeem(link_secret, now_us)
        return secret if secret and await self.find(secret, now_us) else None

    async def find(self, secret: str, now_us: int) -> ConsoleSession | None:
        session = await self.stored.find(secret, now_us)
        return session if session and self.tokens.still_holds(session.token_ids) else None

    async def end(self, secret: str, now_us: int) -> None:
        await self.stored.end(secret, now_us)
