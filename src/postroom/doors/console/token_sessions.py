"""Sessions of the console that live no longer than what they stand on: tokens, a role, an invitation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from postroom.domain.console_session import ConsoleSession, OpenSession, SignIn
from postroom.domain.principal import Principal
from postroom.doors.console.ports import KeptSessions
from postroom.doors.guard.tokens import TokenFile
from postroom.work.people.may_sign_in import may_stay


@dataclass(frozen=True, slots=True)
class TokenSessions:
    """Asks the token file and the person's record at every request, so that what was taken away counts at once."""

    stored: KeptSessions
    tokens: TokenFile

    async def redeem(self, link_secret: str, now_us: int, *, browser: str = "", device: str = "") -> str | None:
        secret = await self.stored.redeem(link_secret, now_us, browser=browser, device=device)
        return secret if secret and await self.find(secret, now_us) else None

    async def is_for_another_browser(self, link_secret: str, browser: str, now_us: int) -> bool:
        return await self.stored.is_for_another_browser(link_secret, browser, now_us)

    async def begin(self, sign_in: SignIn, now_us: int) -> str | None:
        secret = await self.stored.begin(sign_in, now_us)
        return secret if await self.find(secret, now_us) else None

    async def find(self, secret: str, now_us: int) -> ConsoleSession | None:
        session = await self.stored.find(secret, now_us)
        holds = session is not None and self.tokens.still_holds(session.token_ids)
        return session if session and may_stay(session, tokens_hold=holds) else None

    async def end(self, secret: str, now_us: int) -> None:
        await self.stored.end(secret, now_us)

    async def end_all(self, principal: Principal, now_us: int, *, but: str = "") -> int:
        return await self.stored.end_all(principal, now_us, but=but)

    async def end_one(self, person_id: str, session_id: str, now_us: int) -> bool:
        return await self.stored.end_one(person_id, session_id, now_us)

    async def open_of(self, person_id: str, now_us: int) -> Sequence[OpenSession]:
        return await self.stored.open_of(person_id, now_us)
