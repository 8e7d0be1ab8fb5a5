"""What a process of ours has of its own: secrets and the key of its household, how it collects garbage, its version."""

from __future__ import annotations

import atexit
import base64
import gc
import hashlib
import hmac
import os
import secrets
import sys
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, cast
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from pydantic import GetCoreSchemaHandler
    from pydantic_core import CoreSchema


# A value that must not be seen.


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
            serialization=core_schema.plain_serializer_function_ser_schema(lambda one: repr(one) if one else ""),
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


# The household's own key: made once, kept in its home, and never shown.

_FILE: Final = "household.key"
_BYTES: Final = 32


def household_key(home: Path, purpose: str) -> bytes:
    """A key of 32 bytes for one purpose; what is known of one says nothing about another."""
    return hmac.new(_kept(home / _FILE), purpose.encode(), hashlib.sha256).digest()


def _kept(path: Path) -> bytes:
    """Several processes may start at once: the first one's key is everyone's."""
    with suppress(FileNotFoundError):
        return path.read_bytes()
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    new = path.with_name(f"{path.name}.{secrets.token_hex(8)}")
    descriptor = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(secrets.token_bytes(_BYTES))
        file.flush()
        os.fsync(file.fileno())
    try:
        with suppress(FileExistsError):
            os.link(new, path)
    finally:
        new.unlink()
    return path.read_bytes()


# Secrets at rest: sealed with a key of the household, each for one purpose.

_NONCE_BYTES: Final = 12


class Seal:
    """AES-GCM; what is sealed for one thing, such as a question, cannot be opened as what belongs to another."""

    def __init__(self, key: bytes) -> None:
        """`key` has 16, 24 or 32 bytes."""
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM

        self._cipher = AESGCM(key)

    def seal(self, text: str, about: str) -> str:
        nonce = secrets.token_bytes(_NONCE_BYTES)
        return base64.b64encode(nonce + self._cipher.encrypt(nonce, text.encode(), about.encode())).decode()

    def unseal(self, sealed: str, about: str) -> str:
        data = base64.b64decode(sealed)
        opened = self._cipher.decrypt(data[:_NONCE_BYTES], data[_NONCE_BYTES:], about.encode())
        return opened.decode()


# Which Postroom this is.


@cache
def package_version() -> str:
    """As the installed package says; read when it is asked for, because reading it takes a moment."""
    from importlib.metadata import version

    return version("postroom")


# Libraries that others import where they find them, and do without where they do not.


def do_without(*libraries: str) -> None:
    """In this process, from now on: Python is told that there are none. One that is imported already stays."""
    for name in libraries:
        cast(dict[str, Any], sys.modules).setdefault(name, None)


# Pydantic's models are built for their first use: most of those that libraries define are never used here.


def build_models_when_used() -> None:
    """In this process, of all that are imported from now on. MCP alone has three generations of its messages."""
    from pydantic import BaseModel

    BaseModel.model_config["defer_build"] = True


# How often the interpreter looks for garbage: in a command that is soon over, and in a process that runs for weeks.

_THRESHOLDS = (50_000, 20, 50)


def collect_less_often() -> None:
    """
    What is loaded at the start stays, so no collection need look at it again; and
    a delivery makes few cycles, so looking after every 700 objects is a tenth of
    the work for nothing.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(*_THRESHOLDS)


def collect_little() -> None:
    """A command makes little and ends soon: most that it could look at, and would take apart at its end, is source."""
    gc.set_threshold(*_THRESHOLDS)
    atexit.register(gc.freeze)
