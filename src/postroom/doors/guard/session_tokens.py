"""Short-lived tokens for the model of a butler: one per session, dead when the session is."""

from __future__ import annotations

import hashlib
import secrets

from postroom.domain.principal import Principal, Role
from postroom.domain.session_id import SessionId
from postroom.domain.session_principal import SessionPrincipal
from postroom.doors.guard.http import Verifier


class SessionTokens:
    """
    The tokens of one butler's sessions, in front of the household's own.

    They are kept in memory only, by digest, so whatever a session left behind
    is worthless in the next process, and every other server of the household,
    which does not ask here, refuses them.
    """

    def __init__(self, butler: str, household: Verifier) -> None:
        self._butler = butler
        self._household = household
        self._by_digest: dict[bytes, SessionPrincipal] = {}

    def verify(self, token: str) -> Principal | None:
        if self._by_digest and (session := self._by_digest.get(_digest(token))):
            return session
        return self._household.verify(token)

    def mint(self, session_id: SessionId) -> str:
        token = f"pr_session_{secrets.token_urlsafe(32)}"
        self._by_digest[_digest(token)] = SessionPrincipal(Role.BUTLER, self._butler, session_id)
        return token

    def end(self, token: str) -> None:
        self._by_digest.pop(_digest(token), None)


def _digest(token: str) -> bytes:
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).digest()
