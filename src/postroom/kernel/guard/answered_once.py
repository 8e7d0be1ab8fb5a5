"""`Idempotency-Key` on calls that make something: the same call again gets the first answer and does nothing more."""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Final
from weakref import WeakValueDictionary

from fastapi import FastAPI
from sqlalchemy import (
    BigInteger,
    Column,
    ColumnElement,
    Connection,
    Index,
    Integer,
    Table,
    Text,
    and_,
    delete,
    insert,
    select,
    update,
)
from starlette.datastructures import Headers
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from postroom.kernel.database.engine import Database, write_twice
from postroom.kernel.database.rows import read, values
from postroom.kernel.database.schema import SHARED, metadata
from postroom.kernel.guard.http import RESERVED_ID, read_body, replayed
from postroom.kernel.running.clock import Clock
from postroom.kernel.serving.json_door import add_to_document, failure_response
from postroom.kernel.values.errors import Code, PostroomError, Refused, StoreUnavailable
from postroom.kernel.values.principal import (
    HEADER,
    MAX_KEY_CHARACTERS,
    PRINCIPAL,
    Principal,
    checked_key,
    refuse_key,
)

_MOST_KEPT_BYTES: Final = 65_536  # a longer answer is made again from what is there
_PARAMETER: Final = {
    "name": HEADER,
    "in": "header",
    "required": False,
    "description": "The same key and content answer as at first and do nothing more; other content is refused.",
    "schema": {"type": "string", "minLength": 1, "maxLength": MAX_KEY_CHARACTERS, "pattern": "^[!-~]+$"},
}


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyedCall:
    """Who calls under which key; `fingerprint` is what the call says."""

    caller: str
    key: str
    fingerprint: str


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyClaim:
    """
    The first call under a key, with its answer.

    `reserved_id` is the id of what that call makes: should it be cut short, the next one finds what is
    there already. Without a status it is under way, or was cut short.
    """

    fingerprint: str
    reserved_id: str
    status: int | None = None
    body: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class AnsweredOnce:
    """
    Stands behind the guard, in front of the routes.

    The key is written down before the work begins, with the id that whatever is made will have; so a
    call that a crash cut short finds what it has made already. A refusal leaves the key free.
    """

    app: ASGIApp
    keys: StoredIdempotencyKeys
    clock: Clock
    mint: Callable[[int], str]
    answered_by_key: Callable[[str], bool]
    refuses_key: Callable[[str, str], bool]
    _turns: WeakValueDictionary[tuple[str, str], asyncio.Lock] = field(default_factory=WeakValueDictionary)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        caller = scope.get(PRINCIPAL)
        if not isinstance(caller, Principal):
            await self.app(scope, receive, send)
            return
        try:
            key = self._key(scope)
            if key is None:
                await self.app(scope, receive, send)
            elif (body := await read_body(receive)) is not None:
                call = KeyedCall(caller=str(caller), key=key, fingerprint=_fingerprint(scope, body))
                answer = await self._answer(call, scope, replayed(body, receive))
                await answer(scope, receive, send)
        except PostroomError as error:
            await failure_response(error)(scope, receive, send)

    def _key(self, scope: Scope) -> str | None:
        method, path = scope["method"], scope["path"]
        given = Headers(scope=scope).getlist(HEADER)
        if self.refuses_key(method, path):
            refuse_key(given)
        return checked_key(given) if method == "POST" and self.answered_by_key(path) else None

    async def _answer(self, call: KeyedCall, scope: Scope, receive: Receive) -> Response:
        turn = self._turns.setdefault((call.caller, call.key), asyncio.Lock())
        async with turn:  # copies that come at the same moment wait for the first
            now = self.clock.now_us()
            claim = await self.keys.claim(call, self.mint(now), now)
            if claim.fingerprint != call.fingerprint:
                raise Refused(Code.KEY_REUSED, "this idempotency key was used for another call")
            if claim.status is not None:
                return Response(claim.body, claim.status, media_type="application/json")
            answer = await _collected(self.app, {**scope, RESERVED_ID: claim.reserved_id}, receive)
            with suppress(StoreUnavailable):  # the work is done; the next call makes the answer again
                await self._settle(call, answer)
            return answer

    async def _settle(self, call: KeyedCall, answer: Response) -> None:
        if 400 <= answer.status_code < 500:
            await self.keys.release(call)
        elif answer.status_code < 300 and len(answer.body) <= _MOST_KEPT_BYTES:
            await self.keys.keep(call, answer.status_code, bytes(answer.body).decode())


