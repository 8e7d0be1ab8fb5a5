"""JSON over HTTP: what a door asks of a body, and the one shape in which it says no."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncGenerator, Callable, Coroutine, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, aclosing
from dataclasses import dataclass
from functools import cache
from typing import Any, Final, Generic, TypeVar

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from fastapi.routing import APIRoute
from pydantic import BaseModel, Field
from pydantic.json_schema import JsonSchemaMode, models_json_schema
from starlette.exceptions import HTTPException
from starlette.requests import Request as RequestsRequest
from starlette.responses import StreamingResponse
from starlette.routing import compile_path, get_name
from starlette.types import Send

from postroom.kernel.running.clock import Clock
from postroom.kernel.running.loop import Signal
from postroom.kernel.values.errors import Code, PostroomError, Refused, failure_document
from postroom.kernel.values.fields import field_error, strict_json
from postroom.kernel.values.ids import seconds

# Server-sent events: writes what a door's looks yield, and ends by itself.


# A stream is cut now and then, so that none outlives its reader or its token for long; clients reconnect by themselves.
LIFE_SECONDS: Final = 300.0
HEARTBEAT_SECONDS: Final = 15.0
_HEARTBEAT: Final = ": still here\n\n"
_LINE_END: Final = re.compile(r"\r\n|\r|\n")

Heard = TypeVar("Heard", bound=Signal)


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamEvent:
    name: str | None = None
    data: Mapping[str, Any] | str | None = None  # text as it is, anything else as one line of strict JSON
    id: str | None = None
    retry_ms: int | None = None  # after so long the client comes again when the stream has ended


class End:
    """Yielded by a look after which nothing more can come."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EventStream(Generic[Heard]):
    """Every look yields what is new; the next one follows when the signal rings or the pause is over."""

    look: Callable[[Heard], AsyncGenerator[StreamEvent | End, None]]
    listening: AbstractContextManager[Heard]
    clock: Clock
    life_seconds: float = LIFE_SECONDS
    pause_seconds: float = HEARTBEAT_SECONDS
    first: StreamEvent | None = None
    last: StreamEvent | None = None  # when the time is up or the house stops
    has_heartbeat: bool = True

    def response(self) -> StreamingResponse:
        return _Response(
            self.frames(),
            media_type="text/event-stream",
            headers={"Cache-Control": "no-store", "X-Accel-Buffering": "no"},
        )

    async def frames(self) -> AsyncGenerator[str, None]:
        ends_us, is_quiet = self.clock.now_us() + seconds(self.life_seconds), False
        with self.listening as signal:
            if self.first:
                yield framed(self.first)
            while True:
                news = signal.news()
                async with aclosing(self.look(signal)) as found:
                    async for one in found:
                        if isinstance(one, End):
                            return
                        is_quiet = False
                        yield framed(one)
                if is_quiet and self.has_heartbeat:
                    yield _HEARTBEAT
                now_us = self.clock.now_us()
                if signal.is_closed or now_us >= ends_us:
                    break
                is_quiet = not await self.clock.wait(news, min(now_us + seconds(self.pause_seconds), ends_us))
            if self.last:
                yield framed(self.last)


def framed(event: StreamEvent) -> str:
    return "".join(f"{line}\n" for line in _lines(event)) + "\n"


def _lines(event: StreamEvent) -> Iterator[str]:
    """Of data every line for itself, so nothing a message holds can end the event or begin another."""
    if event.retry_ms is not None:
        yield f"retry: {event.retry_ms}"
    if event.id is not None:
        yield f"id: {event.id}"
    if event.name is not None:
        yield f"event: {event.name}"
    if event.data is not None:
        text = event.data if isinstance(event.data, str) else strict_json(event.data, ensure_ascii=False)
        yield from (f"data: {line}" for line in _LINE_END.split(text))


class _Response(StreamingResponse):
    """Stops listening as soon as its reader is gone, and not when the next garbage is collected."""

    def __init__(self, frames: AsyncGenerator[str, None], **about: Any) -> None:
        super().__init__(frames, **about)
        self._frames = frames

    async def stream_response(self, send: Send) -> None:
        async with aclosing(self._frames):
            await super().stream_response(send)


# A route that is understood when it is first asked for: a household has more than a hundred, most of them unused.

_pattern = cache(compile_path)  # of the path alone, and only read


class LateRoute(APIRoute):
    """
    Knows its path and methods at once; the framework reads the function's signature, and makes the checkers of what
    comes in and goes out, when a call or the document asks for more than that.
    """

    def __init__(self, path: str, endpoint: Callable[..., Any], **about: Any) -> None:
        self.path, self.endpoint = path, endpoint
        self.path_regex, self.path_format, self.param_convertors = _pattern(path)
        self.methods = {method.upper() for method in about.get("methods") or ("GET",)}
        self.name = about.get("name") or get_name(endpoint)
        self._about = about

    def __getattr__(self, name: str) -> Any:
        if "_about" not in self.__dict__:
            raise AttributeError(f"{self!r} has no {name}")
        super().__init__(self.path, self.endpoint, **self.__dict__.pop("_about"))
        return getattr(self, name)


