"""The link that signs a person in to the console, once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from postroom.domain.principal import Principal
from postroom.doors.console.root import ROOT
from postroom.doors.guard.tokens import TokenFile


class Invitations(Protocol):
    async def invite(self, principal: Principal, now_us: int, *, token_ids: Sequence[str]) -> str:
        """The secret of a link that works once."""
        ...


async def sign_in_link(
    invitations: Invitations, tokens: TokenFile, base_url: str, principal: Principal, now_us: int
) -> str:
    secret = await invitations.invite(principal, now_us, token_ids=tokens.ids_of(principal))
    return f"{base_url}{ROOT}/login?key={secret}"
