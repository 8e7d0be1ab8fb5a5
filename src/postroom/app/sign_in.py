"""The link that signs a person in to the console, once."""

from __future__ import annotations

from postroom.domain.principal import Principal
from postroom.doors.console.root import ROOT
from postroom.doors.guard.tokens import TokenFile
from postroom.world.store.engine.database import Database
from postroom.world.store.shared.console_sessions import StoredConsoleSessions


async def sign_in_link(database: Database, tokens: TokenFile, base_url: str, principal: Principal, now_us: int) -> str:
    secret = await StoredConsoleSessions(database).invite(principal, now_us, token_ids=tokens.ids_of(principal))
    return f"{base_url}{ROOT}/login?key={secret}"
