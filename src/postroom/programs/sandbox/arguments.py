"""Arguments of one Bot API call: query string, form or JSON, as Telegram takes them."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web

from postroom.domain.fields import text_problem
from postroom.programs.sandbox.kept_files import ArrivedFile, given_file, with_room

_INTEGER = re.compile(r"-?[0-9]{1,18}")
_FORMS = ("application/x-www-form-urlencoded", "multipart/form-data")


class ApiError(Exception):
    """A refusal in Telegram's words; `status` is both the HTTP status and the `error_code`."""

    def __init__(self, status: int, description: str, *, retry_after: int | None = None) -> None:
        super().__init__(description)
        self.status = status
        self.description = description
        self.retry_after = retry_after


def bad_request(words: str) -> ApiError:
    return ApiError(400, f"Bad Request: {words}")


async def read_arguments(request: web.Request) -> Arguments:
    values: dict[str, Any] = dict(request.query)
    if request.content_type in _FORMS:
        form = await with_room(request).post()
        values.update({name: value for name, value in form.items() if isinstance(value, str)})
        return Arguments(
            values, {name: given_file(one) for name, one in form.items() if isinstance(one, web.FileField)}
        )
    if request.can_read_body and (body := await request.read()):
        values.update(_json_object(body))
    return Arguments(values)


@dataclass(frozen=True, slots=True)
class Arguments:
    values: Mapping[str, Any]
    files: Mapping[str, ArrivedFile] = field(default_factory=dict)

    def raw(self, name: str) -> Any:
        return self.values.get(name)

    def text(self, name: str) -> str:
        value = self.values.get(name, "")
        if not isinstance(value, str) or text_problem(value):
            raise bad_request("strings must be encoded in UTF-8")
        return value

    def integer(self, name: str, default: int) -> int:
        value = self.values.get(name)
        if value is None or value == "":
            return default
        if isinstance(value, bool) or not _INTEGER.fullmatch(str(value)):
            raise bad_request(f"can't parse {name}: an integer is expected")
        return int(value)

    def structure(self, name: str) -> Any:
        """A nested value; forms and query strings carry it as JSON text."""
        value = self.values.get(name)
        if not isinstance(value, str):
            return value
        try:
            return json.loads(value) if value else None
        except (ValueError, RecursionError):
            raise bad_request(f"can't parse {name} JSON object") from None


def _json_object(body: bytes) -> dict[str, Any]:
    try:
        value = json.loads(body)
    except (ValueError, RecursionError):
        raise bad_request("can't parse JSON object in the request body") from None
    if not isinstance(value, dict):
        raise bad_request("the request body must be a JSON object")
    return value
