"""The principal behind a request to a FastAPI route."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated

from fastapi import Depends, HTTPException, Request

from postroom.domain.idempotency_key import HEADER, checked_key
from postroom.domain.principal import PRINCIPAL, Principal
from postroom.doors.guard.http import RESERVED_ID


def principal_of(request: Request) -> Principal:
    principal = request.scope.get(PRINCIPAL)
    if not isinstance(principal, Principal):
        raise HTTPException(401, "a valid bearer token is required")
    return principal


Caller = Annotated[Principal, Depends(principal_of)]


def allowing(rule: Callable[[Principal], bool]) -> Callable[[Principal], Principal]:
    """A dependency that lets only some principals pass: `caller: Annotated[Principal, Depends(allowing(person))]`."""

    def check(caller: Caller) -> Principal:
        if not rule(caller):
            raise HTTPException(403, f"{caller} may not do this")
        return caller

    return check


def idempotency_key_of(request: Request) -> str | None:
    return checked_key(request.headers.getlist(HEADER))


def reserved_id_of(request: Request) -> str | None:
    found = request.scope.get(RESERVED_ID)
    return found if isinstance(found, str) else None


IdempotencyKey = Annotated[str | None, Depends(idempotency_key_of)]
ReservedId = Annotated[str | None, Depends(reserved_id_of)]
