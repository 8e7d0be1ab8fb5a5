"""Bearer tokens and the principals they stand for, in one file only its owner can read."""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import secrets
import stat
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, TypeGuard

from postroom.domain.principal import OPERATOR, Principal, Role
from postroom.settings import SettingsError

_GROUPS: Final = {Role.BUTLER: "butlers", Role.CONNECTOR: "connectors", Role.USER: "users"}
_AGENTS: Final = "connector_agents"
_SHORTEST: Final = 16


class TokenFileError(SettingsError):
    """One sentence for the person who edited the file."""


class TokenFile:
    """
    `tokens.json`: {"operator": …, "butlers": {name: …}, "connectors": {…}, "users": {…}}.

    Read again whenever the file changes, so that a token made or revoked on the
    command line counts at once in a running household.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._stamp: tuple[int, int, int] | None = None
        self._by_digest: dict[bytes, Principal] = {}
        self._for_agents: dict[str, tuple[str, ...]] = {}

    def verify(self, token: str) -> Principal | None:
        """Looked up by digest, so that timing tells nothing about a token."""
        self._refresh()
        return self._by_digest.get(_digest(token))

    def token_of(self, principal: Principal) -> str | None:
        return dict(_entries(self._read())).get(principal)

    def ensure(self, principals: Iterable[Principal]) -> None:
        """Make the tokens that are missing; the others keep theirs."""
        with self._changing() as document:
            known = dict(_entries(document))
            for principal in principals:
                if principal not in known:
                    _put(document, principal, _new_token(principal))

    def create(self, principal: Principal, *, agent: str | None = None) -> str:
        """A new token for this principal; an older one stops working. A connector's may speak for one agent."""
        token = _new_token(principal)
        with self._changing() as document:
            _put(document, principal, token)
            if agent is not None:
                document[_AGENTS] = {**_agents(document), principal.name: [agent]}
        return token

    def revoke(self, principal: Principal) -> bool:
        with self._changing() as document:
            found = principal in dict(_entries(document))
            if principal.role is Role.OPERATOR:
                document.pop("operator", None)
            else:
                _group(document, principal.role).pop(principal.name, None)
            if principal.role is Role.CONNECTOR and principal.name in _agents(document):
                del document[_AGENTS][principal.name]
        return found

    def agents_of(self, connector: str) -> tuple[str, ...]:
        """The agents this connector's token was made for; none when it was made for no one in particular."""
        self._refresh()
        return self._for_agents.get(connector, ())

    def principals(self) -> list[Principal]:
        return [principal for principal, _ in _entries(self._read())]

    def _refresh(self) -> None:
        """A file that cannot be read lets nobody in."""
        try:
            status = self._path.stat()
            stamp = (status.st_mtime_ns, status.st_ino, status.st_size)
            if stamp != self._stamp:
                document = self._read()
                self._by_digest = {_digest(token): principal for principal, token in _entries(document)}
                self._for_agents = {name: tuple(map(str, agents)) for name, agents in _agents(document).items()}
                self._stamp = stamp
        except (OSError, TokenFileError):
            self._stamp, self._by_digest, self._for_agents = None, {}, {}

    def _read(self) -> dict[str, Any]:
        try:
            document = json.loads(self._path.read_text(encoding="utf-8"))
        except FileNotFoundError:
            return {}
        except (OSError, ValueError) as error:
            raise TokenFileError(f"{self._path}: cannot be read ({type(error).__name__}).") from None
        if not isinstance(document, dict):
            raise TokenFileError(f"{self._path}: must hold a JSON object.")
        return document

    @contextmanager
    def _changing(self) -> Iterator[dict[str, Any]]:
        """One process changes the file at a time, so that none takes back what another has just made."""
        self._path.parent.mkdir(parents=True, exist_ok=True)
        lock = os.open(self._path.with_name(f".{self._path.name}.lock"), os.O_RDWR | os.O_CREAT, 0o600)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX)
            document = self._read()
            before = json.dumps(document, sort_keys=True)
            yield document
            if json.dumps(document, sort_keys=True) != before or self._is_open_to_others():
                self._write(document)
        finally:
            os.close(lock)

    def _is_open_to_others(self) -> bool:
        return self._path.exists() and bool(stat.S_IMODE(self._path.stat().st_mode) & 0o077)

    def _write(self, document: dict[str, Any]) -> None:
        """Never readable by others, not even for a moment; never half-written."""
        beside = self._path.with_suffix(f".{secrets.token_hex(4)}")
        descriptor = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        try:
            with os.fdopen(descriptor, "w", encoding="utf-8") as file:
                json.dump(document, file, indent=2, sort_keys=True)
                file.write("\n")
                file.flush()
                os.fsync(file.fileno())
            beside.replace(self._path)
        except BaseException:
            beside.unlink(missing_ok=True)
            raise


def _entries(document: dict[str, Any]) -> Iterator[tuple[Principal, str]]:
    """Only what can be a token: a null or an empty text opens no door."""
    if _is_token(token := document.get("operator")):
        yield OPERATOR, token
    for role in _GROUPS:
        for name, token in _group(document, role).items():
            if _is_token(token):
                yield Principal(role, name), token


def _is_token(value: object) -> TypeGuard[str]:
    return isinstance(value, str) and len(value) >= _SHORTEST


def _group(document: dict[str, Any], role: Role) -> dict[str, Any]:
    group = document.get(_GROUPS[role])
    return group if isinstance(group, dict) else {}


def _agents(document: dict[str, Any]) -> dict[str, list[Any]]:
    group = document.get(_AGENTS)
    return {name: one for name, one in group.items() if isinstance(one, list)} if isinstance(group, dict) else {}


def _put(document: dict[str, Any], principal: Principal, token: str) -> None:
    if principal.role is Role.OPERATOR:
        document["operator"] = token
    else:
        document[_GROUPS[principal.role]] = {**_group(document, principal.role), principal.name: token}


def _new_token(principal: Principal) -> str:
    return f"pr_{principal.role}_{secrets.token_urlsafe(32)}"


def _digest(token: str) -> bytes:
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).digest()
