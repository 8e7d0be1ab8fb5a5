"""Bearer tokens and the principals they stand for, in one file only its owner can read."""

from __future__ import annotations

import hashlib
import json
import os
import secrets
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Final

from postroom.domain.principal import OPERATOR, Principal, Role

_GROUPS: Final = {Role.BUTLER: "butlers", Role.CONNECTOR: "connectors", Role.USER: "users"}

_AGENTS: Final = "connector_agents"


class TokenFile:
    """
    `tokens.json`: {"operator": …, "butlers": {name: …}, "connectors": {…}, "users": {…}}.

    Read again whenever the file changes, so that a token made or revoked on the
    command line counts at once in a running household.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._stamp: tuple[int, int] | None = None
        self._by_digest: dict[bytes, Principal] = {}
        self._agents: dict[str, tuple[str, ...]] = {}

    def verify(self, token: str) -> Principal | None:
        """Looked up by digest, so that timing tells nothing about a token."""
        self._refresh()
        return self._by_digest.get(_digest(token))

    def token_of(self, principal: Principal) -> str | None:
        document = self._read()
        if principal.role is Role.OPERATOR:
            return document.get("operator")
        token: str | None = document.get(_GROUPS[principal.role], {}).get(principal.name)
        return token

    def ensure(self, principals: Iterable[Principal]) -> None:
        """Make the tokens that are missing; the others keep theirs."""
        document = self._read()
        missing = [one for one in principals if self.token_of(one) is None]
        for principal in missing:
            _put(document, principal, _new_token(principal))
        if missing:
            self._write(document)

    def create(self, principal: Principal, *, agent: str | None = None) -> str:
        """A new token for this principal; an older one stops working. A connector's may speak for one agent."""
        document = self._read()
        token = _new_token(principal)
        _put(document, principal, token)
        if agent is not None:
            document.setdefault(_AGENTS, {})[principal.name] = [agent]
        self._write(document)
        return token

    def revoke(self, principal: Principal) -> bool:
        document = self._read()
        if principal.role is Role.OPERATOR:
            found = document.pop("operator", None)
        else:
            found = document.get(_GROUPS[principal.role], {}).pop(principal.name, None)
            if principal.role is Role.CONNECTOR:
                document.get(_AGENTS, {}).pop(principal.name, None)
        if found is not None:
            self._write(document)
        return found is not None

    def agents_of(self, connector: str) -> tuple[str, ...]:
        """The agents this connector's token was made for; none when it was made for no one in particular."""
        self._refresh()
        return self._agents.get(connector, ())

    def principals(self) -> list[Principal]:
        return [principal for principal, _ in _entries(self._read())]

    def _refresh(self) -> None:
        try:
            status = self._path.stat()
        except FileNotFoundError:
            self._stamp, self._by_digest, self._agents = None, {}, {}
            return
        stamp = (status.st_mtime_ns, status.st_ino)
        if stamp != self._stamp:
            document = self._read()
            self._by_digest = {_digest(token): principal for principal, token in _entries(document)}
            self._agents = {name: tuple(agents) for name, agents in document.get(_AGENTS, {}).items()}
            self._stamp = stamp

    def _read(self) -> dict[str, Any]:
        try:
            document = json.loads(self._path.read_text(encoding="utf-8"))
        except FileNotFoundError:
            return {}
        return document if isinstance(document, dict) else {}

    def _write(self, document: dict[str, Any]) -> None:
        """Never readable by others, not even for a moment; never half-written."""
        self._path.parent.mkdir(parents=True, exist_ok=True)
        beside = self._path.with_suffix(f".{secrets.token_hex(4)}")
        descriptor = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            json.dump(document, file, indent=2, sort_keys=True)
            file.write("\n")
            file.flush()
            os.fsync(file.fileno())
        beside.replace(self._path)


def _entries(document: dict[str, Any]) -> Iterator[tuple[Principal, str]]:
    if token := document.get("operator"):
        yield OPERATOR, str(token)
    for role, group in _GROUPS.items():
        for name, token in document.get(group, {}).items():
            yield Principal(role, name), str(token)


def _put(document: dict[str, Any], principal: Principal, token: str) -> None:
    if principal.role is Role.OPERATOR:
        document["operator"] = token
    else:
        document.setdefault(_GROUPS[principal.role], {})[principal.name] = token


def _new_token(principal: Principal) -> str:
    return f"pr_{principal.role}_{secrets.token_urlsafe(32)}"


def _digest(token: str) -> bytes:
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).digest()