# What an app's OpenAPI document says beyond its routes, added when the document is asked for.


def add_to_document(app: FastAPI, add: Callable[[dict[str, Any]], None]) -> None:
    """`add` may be called again on what it has added to: the framework keeps the document."""
    build = app.openapi

    def documented() -> dict[str, Any]:
        document = build()
        add(document)
        return document

    app.openapi = documented  # type: ignore[method-assign]


# Work that is given up when the caller it is done for has gone.

Value = TypeVar("Value")
_GONE = 499  # no one reads it; in the log it is what it is


async def while_connected(request: RequestsRequest, work: Coroutine[Any, Any, Value]) -> Value:
    """The body of the request must have been read. What comes too late for its caller is cancelled."""
    working = asyncio.ensure_future(work)
    leaving = asyncio.ensure_future(_gone(request))
    try:
        await asyncio.wait({working, leaving}, return_when=asyncio.FIRST_COMPLETED)
        if not working.done():
            raise HTTPException(_GONE, "the caller has gone")
        return working.result()
    finally:
        for task in (working, leaving):
            task.cancel()
        await asyncio.gather(working, leaving, return_exceptions=True)


async def _gone(request: RequestsRequest) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass


# How a JSON door says no: always `ok: false`, a code, a sentence and the fields concerned.

_MOST_FIELDS = 20
_UNREADABLE = "the body is not JSON, or nests too deep to be read"
_IN_DOCUMENT = "#/components/schemas/{model}"
_CODES = {
    401: Code.AUTH_FAILED,
    403: Code.POLICY_DENIED,
    404: Code.NOT_FOUND,
    405: Code.METHOD_NOT_ALLOWED,
}


class FailedField(BaseModel):
    field: str
    error: str
    code: str


class FailureDetail(BaseModel):
    code: str = Field(description="One of a fixed set of codes.")
    message: str
    category: str
    retryable: bool
    fields: list[FailedField]


class Failure(BaseModel):
    ok: bool = Field(description="Always false.")
    error: FailureDetail


class GateFailure(BaseModel):
    """The gate in front of the routes says no in fewer words."""

    ok: bool = False
    error: FailureDetail | str


def failures(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """For the OpenAPI document: which refusals a route knows."""
    told = {
        400: "The body is not JSON",
        401: "No valid token",
        403: "Not allowed for this caller",
        404: "Not known",
        409: "Does not fit what is already there",
        413: "Too large",
        422: "Does not follow the schema",
        503: "Something behind this cannot be reached",
    }
    models = {401: GateFailure, 413: GateFailure}
    return {status: _refusal(models.get(status, Failure), told[status]) for status in statuses}


def _refusal(model: type[BaseModel], description: str) -> dict[str, Any]:
    """By reference: given as a model, the framework would build a checker of it for every route and status."""
    schema = {"$ref": _IN_DOCUMENT.format(model=model.__name__)}
    return {"description": description, "content": {"application/json": {"schema": schema}}}


def answer_in_one_shape(app: FastAPI) -> None:
    """For what no route has a chance to answer: paths that nobody serves. And the shape itself, in the document."""

    async def handle(_request: Request, error: Exception) -> Response:
        return failure_response(error) if isinstance(error, HTTPException) else Response(status_code=500)

    app.add_exception_handler(HTTPException, handle)
    add_to_document(app, _add_failures)


def _add_failures(document: dict[str, Any]) -> None:
    shapes: list[tuple[type[BaseModel], JsonSchemaMode]] = [
        (model, "serialization") for model in (Failure, GateFailure)
    ]
    _, schema = models_json_schema(shapes, ref_template=_IN_DOCUMENT)
    document.setdefault("components", {}).setdefault("schemas", {}).update(schema["$defs"])


class JsonRoute(LateRoute):
    """Turns every error of a route into the one shape."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        handle = super().get_route_handler()

        async def answer(request: Request) -> Response:
            try:
                return await handle(request)
            except (RequestValidationError, HTTPException, PostroomError) as error:
                return failure_response(error)

        return answer


def failure_response(error: RequestValidationError | HTTPException | PostroomError) -> JSONResponse:
    if isinstance(error, HTTPException):
        if error.status_code == 400 and error.__cause__ is not None:  # too deep, or a number too long to be read
            return failure_response(Refused(Code.INVALID_JSON, _UNREADABLE))
        refused = Refused(_CODES.get(error.status_code, Code.INVALID_JSON), str(error.detail))
        return JSONResponse(failure_document(refused), status_code=error.status_code, headers=error.headers)
    if isinstance(error, RequestValidationError):
        error = _invalid(error.errors())
    headers = {"WWW-Authenticate": 'Bearer realm="postroom"'} if error.code.status == 401 else None
    return JSONResponse(failure_document(error), status_code=error.code.status, headers=headers)


def _invalid(errors: Sequence[Any]) -> Refused:
    """In our own words: the library's would repeat what was sent."""
    if any(item["type"] == "json_invalid" for item in errors):
        return Refused(Code.INVALID_JSON, _UNREADABLE)
    return Refused.of(Code.SCHEMA_INVALID, [field_error(item) for item in errors[:_MOST_FIELDS]])
