"""Bearer tokens and whom they stand for: the file of the household, and those of sessions, which are in memory."""

from __future__ import annotations

import hashlib
import json
import os
import secrets
import stat
from collections.abc import AsyncIterator, Callable, Collection, Iterable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeGuard

from postroom.kernel.running.files import alone_with, replace_file
from postroom.kernel.values.errors import SettingsError
from postroom.kernel.values.ids import seconds, to_text
from postroom.kernel.values.principal import OPERATOR, Principal, Role, SessionId, SessionPrincipal

if TYPE_CHECKING:
    import asyncio

    from postroom.kernel.guard.http import Verifier
    from postroom.kernel.running.clock import SystemClock
    from postroom.kernel.running.loop import Loops


# What stands in the file: who holds which token.

_GROUPS: Final = {Role.BUTLER: "butlers", Role.CONNECTOR: "connectors", Role.USER: "users"}
_HOUSEHOLD: Final = (Role.OPERATOR, Role.BUTLER, Role.CONNECTOR)
_OPERATOR: Final = "operator"
_MORE: Final = "tokens"
_MADE: Final = "made_at"
_AGENTS: Final = "connector_agents"
_SHORTEST: Final = 16
_ID_CHARACTERS: Final = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class Held:
    """One token, and whose it is."""

    principal: Principal
    token: str = field(repr=False)
    label: str = ""
    created_at: str | None = None  # unknown for tokens from before it was written down

    @property
    def id(self) -> str:
        return token_id(self.token)


def token_id(token: str) -> str:
    """Names a token in lists and commands; says nothing that would help to guess it."""
    return digest(token).hex()[:_ID_CHARACTERS]


def digest(token: str) -> bytes:
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).digest()


class _Document:
    """The file's JSON object. What is not understood in it stays, and opens no door."""

    def __init__(self, raw: dict[str, Any]) -> None:
        self._raw = raw

    def text(self) -> str:
        return json.dumps(self._raw, indent=2, sort_keys=True) + "\n"

    def held(self) -> Iterator[Held]:
        """The household's own first. Only what can be a token: a null or an empty text opens no door."""
        made = self._named(_MADE)
        for principal, token in self._own():
            yield Held(principal=principal, token=token, created_at=_text(made.get(token_id(token))))
        for record in self._records():
            if (one := _of_record(record)) is not None:
                yield one

    def has_own(self, principal: Principal) -> bool:
        """The household keeps a token of its own for all its parts, so that people can revoke theirs."""
        if principal.role in _HOUSEHOLD:
            return any(one == principal for one, _ in self._own())
        return any(one.principal == principal for one in self.held())

    def put_own(self, one: Held) -> None:
        role = one.principal.role
        if role not in _HOUSEHOLD:
            self.add(one)
            return
        if role is Role.OPERATOR:
            self._raw[_OPERATOR] = one.token
        else:
            self._raw[_GROUPS[role]] = {**self._named(_GROUPS[role]), one.principal.name: one.token}
        self._raw[_MADE] = {**self._named(_MADE), one.id: one.created_at}

    def add(self, one: Held) -> None:
        record = {
            "token": one.token,
            "role": str(one.principal.role),
            "name": one.principal.name,
            "label": one.label,
            "created_at": one.created_at,
        }
        if one.principal.person is not None:
            record["for"] = one.principal.person
        self._raw[_MORE] = [*self._records(), record]

    def remove(self, goes: Callable[[Held], bool]) -> bool:
        """Whether anything was removed. A connector without a token speaks for no agent."""
        gone = [one for one in self.held() if goes(one)]
        tokens = [one.token for one in gone]
        if self._raw.get(_OPERATOR) in tokens:
            del self._raw[_OPERATOR]
        for group in map(self._named, _GROUPS.values()):
            for name in [name for name, token in group.items() if token in tokens]:
                del group[name]
        if gone and _MORE in self._raw:
            self._raw[_MORE] = [one for one in self._records() if one.get("token") not in tokens]
        for one in gone:
            self._named(_MADE).pop(one.id, None)
        silent = {one.principal.name for one in gone if one.principal.role is Role.CONNECTOR}
        for name in silent - {one.principal.name for one in self.held() if one.principal.role is Role.CONNECTOR}:
            self._named(_AGENTS).pop(name, None)
        return bool(gone)

    def agents(self) -> dict[str, tuple[str, ...]]:
        """The agents that a connector's tokens speak for."""
        return {name: tuple(map(str, one)) for name, one in self._named(_AGENTS).items() if isinstance(one, list)}

    def speak_for(self, connector: str, agent: str) -> None:
        self._raw[_AGENTS] = {**{name: list(one) for name, one in self.agents().items()}, connector: [agent]}

    def _own(self) -> Iterator[tuple[Principal, str]]:
        if _is_token(token := self._raw.get(_OPERATOR)):
            yield OPERATOR, token
        for role, group in _GROUPS.items():
            for name, token in self._named(group).items():
                if _is_token(token):
                    yield Principal(role, name), token

    def _records(self) -> list[dict[str, Any]]:
        records = self._raw.get(_MORE)
        return [one for one in records if isinstance(one, dict)] if isinstance(records, list) else []

    def _named(self, group: str) -> dict[str, Any]:
        found = self._raw.get(group)
        return found if isinstance(found, dict) else {}


