"""A value that must not be seen."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from pydantic import GetCoreSchemaHandler
    from pydantic_core import CoreSchema


class Secret:
    """Shows as *** wherever it is printed; `reveal` is the only way in."""

    __slots__ = ("_value",)

    def __init__(self, value: str) -> None:
        self._value = value

    def reveal(self) -> str:
        return self._value

    def __repr__(self) -> str:
        return "***" if self._value else "''"

    __str__ = __repr__

    def __bool__(self) -> bool:
        return bool(self._value)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Secret) and other._value == self._value

    def __hash__(self) -> int:
        return hash(self._value)

    @classmethod
    def __get_pydantic_core_schema__(cls, _source: type[Any], _handler: GetCoreSchemaHandler) -> CoreSchema:
        from pydantic_core import core_schema

        return core_schema.no_info_plain_validator_function(
            lambda value: value if isinstance(value, Secret) else cls(_text(value)),
            serialization=core_schema.plain_serializer_function_ser_schema(repr),
        )


class SecretUrl(Secret):
    """An address that may hold a password: shows where, never how to get in."""

    __slots__ = ()

    def __repr__(self) -> str:
        try:
            parts = urlsplit(self._value)
            port = f":{parts.port}" if parts.port else ""
        except ValueError:
            return super().__repr__()
        if not parts.username and not parts.password and not parts.query:
            return self._value
        who = "***@" if parts.username or parts.password else ""
        query = "***" if parts.query else ""
        return parts._replace(netloc=f"{who}{parts.hostname or ''}{port}", query=query).geturl()

    __str__ = __repr__


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise ValueError("must be a string")  # pydantic turns ValueError into a field error
    return value
