"""Who may sign in at the console, by which link, and the secrets that prove it: only digests are stored."""

from __future__ import annotations

import hashlib
import hmac
import secrets
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final, Protocol

from postroom.kernel.guard.http import ROOT
from postroom.kernel.guard.tokens import TokenFile
from postroom.kernel.running.clock import Clock
from postroom.kernel.values.ids import seconds
from postroom.kernel.values.principal import HOUSEHOLD_OWNER, OPERATOR, OWNER, Principal, Role
from postroom.message.channel import Capabilities, Outbound
from postroom.message.delivery import Priority
from postroom.message.outgoing import Outgoing
from postroom.people.model import Person, PersonAddress, PersonRole

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


# Who may come in, as whom, and for how long: roles, tokens and invitations together.

SIGNING_IN: Final = (PersonRole.OWNER, PersonRole.APPROVER, PersonRole.MEMBER)


class HeldTokens(Protocol):
    def ids_of(self, principal: Principal) -> tuple[str, ...]: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Admitted:
    """As whom a person comes in; the session lasts no longer than each of these tokens."""

    principal: Principal
    token_ids: tuple[str, ...]


def admitted(person: Person, tokens: HeldTokens, *, is_invited: bool) -> Admitted | None:
    """
    None for a contact, and for one who has neither a token nor an invitation.

    Who holds only a token for an inbox comes in as that, and decides no more than it does.
    """
    if person.role not in SIGNING_IN:
        return None
    if person.role is PersonRole.OWNER:
        return Admitted(principal=OPERATOR, token_ids=tokens.ids_of(OPERATOR))
    own, inbox = Principal(Role.PERSON, person.id), Principal(Role.USER, person.id)
    if (ids := tokens.ids_of(own)) or is_invited:
        return Admitted(principal=own, token_ids=ids)
    ids = tokens.ids_of(inbox)
    return Admitted(principal=inbox, token_ids=ids) if ids else None


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


# The link that signs a person in, once.


class Invitations(Protocol):
    async def invite(self, principal: Principal, now_us: int, *, token_ids: Sequence[str]) -> str:
        """The secret of a link that works once."""
        ...


async def sign_in_link(
    invitations: Invitations, tokens: TokenFile, base_url: str, principal: Principal, now_us: int
) -> str:
    secret = await invitations.invite(principal, now_us, token_ids=tokens.ids_of(principal))
    return f"{base_url}{ROOT}/login?key={secret}"


# “Send me a link”: found, limited, sent through delivery; to a stranger it looks the same whatever came of it.

SIGN_IN_ORIGIN: Final = "console.sign-in"  # no butler's name has a dot
MOST_OPEN: Final = 3  # of one person
MOST_OF_PERSON: Final = 5  # within an hour
MOST_OF_SENDER: Final = 20  # within an hour, whomever they name


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkWish:
    """Whom it signs in, and where it is sent."""

    person_id: str
    principal: Principal
    token_ids: tuple[str, ...]
    channel: str
    address: str
    way: SignInWay


_SWEEP_SECONDS: Final = 5.0  # for what another process asked us to send
_SIGN_IN_LINKS_LONGEST: Final = 320
_SUBJECT: Final = "Your link to the console"
_ASKED: Final = """\
A link to sign in to the console was asked for. It works once, for ten minutes, in the browser that asked for it:

{link}

If it was not you, do nothing: without that browser the link is of no use."""
_INVITED: Final = """\
You are invited to sign in to the console of this household. The link works once, for ten minutes:

{link}

There you can register a passkey, so that the next time needs no link."""


class Everybody(Protocol):
    async def find(self, owner_agent: str, who: str) -> Sequence[Person]: ...

    async def at(self, owner_agent: str, channel: str, address: str) -> Sequence[Person]: ...


class LinkStore(Protocol):
    async def is_invited(self, person_id: str) -> bool: ...

    async def ask(self, wish: LinkWish | None, *, sender: str, browser: str, now_us: int) -> None: ...

    async def send(self, wish: LinkWish, now_us: int) -> None: ...


class LinkQueue(Protocol):
    async def take(self, now_us: int) -> Sequence[LinkToSend]: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class SignInLinks:
    """`channels` are those that are set up; `ring` wakes the one who sends."""

    people: Everybody
    store: LinkStore
    tokens: HeldTokens
    channels: Sequence[str]
    ring: Callable[[], object] = lambda: None

    async def ask(self, who: str, *, sender: str, browser: str, now_us: int) -> None:
        """The same steps for everybody who is named, known or not."""
        typed = who.strip()[:_SIGN_IN_LINKS_LONGEST]
        wish = await self._wish(await self._named(typed), typed, SignInWay.LINK)
        await self.store.ask(wish, sender=sender, browser=browser, now_us=now_us)
        self.ring()

    async def send_invitation(self, person: Person, now_us: int) -> bool:
        """False when there is no verified address to send it to."""
        wish = await self._wish(person, "", SignInWay.INVITATION)
        if wish is None:
            return False
        await self.store.send(wish, now_us)
        self.ring()
        return True

    async def _named(self, typed: str) -> Person | None:
        """Exactly one person, by name, alias, id or address; a name that several have is no one's."""
        found = {one.id: one for one in await self.people.find(HOUSEHOLD_OWNER, typed)} if typed else {}
        for channel in self.channels:
            for one in await self.people.at(HOUSEHOLD_OWNER, channel, typed) if typed else ():
                if where_to_write(one, typed, self.channels) is not None:
                    found.setdefault(one.id, one)
        return next(iter(found.values())) if len(found) == 1 else None

    async def _wish(self, person: Person | None, typed: str, way: SignInWay) -> LinkWish | None:
        is_invited = await self.store.is_invited(person.id if person else "")
        coming = admitted(person, self.tokens, is_invited=is_invited) if person else None
        place = where_to_write(person, typed, self.channels) if person else None
        if person is None or coming is None or place is None:
            return None
        return LinkWish(
            person_id=person.id,
            principal=coming.principal,
            token_ids=coming.token_ids,
            channel=place.channel,
            address=place.address,
            way=way,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class SignInPost:
    """Runs where deliveries are made; what cannot be sent is asked for again by the person."""

    queue: LinkQueue
    outbound: Outbound
    channels: Callable[[str], Capabilities | None]
    clock: Clock
    base_url: str

    async def look(self) -> int:
        """One round of a loop; when the next is due."""
        now_us = self.clock.now_us()
        for one in await self.queue.take(now_us):
            await self.outbound.submit(self.letter(one), request_id=one.digest[:32], wait_seconds=0)
        return now_us + seconds(_SWEEP_SECONDS)

    def letter(self, one: LinkToSend) -> Outgoing:
        can = self.channels(one.channel)
        body = _INVITED if one.way is SignInWay.INVITATION else _ASKED
        return Outgoing(
            origin_butler=SIGN_IN_ORIGIN,
            idempotency_key=f"sign-in:{one.digest[:32]}",
            channel=one.channel,
            recipient=one.address,
            subject=_SUBJECT if can is not None and can.style == "letter" else None,
            message=body.format(link=f"{self.base_url}/console/login?key={one.secret}"),
            priority=Priority.HIGH,
            released=True,
        )
