"""Acts as HTTP routes."""

from __future__ import annotations

import json
from collections.abc import Coroutine, Iterable, Mapping
from math import ceil
from typing import Any, Final

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from postroom.kernel.acts.declaration import Act, Call, HttpRoute
from postroom.kernel.acts.reading import answer_of, read
from postroom.kernel.guard.http import RESERVED_ID, idempotency_key_of
from postroom.kernel.serving.json_door import while_connected
from postroom.kernel.values.errors import Code, FieldError, PostroomError, Refused
from postroom.kernel.values.principal import PRINCIPAL, Principal

RENAMED: Final = "Postroom-Renamed"
"""Says in which arguments a former name was taken: `person_id=person`."""


class ActRoute(Route):
    """One act behind the guard: who calls is in the request's scope."""

    def __init__(self, kind: type[Act[Any]], route: HttpRoute, work: Any) -> None:
        self.kind, self.declared, self._work = kind, route, work
        super().__init__(route.path, self._answer, methods=[route.method], name=operation_of(kind, route))

    async def _answer(self, request: Request) -> Response:
        kind, route = self.kind, self.declared
        try:
            who = request.scope.get(PRINCIPAL)
            if not isinstance(who, Principal):
                raise Refused(Code.AUTH_FAILED, "a valid bearer token is required")
            if not kind.declared.admits(who):
                raise Refused(Code.POLICY_DENIED, f"{who} may not do this")
            in_query, in_path = _queried(request), dict(request.path_params)
            sent = {**await _body(request, route), **in_query, **in_path}
            one, renamed = read(kind, sent, route, {*in_query, *in_path})
            call: Call[Any] = Call(
                work=self._work,
                caller=who,
                door="http",
                meta=request.headers,
                key=idempotency_key_of(request),
                reserved_id=request.scope.get(RESERVED_ID),
            )
            working: Coroutine[Any, Any, Any] = one.do(call)
            answer = await (while_connected(request, working) if kind.declared.waits else working)
        except PostroomError as error:
            return _refusal(kind, error)
        if isinstance(answer, Response):
            return answer
        headers = {RENAMED: ", ".join(f"{former}={now}" for former, now in renamed.items())} if renamed else {}
        if (wait_seconds := kind.retry_after(answer)) is not None:
            headers["Retry-After"] = str(ceil(wait_seconds))
        if route.is_private:
            headers["Cache-Control"] = "no-store"
        if answer is None:
            return Response(status_code=kind.status_of(answer), headers=headers)
        content = answer_of(kind).dump_json(answer, by_alias=True)
        return Response(content, kind.status_of(answer), headers, media_type="application/json")


def act_router(acts: Iterable[type[Act[Any]]], work: Any) -> APIRouter:
    """In the order of their declaration: a path with a name in it stands after those that it would swallow."""
    return APIRouter(routes=[ActRoute(one, one.declared.route, work) for one in acts if one.declared.route is not None])


def operation_of(kind: type[Act[Any]], route: HttpRoute) -> str:
    return route.operation or kind.__name__[0].lower() + kind.__name__[1:]


def _queried(request: Request) -> dict[str, Any]:
    """What was given several times is a list."""
    found = {name: request.query_params.getlist(name) for name in request.query_params}
    return {name: several[0] if len(several) == 1 else several for name, several in found.items()}


async def _body(request: Request, route: HttpRoute) -> Mapping[str, Any]:
    """No body is an empty one."""
    written = b"" if route.method in ("GET", "DELETE") else await request.body()
    try:
        body = json.loads(written) if written.strip() else {}
    except (ValueError, RecursionError):
        raise Refused(Code.INVALID_JSON, "the body is not JSON, or nests too deep to be read") from None
    if not isinstance(body, dict):
        raise Refused.of(Code.SCHEMA_INVALID, [FieldError("body", "must be an object", "object_required")])
    return body


def _refusal(kind: type[Act[Any]], error: PostroomError) -> Response:
    status, document = kind.refused_over_http(error)
    headers = {"WWW-Authenticate": 'Bearer realm="postroom"'} if status == 401 else {}
    if error.retry_after_seconds is not None:
        headers["Retry-After"] = str(ceil(error.retry_after_seconds))
    return JSONResponse(document, status, headers)
