"""Who may come in to the console, as whom, and for how long: roles, tokens and invitations together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Protocol

from postroom.domain.console_session import ConsoleSession
from postroom.domain.person import Person, PersonAddress, PersonRole
from postroom.domain.principal import OPERATOR, Principal, Role

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
