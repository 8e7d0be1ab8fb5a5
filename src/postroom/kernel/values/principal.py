"""Who is calling, for whom, and under which key: always from a verified token, never from what a payload claims."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final, NewType, assert_never

from postroom.kernel.values.errors import Code, FieldError, Refused

# Addresses of agents: agent:// and one to three names.

SCHEME: Final = "agent://"
_HOUSEHOLD_PREFIX: Final = "agent://household/"
HOUSEHOLD_OWNER: Final = "agent://household/owner"
BUTLER_PREFIX: Final = "agent://butler/"
CONTACT_PREFIX: Final = "agent://contact/"
USER_PREFIX: Final = "agent://user/"

_NAME = r"[a-z0-9](?:[a-z0-9._-]{0,61}[a-z0-9])?"
_ADDRESS = re.compile(rf"agent://{_NAME}(?:/{_NAME}){{0,2}}")
_USER_NAME = re.compile(_NAME)
_NOT_A_NAME = re.compile(r"[^a-z0-9._-]+")
_READABLE_CHARACTERS = 40
_MARK_CHARACTERS = 16


def parse_address(text: str) -> str | None:
    """The address as it is kept, or None when it is not one."""
    candidate = text.strip().lower()
    return candidate if _ADDRESS.fullmatch(candidate) else None


def butler_name(address: str) -> str | None:
    return address.removeprefix(BUTLER_PREFIX) if address.startswith(BUTLER_PREFIX) else None


def _is_of_people(address: str) -> bool:
    """Whether the address is of a kind that only people have."""
    return address.startswith((_HOUSEHOLD_PREFIX, USER_PREFIX, CONTACT_PREFIX))


def user_address(user_id: str) -> str:
    """A user's own address; an id that cannot stand in one as it is gets a mark that tells it from all others."""
    if _USER_NAME.fullmatch(user_id):
        return USER_PREFIX + user_id
    readable = _NOT_A_NAME.sub("-", user_id.lower()).strip("._-")[:_READABLE_CHARACTERS]
    mark = hashlib.sha256(user_id.encode("utf-8", "surrogatepass")).hexdigest()[:_MARK_CHARACTERS]
    return f"{USER_PREFIX}{readable}-{mark}" if readable else USER_PREFIX + mark


# Who is calling.

# Inside one process there is no HTTP header, so the token rides in the call's metadata.
TOKEN_META: Final = "postroom/token"  # noqa: S105  # the name of a field, not a secret

# Where a request carries its caller, once the guard has looked at the token.
PRINCIPAL: Final = "postroom.principal"


class Role(StrEnum):
    BUTLER = "butler"
    USER = "user"  # a person's token for the inbox, from before there were tokens of persons and programs
    OPERATOR = "operator"
    CONNECTOR = "connector"
    PERSON = "person"  # decides and answers
    PROGRAM = "program"  # writes to one person's inbox and reads it; decides nothing


@dataclass(frozen=True, slots=True)
class Principal:
    role: Role
    name: str
    person: str | None = field(default=None, kw_only=True)  # of a program: whose inbox it serves

    def __str__(self) -> str:
        return self.name if self.role is Role.OPERATOR else f"{self.role}:{self.name}"

    @property
    def is_person(self) -> bool:
        """No token that is made for a program is one of these."""
        return self.role in (Role.PERSON, Role.USER, Role.OPERATOR)

    @property
    def is_owner(self) -> bool:
        return self.role is Role.OPERATOR or (self.role is Role.PERSON and self.name == OWNER)

    @property
    def serves(self) -> str | None:
        """The id of the person whose errands this caller runs; of a connector only its settings say."""
        match self.role:
            case Role.OPERATOR | Role.BUTLER:
                return OWNER
            case Role.PERSON | Role.USER:
                return self.name
            case Role.PROGRAM:
                return self.person
            case Role.CONNECTOR:
                return None

    def is_butler(self, name: str) -> bool:
        return self.role is Role.BUTLER and self.name == name


OPERATOR = Principal(Role.OPERATOR, "operator")
OWNER: Final = "owner"  # the id of the person the household belongs to
SessionId = NewType("SessionId", str)


@dataclass(frozen=True, slots=True)
class SessionPrincipal(Principal):
    """A butler, as its model speaks for it during one session."""

    session_id: SessionId


# The kinds of callers, as acts name them. Which may is the act's; whose things they may touch, the work decides.


class Kind(StrEnum):
    """A role, or one that is told apart here."""

    OPERATOR = "operator"
    OWNER = "owner"
    PERSON = "person"
    USER = "user"
    PROGRAM = "program"
    CONNECTOR = "connector"
    ITSELF = "itself"  # the butler at its own server
    SWITCHBOARD = "switchboard"
    BUTLER = "butler"


EVERYONE: Final = frozenset(Kind)
PEOPLE: Final = frozenset({Kind.OPERATOR, Kind.OWNER, Kind.PERSON, Kind.USER})
HOUSEHOLDER: Final = frozenset({Kind.OPERATOR, Kind.OWNER})
BUTLERS: Final = frozenset({Kind.OPERATOR, Kind.ITSELF, Kind.SWITCHBOARD, Kind.BUTLER})


