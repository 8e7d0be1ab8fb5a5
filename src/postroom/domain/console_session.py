"""Who is signed in at the console, and the secrets that prove it: only their digests are ever stored."""

from __future__ import annotations

import hashlib
import hmac
import secrets
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

from postroom.domain.person import PersonRole
from postroom.domain.principal import OPERATOR, OWNER, Principal, Role

LINK_LIFE_SECONDS: Final = 600.0
SESSION_LIFE_SECONDS: Final = 24 * 3600.0
_BYTES: Final = 32
_LONGEST: Final = 128


class SignInWay(StrEnum):
    """How a person came in."""

    TERMINAL = "terminal"  # a link that a command printed
    INVITATION = "invitation"  # a link the owner made for them
    LINK = "link"  # a link they asked for, good in the browser that asked
    PASSKEY = "passkey"


@dataclass(frozen=True, slots=True, kw_only=True)
class SignIn:
    """Who comes in, with what they hold, how, and from where; `credential` is the passkey they showed."""

    principal: Principal
    token_ids: tuple[str, ...]
    way: SignInWay = SignInWay.TERMINAL
    device: str = ""
    credential: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsoleSession:
    """`role_then` is what the person was when they signed in, `role_now` what they are; None: there is no record."""

    principal: Principal
    expires_at_us: int
    token_ids: tuple[str, ...]  # what the principal could show when signing in; revoking any of them ends the session
    name: str = ""
    role_then: PersonRole | None = None
    role_now: PersonRole | None = None
    is_invited: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenSession:
    """One of a person's sessions, as they know it again; `id` is the beginning of its digest."""

    id: str
    way: str
    device: str
    created_at_us: int
    expires_at_us: int


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkToSend:
    """The secret stands in the link and is kept nowhere."""

    digest: str
    secret: str = field(repr=False)
    way: SignInWay
    channel: str
    address: str


def person_of(principal: Principal) -> str:
    """The id of the person who signs in as this principal."""
    return OWNER if principal.role is Role.OPERATOR else principal.name


def principal_of(person_id: str) -> Principal:
    return OPERATOR if person_id == OWNER else Principal(Role.PERSON, person_id)


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
