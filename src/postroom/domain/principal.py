"""Who is calling: always from a verified token, never from what a payload claims."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

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