def kind_of(caller: Principal, server: str = "") -> Kind:
    """`server` is the butler whose server is called, if one is."""
    if caller.is_owner and caller.role is Role.PERSON:
        return Kind.OWNER
    if caller.role is Role.BUTLER and caller.name in (server, "switchboard"):
        return Kind.ITSELF if caller.name == server else Kind.SWITCHBOARD
    return Kind(caller.role)


# Whom an address of ours names.


def person_id_of(caller: Principal) -> str | None:
    """The person behind a token; None for programs, whomever they work for."""
    match caller.role:
        case Role.OPERATOR:
            return OWNER
        case Role.PERSON | Role.USER:
            return caller.name
        case Role.BUTLER | Role.CONNECTOR | Role.PROGRAM:
            return None


# In whose name a caller's messages leave.


def sender_of(one: Principal) -> str | None:
    """A butler's name, or that of a program as no butler can be called; None for those who send nothing."""
    match one.role:
        case Role.BUTLER:
            return one.name
        case Role.PROGRAM | Role.OPERATOR:
            return str(one)
        case _:
            return None


# For which agents a caller may speak: told by the token, never by the request.


@dataclass(frozen=True, slots=True)
class Agency:
    """`connector_agents` gives the senders a connector's token stands for."""

    connector_agents: Callable[[str], tuple[str, ...]]

    def agents(self, principal: Principal) -> tuple[str, ...]:
        """Its own addresses, the usual one first."""
        match principal.role:
            case Role.OPERATOR:
                return (HOUSEHOLD_OWNER,)
            case Role.PERSON | Role.USER:
                return (HOUSEHOLD_OWNER,) if principal.is_owner else (user_address(principal.name),)
            case Role.PROGRAM:
                return ()
            case Role.BUTLER:
                return (BUTLER_PREFIX + principal.name,)
            case Role.CONNECTOR:
                return self.connector_agents(principal.name)
            case _:
                assert_never(principal.role)

    def speaks_for(self, principal: Principal, agent: str) -> bool:
        return principal.role is Role.OPERATOR or agent in self.agents(principal)

    def name(self, principal: Principal, agent: str) -> str:
        """Who acts when this caller speaks as this agent: never a person by the mouth of a program."""
        if principal.is_person:
            return self.agents(principal)[0]
        return str(principal) if _is_of_people(agent) else agent

    def sender(self, principal: Principal, claimed: str | None, field: str = "from_agent") -> str:
        """The agent this caller acts as; what the request says may only repeat it."""
        own = self.agents(principal)
        if claimed is None:
            if own:
                return own[0]
            raise Refused(Code.POLICY_DENIED, f"{principal} speaks for no agent")
        agent = checked_address(claimed, field)
        if not self.speaks_for(principal, agent):
            raise Refused(
                Code.POLICY_DENIED,
                f"{principal} may not speak for this agent",
                fields=[FieldError(field, "is not an agent of the caller", "policy_denied")],
            )
        return agent


def checked_address(text: str, field: str) -> str:
    address = parse_address(text)
    if address is None:
        error = "must be agent:// followed by one to three names of lower-case letters, digits, dots and dashes"
        raise Refused.of(Code.INVALID_AGENT_ADDRESS, [FieldError(field, error, "invalid_agent_address")])
    return address


# A caller's key for one call, so that the same call again does nothing more.

HEADER: Final = "Idempotency-Key"
MAX_KEY_CHARACTERS: Final = 255
_FIELD_CHARACTERS: Final = range(8, 129)  # what the field of an envelope may have


def checked_key(values: list[str]) -> str | None:
    """The key that the headers give; raises Refused when it is none."""
    if not values:
        return None
    key = values[0].strip()
    if len(values) > 1:
        raise _invalid(HEADER, "must be given once")
    if not key:
        raise _invalid(HEADER, "must not be blank")
    if len(key) > MAX_KEY_CHARACTERS:
        raise _invalid(HEADER, f"must have at most {MAX_KEY_CHARACTERS} characters")
    if not (key.isascii() and key.isprintable()):
        raise _invalid(HEADER, "must be plain ASCII")
    return key


def refuse_key(values: list[str]) -> None:
    """For calls that a key would not change: one that is given expects what does not happen."""
    if values:
        raise _invalid(HEADER, "is not taken here: this call makes nothing and may be repeated without a key")


def agreed_key(header: str | None, field: str | None) -> str | None:
    """For bodies with a key of their own: the one key that header and field give, in the field's length."""
    if header is None:
        return field
    if field is not None and field != header:
        raise _invalid("idempotency_key", f"must be the same as the header {HEADER}")
    return header if len(header) in _FIELD_CHARACTERS else hashlib.sha256(header.encode()).hexdigest()


def _invalid(field: str, error: str) -> Refused:
    return Refused.of(Code.KEY_INVALID, [FieldError(field, error, "invalid")])
