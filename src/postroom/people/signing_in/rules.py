"""Who may sign in at the console, by which link, and the secrets that prove it: only digests are stored."""

from __future__ import annotations

import hashlib
import hmac
import secrets
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

from postroom.kernel.guard.tokens import TokenFile
from postroom.kernel.values.principal import OPERATOR, OWNER, Principal, Role
from postroom.people.model import Person, PersonAddress, PersonRole

ROOT: Final = "/console"  # where on its port the console lives
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
    """
    Who comes in, with what they hold, how, and from where; `credential` is the passkey they showed.

    The session lasts no longer than each of these tokens.
    """

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


# Who may come in, as whom, and for how long: roles, tokens and invitations together.

SIGNING_IN: Final = (PersonRole.OWNER, PersonRole.APPROVER, PersonRole.MEMBER)


def admitted(person: Person, tokens: TokenFile, *, is_invited: bool) -> SignIn | None:
    """
    As whom a person comes in; None for a contact, and for one who has neither a token nor an invitation.

    Who holds only a token for an inbox comes in as that, and decides no more than it does.
    """
    if person.role not in SIGNING_IN:
        return None
    if person.role is PersonRole.OWNER:
        return SignIn(principal=OPERATOR, token_ids=tokens.ids_of(OPERATOR))
    own, inbox = Principal(Role.PERSON, person.id), Principal(Role.USER, person.id)
    if (ids := tokens.ids_of(own)) or is_invited:
        return SignIn(principal=own, token_ids=ids)
    ids = tokens.ids_of(inbox)
    return SignIn(principal=inbox, token_ids=ids) if ids else None


def may_stay(session: ConsoleSession, *, tokens_hold: bool) -> bool:
    """Asked at every request: a revoked token, another role, a removed person or invitation ends it at once."""
    if session.role_now is PersonRole.CONTACT:
        return False
    if session.role_then is not None and session.role_now is not session.role_then:
        return False
    if session.token_ids:
        return tokens_hold
    return session.role_then is not None and session.is_invited


def where_to_write(person: Person, typed: str, channels: Sequence[str]) -> PersonAddress | None:
    """Only to a verified address on a channel that is set up: the one that was typed, else the first."""
    usable = [one for one in person.addresses if one.verified_at_us and not one.closed and one.channel in channels]
    wanted = typed.strip().casefold()
    named = [one for one in usable if one.address.casefold() == wanted]
    return min(named or usable, key=lambda one: one.rank, default=None)


# A link that a person asked for, or was invited by: through delivery, and only so many.

SIGN_IN_ORIGIN: Final = "console.sign-in"  # no butler's name has a dot
MOST_OPEN: Final = 3  # of one person
MOST_OF_PERSON: Final = 5  # within an hour
MOST_OF_SENDER: Final = 20  # within an hour, whomever they name


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkWish:
    """Whom it signs in, and where it is sent."""

    sign_in: SignIn
    channel: str
    address: str
