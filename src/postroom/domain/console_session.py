"""Who is signed in at the console, and the secrets that prove it: only their digests are ever stored."""

from __future__ import annotations

import hashlib
import hmac
import secrets
from dataclasses import dataclass
from typing import Final

from postroom.domain.principal import Principal

LINK_LIFE_SECONDS: Final = 600.0
SESSION_LIFE_SECONDS: Final = 24 * 3600.0
_BYTES: Final = 32
_LONGEST: Final = 128


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsoleSession:
    principal: Principal
    expires_at_us: int
    token_ids: tuple[str, ...]  # what the principal could show when signing in; revoking any of them ends the session


def new_secret() -> str:
    return secrets.token_urlsafe(_BYTES)


def digest(secret: str) -> str:
    """What is kept of a link or a session: enough to know it again, not enough to use it."""
    return hashlib.sha256(secret[:_LONGEST].encode("utf-8", "surrogatepass")).hexdigest()


def form_token(secret: str) -> str:
    """Goes into every form of a session; nobody can work it out without the cookie, or the cookie from it."""
    return hmac.new(secret.encode("utf-8", "surrogatepass"), b"postroom console form", hashlib.sha256).hexdigest()


def is_form_token(secret: str, token: str) -> bool:
    return hmac.compare_digest(form_token(secret).encode(), token.encode("utf-8", "surrogatepass"))
