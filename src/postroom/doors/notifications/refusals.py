"""A wrong request is answered 422 with the field that is wrong, and never with what was in it."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any

from fastapi import Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse

from postroom.domain.errors import StoreUnavailable, ValidationError
from postroom.domain.field_words import words
from postroom.domain.fields import printable
from postroom.doors.guard.late_route import LateRoute


class InboxRoute(LateRoute):
    """Repeating the input back, as FastAPI would, fails on text that is not Unicode."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        handle = super().get_route_handler()

        async def guarded(request: Request) -> Response:
            try:
                return await handle(request)
            except RequestValidationError as error:
                return _refusal([(item["loc"], words(item), item["type"]) for item in error.errors()])
            except ValidationError as error:
                part = "query" if request.method == "GET" else "body"
                return _refusal([((part, item.field), item.error, item.code) for item in error.fields])
            except StoreUnavailable:
                return JSONResponse({"detail": "the inbox is not available right now"}, 503, {"Retry-After": "1"})

        return guarded


def _refusal(problems: list[tuple[Any, str, str]]) -> JSONResponse:
    detail = [
        {"loc": [part if isinstance(part, int) else printable(part) for part in place], "msg": said, "type": code}
        for place, said, code in problems
    ]
    return JSONResponse({"detail": detail}, 422)
