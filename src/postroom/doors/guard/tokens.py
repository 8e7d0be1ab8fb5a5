"""Bearer tokens and the principals they stand for, in one file only its owner can read."""

from __future__ import annotations

import fcntl
import json
import os
import secrets
import stat
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from postroom.domain.principal import Principal, Role
from postroom.domain.settings_error import SettingsError
from postroom.domain.time import to_text
from postroom.doors.guard.last_use import LastUse
from postroom.doors.guard.token_document import Held, add, agents, digest, has_own, held, put_own, remove, speak_for

if TYPE_CHECKING:
    import asyncio

    from postroom.system.clock import SystemClock


class TokenFileError(SettingsError):
    """One sentence for the person who edited the file."""


class TokenFile:
    """
    `tokens.json`: {"operator": …, "butlers": {name: …}, "connectors": {…}, "tokens": [{…}, …]}.

    The first three are the household's own; `tokens` are those people made, as many per caller as they like.
    Read again whenever the file changes, so that a token made or revoked on the
    command line counts at once in a running household. Whether it has changed is asked
    once in each turn of the event loop: a call passes several doors, and each of them asks here.
    """

    def __init__(self, path: Path, now_us: Callable[[], int] | None = None) -> None:
        self._path = path
        self._name = os.fspath(path)
        self._now_us = now_us or _system_now_us
        self.last_use = LastUse(path, self._now_us)
        self._stamp: tuple[int, int, int] | None = None
        self._seen_in: asyncio.AbstractEventLoop | None = None  # whose present turn has looked at the file
        self._by_digest: dict[bytes, tuple[str, Principal]] = {}  # the token's id, and whose it is
        self._for_agents: dict[str, tuple[str, ...]] = {}

    def verify(self, token: str) -> Principal | None:
        """Looked up by digest, so that timing tells nothing about a token."""
        self._refresh()
        known = self._by_digest.get(digest(token))
        if known is None:
            return None
        token_id, principal = known
        self.last_use.note(token_id)
        return principal

    def held(self) -> list[Held]:
        """Every token; the household's own first, then in the order they were made."""
        return list(held(self._read()))

    def principals(self) -> list[Principal]:
        return list(dict.fromkeys(one.principal for one in self.held()))

    def token_of(self, principal: Principal) -> str | None:
        return next((one.token for one in self.held() if one.principal == principal), None)

    def ids_of(self, principal: Principal) -> tuple[str, ...]:
        return tuple(one.id for one in self.held() if one.principal == principal)

    def still_holds(self, ids: Collection[str]) -> bool:
        """Whether none of these tokens was revoked."""
        self._refresh()
        return bool(ids) and {token_id for token_id, _ in self._by_digest.values()}.issuperset(ids)

    def ensure(self, principals: Iterable[Principal]) -> None:
        """Make the tokens that are missing; the others keep theirs."""
        with self._changing() as document:
            for principal in principals:
                if not has_own(document, principal):
                    put_own(document, principal, _new_token(principal), to_text(self._now_us()))

    def create(self, principal: Principal, *, label: str = "", agent: str | None = None) -> str:
        """One more token for this principal. A connector's may speak for one agent."""
        made = Held(principal=principal, token=_new_token(principal), label=label, created_at=to_text(self._now_us()))
        with self._changing() as document:
            _check_program(document, principal)
            add(document, made)
            if agent is not None:
                speak_for(document, principal.name, agent)
        return made.token

    def revoke(self, principal: Principal) -> bool:
        """All tokens of this principal."""
        return bool(self._remove(lambda one: one.principal == principal))

    def revoke_one(self, token_id: str) -> bool:
        return bool(self._remove(lambda one: one.id == token_id))

    def agents_of(self, connector: str) -> tuple[str, ...]:
        """The agents this connector's tokens were made for; none when they were made for no one in particular."""
        self._refresh()
        return self._for_agents.get(connector, ())

    def write_last_use(self, noted: Mapping[str, int]) -> None:
        self.last_use.write(noted, {one.id for one in self.held()})

    def _remove(self, goes: Callable[[Held], bool]) -> list[Held]:
        with self._changing() as document:
            return remove(document, goes)

    def _refresh(self) -> None:
        """A file that cannot be read lets nobody in."""
        loop = _running_loop()
        if loop is not None:
            if loop is self._seen_in:
                return
            self._seen_in = loop
            loop.call_soon(self._turn_is_over)
        try:
            status = os.stat(self._name)  # noqa: PTH116  # for every call: a path object takes as long as the system
            stamp = (status.st_mtime_ns, status.st_ino, status.st_size)
            if stamp != self._stamp:
                document = self._read()
                self._by_digest = {digest(one.token): (one.id, one.principal) for one in held(document)}
                self._for_agents = agents(document)
                self._stamp = stamp
        except (OSError, TokenFileError):
            self._stamp, self._by_digest, self._for_agents = None, {}, {}

    def _turn_is_over(self) -> None:
        self._seen_in = None

    def _read(self) -> dict[str, Any]:
        try:
            document = json.loads(self._path.read_text(encoding="utf-8"))
        except FileNotFoundError:
            return {}
        except (OSError, ValueError) as error:
            raise TokenFileError(
                f"{self._path}: cannot be read ({type(error).__name__}); check its owner and its mode, 0600."
            ) from None
        if not isinstance(document, dict):
            raise TokenFileError(
                f"{self._path}: must hold a JSON object; restore it, or move it away: `postroom up` makes another."
            )
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
            self._seen_in = None  # our own changes count in the same turn
        except BaseException:
            beside.unlink(missing_ok=True)
            raise


def _check_program(document: dict[str, Any], principal: Principal) -> None:
    """A program is known by its name alone, so one name serves one person."""
    for one in held(document):
        same = one.principal.role is Role.PROGRAM is principal.role and one.principal.name == principal.name
        if same and one.principal.person != principal.person:
            raise TokenFileError(
                f"The program {principal.name} serves {one.principal.person}: give the one for "
                f"{principal.person} another name, or revoke the other first."
            )


def _system_now_us() -> int:
    return _system_clock().now_us()


@cache
def _system_clock() -> SystemClock:
    from postroom.system.clock import (
        SystemClock,  # a clock needs asyncio, and a command that reads a token needs no clock
    )

    return SystemClock()


def _new_token(principal: Principal) -> str:
    return f"pr_{principal.role}_{secrets.token_urlsafe(32)}"


def _running_loop() -> asyncio.AbstractEventLoop | None:
    import asyncio  # a command that only reads its token has no loop, and starts without it

    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None