def _of_record(record: Mapping[str, Any]) -> Held | None:
    token, name, person = record.get("token"), record.get("name"), record.get("for")
    if not _is_token(token) or not _text(name) or record.get("role") not in list(Role):
        return None
    role = Role(record["role"])
    if (role is Role.PROGRAM) != bool(_text(person)) or (role is Role.OPERATOR and name != OPERATOR.name):
        return None
    return Held(
        principal=Principal(role, str(name), person=person),
        token=token,
        label=_text(record.get("label")) or "",
        created_at=_text(record.get("created_at")),
    )


def _text(value: object) -> str | None:
    return value if isinstance(value, str) and value else None


def _is_token(value: object) -> TypeGuard[str]:
    return isinstance(value, str) and len(value) >= _SHORTEST


# When each token was last used: noted in memory, written beside the token file now and then.

WRITE_SECONDS: Final = 60.0


class LastUse:
    """A call only notes a number; what writes the file is a task of its own, in a thread."""

    def __init__(self, tokens_file: Path, now_us: Callable[[], int]) -> None:
        self._path = tokens_file.with_name("tokens-last-use.json")
        self._now_us = now_us
        self._noted: dict[str, int] = {}

    def note(self, token_id: str) -> None:
        self._noted[token_id] = self._now_us()

    def take(self) -> Mapping[str, int]:
        """What was noted since the last time."""
        noted, self._noted = self._noted, {}
        return noted

    def write(self, noted: Mapping[str, int], known: Collection[str]) -> None:
        """Several processes write the same file; the latest use counts, and revoked tokens are forgotten."""
        if not noted:
            return
        with alone_with(self._path):
            times = self.read()
            for token_id, used_us in noted.items():
                times[token_id] = max(times.get(token_id, ""), to_text(used_us))
            known_times = {token_id: at for token_id, at in times.items() if token_id in known}
            replace_file(self._path, (json.dumps(known_times, indent=2, sort_keys=True) + "\n").encode())

    def read(self) -> dict[str, str]:
        try:
            found = json.loads(self._path.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return {}
        if not isinstance(found, dict):
            return {}
        return {token_id: at for token_id, at in found.items() if isinstance(at, str)}


# The tokens themselves.


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
        self._first: dict[Principal, str] = {}
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
        return list(self._read().held())

    def principals(self) -> list[Principal]:
        return list(dict.fromkeys(one.principal for one in self.held()))

    def token_of(self, principal: Principal) -> str | None:
        return next((one.token for one in self.held() if one.principal == principal), None)

    def known_of(self, principal: Principal) -> str | None:
        """As `token_of`, for every call: the file is read again only when it has changed; unreadable it has none."""
        self._refresh()
        return self._first.get(principal)

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
                if not document.has_own(principal):
                    document.put_own(self._made(principal))

    def create(self, principal: Principal, *, label: str = "", agent: str | None = None) -> str:
        """One more token for this principal. A connector's may speak for one agent."""
        made = self._made(principal, label)
        with self._changing() as document:
            _check_program(document, principal)
            document.add(made)
            if agent is not None:
                document.speak_for(principal.name, agent)
        return made.token

    def revoke(self, principal: Principal) -> bool:
        """All tokens of this principal."""
        return self._remove(lambda one: one.principal == principal)

    def revoke_one(self, token_id: str) -> bool:
        return self._remove(lambda one: one.id == token_id)

    def agents_of(self, connector: str) -> tuple[str, ...]:
        """The agents this connector's tokens were made for; none when they were made for no one in particular."""
        self._refresh()
        return self._for_agents.get(connector, ())

    def write_last_use(self, noted: Mapping[str, int]) -> None:
        self.last_use.write(noted, {one.id for one in self.held()})

    def _made(self, principal: Principal, label: str = "") -> Held:
        token = f"pr_{principal.role}_{secrets.token_urlsafe(32)}"
        return Held(principal=principal, token=token, label=label, created_at=to_text(self._now_us()))

    def _remove(self, goes: Callable[[Held], bool]) -> bool:
        with self._changing() as document:
            return document.remove(goes)

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
                held = list(document.held())
                self._by_digest = {digest(one.token): (one.id, one.principal) for one in held}
                self._first = {one.principal: one.token for one in reversed(held)}
                self._for_agents = document.agents()
                self._stamp = stamp
        except (OSError, TokenFileError):
            self._stamp, self._by_digest, self._first, self._for_agents = None, {}, {}, {}

    def _turn_is_over(self) -> None:
        self._seen_in = None

    def _read(self) -> _Document:
        try:
            document = json.loads(self._path.read_text(encoding="utf-8"))
        except FileNotFoundError:
            return _Document({})
        except (OSError, ValueError) as error:
            raise TokenFileError(
                f"{self._path}: cannot be read ({type(error).__name__}); check its owner and its mode, 0600."
            ) from None
        if not isinstance(document, dict):
            raise TokenFileError(
                f"{self._path}: must hold a JSON object; restore it, or move it away: `postroom up` makes another."
            )
        return _Document(document)

    @contextmanager
    def _changing(self) -> Iterator[_Document]:
        self._path.parent.mkdir(parents=True, exist_ok=True)
        with alone_with(self._path):
            document = self._read()
            before = document.text()
            yield document
            if document.text() != before or self._is_open_to_others():
                replace_file(self._path, document.text().encode())
                self._seen_in = None  # our own changes count in the same turn

    def _is_open_to_others(self) -> bool:
        return self._path.exists() and bool(stat.S_IMODE(self._path.stat().st_mode) & 0o077)


def _check_program(document: _Document, principal: Principal) -> None:
    """A program is known by its name alone, so one name serves one person."""
    for one in document.held():
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
    from postroom.kernel.running.clock import (
        SystemClock,  # a clock needs asyncio, and a command that reads a token needs no clock
    )

    return SystemClock()


def _running_loop() -> asyncio.AbstractEventLoop | None:
    import asyncio  # a command that only reads its token has no loop, and starts without it

    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None


@asynccontextmanager
async def keeping_last_use(tokens: TokenFile, loops: Loops) -> AsyncIterator[None]:
    """Once more at the end, so that nothing is forgotten by stopping; an old time is no reason to fail there."""
    import asyncio

    async def write() -> None:
        await asyncio.to_thread(tokens.write_last_use, tokens.last_use.take())

    async def look() -> int:
        await write()
        return loops.clock.now_us() + seconds(WRITE_SECONDS)

    async with loops.running("last_use", look):
        yield
    with suppress(OSError, SettingsError):
        await write()


# Short-lived tokens for the model of a butler: one per session, dead when the session is.


class SessionTokens:
    """
    The tokens of one butler's sessions, in front of the household's own.

    They are kept in memory only, by digest, so whatever a session left behind
    is worthless in the next process, and every other server of the household,
    which does not ask here, refuses them.
    """

    def __init__(self, butler: str, household: Verifier) -> None:
        self._butler = butler
        self._household = household
        self._by_digest: dict[bytes, SessionPrincipal] = {}

    def verify(self, token: str) -> Principal | None:
        if self._by_digest and (session := self._by_digest.get(digest(token))):
            return session
        return self._household.verify(token)

    def mint(self, session_id: SessionId) -> str:
        token = f"pr_session_{secrets.token_urlsafe(32)}"
        self._by_digest[digest(token)] = SessionPrincipal(Role.BUTLER, self._butler, session_id)
        return token

    def end(self, token: str) -> None:
        self._by_digest.pop(digest(token), None)
