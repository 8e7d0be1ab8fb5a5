"""JSON over HTTP: what a door asks of a body, and the one shape in which it says no."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from functools import wraps
from typing import Annotated, Any, ParamSpec, TypeVar, cast

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from pydantic import AfterValidator, BaseModel, ConfigDict, Field
from pydantic.json_schema import JsonSchemaMode, models_json_schema
from starlette.exceptions import HTTPException

from postroom.kernel.serving.streams import LateRoute, add_to_document
from postroom.kernel.values.errors import Code, PostroomError, Refused, failure_document
from postroom.kernel.values.fields import field_error, text_problem

# What every JSON door asks of a body: the fields it knows, of the types it says, in text that can be kept.


def _keepable(value: str) -> str:
    if problem := text_problem(value):
        raise ValueError(problem)
    return value


Text = Annotated[str, AfterValidator(_keepable)]
Agent = Annotated[Text, Field(min_length=3, max_length=255, examples=["agent://household/owner"])]


class Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


class Done(BaseModel):
    ok: bool


# How a JSON door says no: always `ok: false`, a code, a sentence and the fields concerned.

_MOST_FIELDS = 20
_UNREADABLE = "the body is not JSON, or nests too deep to be read"
_IN_DOCUMENT = "#/components/schemas/{model}"
_CODES = {
    401: Code.AUTH_FAILED,
    403: Code.POLICY_DENIED,
    404: Code.NOT_FOUND,
    405: Code.NOT_FOUND,
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
    headers = {"WWW-Authenticate": 'Bearer realm="postroom"'} if error.wire.status == 401 else None
    return JSONResponse(failure_document(error), status_code=error.wire.status, headers=headers)


def _invalid(errors: Sequence[Any]) -> Refused:
    """In our own words: the library's would repeat what was sent."""
    if any(item["type"] == "json_invalid" for item in errors):
        return Refused(Code.INVALID_JSON, _UNREADABLE)
    return Refused.of(Code.SCHEMA_INVALID, [field_error(item) for item in errors[:_MOST_FIELDS]])


# A tool that answers with our errors: a refusal is something a model can act on, not a broken call.

Arguments = ParamSpec("Arguments")
Answer = TypeVar("Answer")
Tool = Callable[Arguments, Awaitable[Answer]]
AnsweringTool = Callable[Arguments, Coroutine[Any, Any, Answer]]


def answered(
    shape: Callable[[PostroomError], Mapping[str, Any]],
) -> Callable[[Tool[Arguments, Answer]], AnsweringTool[Arguments, Answer]]:
    def around(tool: Tool[Arguments, Answer]) -> AnsweringTool[Arguments, Answer]:
        @wraps(tool)
        async def answer(*args: Arguments.args, **kwargs: Arguments.kwargs) -> Answer:
            try:
                return await tool(*args, **kwargs)
            except PostroomError as error:
                return cast(Answer, shape(error))

        return answer

    return around
