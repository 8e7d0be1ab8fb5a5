"""Who is calling: always from a verified token, never from what a payload claims."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

# Inside one process there is no HTTP header, so the token rides in the call's metadata.
TOKEN_META: Final = "postroom/token"  # noqa: S105  # the name of a field, not a secret


class Role(StrEnum):
    BUTLER = "butler"
    USER = "user"
    OPERATOR = "operator"
    CONNECTOR = "connector"


@dataclass(frozen=True, slots=True)
class Principal:
    role: Role
    name: str

    def __str__(self) -> str:
        return self.name if self.role is Role.OPERATOR else f"{self.role}:{self.name}"

    @property
    def is_person(self) -> bool:
        """Only people decide approvals; no token that a model holds is one of these."""
        return self.role in (Role.USER, Role.OPERATOR)

    def is_butler(self, name: str) -> bool:
        return self.role is Role.BUTLER and self.name == name


OPERATOR = Principal(Role.OPERATOR, "operator")
