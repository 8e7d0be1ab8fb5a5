"""Acts as HTTP routes, and in the OpenAPI document."""

from __future__ import annotations

import json
import re
from collections.abc import Coroutine, Iterable, Mapping
from math import ceil
from typing import Any, Final

from fastapi import APIRouter, FastAPI
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from postroom.kernel.acts.declaration import Act, Call, HttpRoute, words_of
from postroom.kernel.acts.reading import answer_of, answer_schema, answer_type, arguments_schema, read
from postroom.kernel.guard.http import RESERVED_ID, idempotency_key_of
from postroom.kernel.serving.json_door import add_to_document, failures, while_connected
from postroom.kernel.values.errors import Code, FieldError, PostroomError, Refused
from postroom.kernel.values.principal import PRINCIPAL, Principal

RENAMED: Final = "Postroom-Renamed"
"""Says in which arguments a former name was taken: `person_id=person`."""
_REFERENCE: Final = "#/components/schemas/{model}"


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


# The document.


def describe(app: FastAPI) -> None:
    """Adds the acts among an app's routes to its document, where they stand among the others."""

    def add(document: dict[str, Any]) -> None:
        written, components = document["paths"], document.setdefault("components", {}).setdefault("schemas", {})
        paths: dict[str, Any] = {}
        for one in app.router.routes:
            path = re.sub(r"\{(\w+):\w+\}", r"{\1}", getattr(one, "path", ""))
            if isinstance(one, ActRoute):
                paths.setdefault(path, {})[one.declared.method.lower()] = _described(one.kind, one.declared, components)
            elif path in written:
                paths.setdefault(path, {}).update(written[path])
        document["paths"] = {**paths, **{path: one for path, one in written.items() if path not in paths}}

    add_to_document(app, add)


def _described(kind: type[Act[Any]], route: HttpRoute, components: dict[str, Any]) -> dict[str, Any]:
    schema = arguments_schema(kind, route)
    properties, required = schema["properties"], schema.get("required", [])
    in_url = {name: one for name, one in properties.items() if route.is_in_path(name) or route.is_in_query(name)}
    answer: dict[str, Any] = {"description": "OK"}
    if answer_type(kind) is not None:
        media = "text/event-stream" if route.streams else "application/json"
        answer["content"] = {media: {"schema": _answer_schema(kind, components)}}
    described: dict[str, Any] = {
        "operationId": operation_of(kind, route),
        "tags": [route.tag],
        "summary": route.summary or words_of(kind).removesuffix("."),
        "responses": {
            str(route.status): answer,
            **{str(code): {**answer, "description": words} for code, words in route.more.items()},
            **{str(code): one for code, one in failures(*route.refusals).items()},
        },
    }
    if in_url:
        described["parameters"] = [_parameter(name, one, name in required, route) for name, one in in_url.items()]
    if rest := {name: one for name, one in properties.items() if name not in in_url}:
        needed = [name for name in required if name not in in_url]
        body = {**schema, "properties": rest, "required": needed}
        if not needed:
            del body["required"]
        described["requestBody"] = {"required": bool(needed), "content": {"application/json": {"schema": body}}}
    return described


def _parameter(name: str, schema: Mapping[str, Any], required: bool, route: HttpRoute) -> dict[str, Any]:
    about = {key: one for key, one in schema.items() if key != "description"}
    told = {"description": schema["description"]} if "description" in schema else {}
    place = "path" if route.is_in_path(name) else "query"
    return {"name": name, "in": place, "required": required or place == "path", **told, "schema": about}


def _answer_schema(kind: type[Act[Any]], components: dict[str, Any]) -> Mapping[str, Any]:
    schema = answer_schema(kind, _REFERENCE)
    components.update(schema.pop("$defs", {}))
    if name := schema.get("title"):
        components[name] = schema
        return {"$ref": _REFERENCE.format(model=name)}
    return schema