async def _collected(app: ASGIApp, scope: Scope, receive: Receive) -> Response:
    """The whole answer, before any of it is sent: the key must hold when the caller sees it."""
    answer, body = Response(), bytearray()

    async def collect(message: Message) -> None:
        if message["type"] == "http.response.start":
            answer.status_code, answer.raw_headers = message["status"], list(message["headers"])
        else:
            body.extend(message.get("body", b""))

    await app(scope, receive, collect)
    answer.body = bytes(body)
    return answer


def _fingerprint(scope: Scope, body: bytes) -> str:
    """What the call says: spaces and the order of its fields say nothing."""
    try:
        said = json.dumps(json.loads(body), sort_keys=True).encode()
    except (ValueError, RecursionError):
        said = body
    parts = (scope["path"].encode(), scope["query_string"], said)
    return hashlib.sha256(b"\n".join(hashlib.sha256(part).digest() for part in parts)).hexdigest()


def declare_key(app: FastAPI, takes_key: Callable[[str], bool]) -> None:
    """Documents the header on every POST that takes it."""

    def add(document: dict[str, Any]) -> None:
        for path, methods in document["paths"].items():
            if "post" in methods and takes_key(path):
                parameters = methods["post"].setdefault("parameters", [])
                if _PARAMETER not in parameters:
                    parameters.append(_PARAMETER)

    add_to_document(app, add)


# The keys on disk, each with the first answer to its call, so many of each caller at most.

idempotency_keys = Table(
    "idempotency_keys",
    metadata,
    Column("caller", Text, primary_key=True),
    Column("key", Text, primary_key=True),
    Column("fingerprint", Text, nullable=False),
    Column("reserved_id", Text, nullable=False),
    Column("status", Integer),
    Column("body", Text),
    Column("created_at", BigInteger, nullable=False),
    Index("ix_idempotency_keys_caller_created_at", "caller", "created_at"),
    Index("ix_idempotency_keys_created_at", "created_at"),
    schema=SHARED,
)


_MOST_PER_CALLER: Final = 10_000


class StoredIdempotencyKeys:
    def __init__(self, database: Database, most_per_caller: int = _MOST_PER_CALLER) -> None:
        self._database = database
        self._most = most_per_caller

    async def claim(self, call: KeyedCall, reserved_id: str, now_us: int) -> KeyClaim:
        """The key is this call's from now on, or another's that came before."""

        def work(connection: Connection) -> KeyClaim:
            if known := connection.execute(select(idempotency_keys).where(_of(call))).first():
                return read(KeyClaim, known)
            row = values(call, reserved_id=reserved_id, created_at=now_us)
            connection.execute(insert(idempotency_keys), row)
            self._forget_oldest(connection, call.caller)
            return KeyClaim(fingerprint=call.fingerprint, reserved_id=reserved_id)

        return await write_twice(self._database, work)

    async def keep(self, call: KeyedCall, status: int, body: str) -> None:
        kept = update(idempotency_keys).where(_of(call)).values(status=status, body=body)
        await self._database.write(lambda connection: connection.execute(kept).rowcount)

    async def release(self, call: KeyedCall) -> None:
        """Nothing came of the call, so its key is free again."""
        gone = delete(idempotency_keys).where(_of(call), idempotency_keys.c.status.is_(None))
        await self._database.write(lambda connection: connection.execute(gone).rowcount)

    def _forget_oldest(self, connection: Connection, caller: str) -> None:
        table = idempotency_keys.c
        newest = select(table.created_at).where(table.caller == caller).order_by(table.created_at.desc())
        if (before := connection.execute(newest.offset(self._most).limit(1)).scalar()) is not None:
            connection.execute(delete(idempotency_keys).where(table.caller == caller, table.created_at <= before))


def _of(call: KeyedCall) -> ColumnElement[bool]:
    return and_(idempotency_keys.c.caller == call.caller, idempotency_keys.c.key == call.key)
