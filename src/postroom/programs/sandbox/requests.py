"""What the sandbox's own routes read from a request, and how they answer."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from aiohttp import web

from postroom.domain.errors import FieldError, ValidationError

DEFAULT_LIMIT = 1_000
MAX_LIMIT = 10_000


@dataclass(frozen=True, slots=True, kw_only=True)
class ListWindow:
    """Which part of a list was asked for."""

    since: int | None
    limit: int


def answer(body: dict[str, Any], status: int = 200) -> web.Response:
    return web.json_response({"sandbox": True, **body}, status=status)


def invalid(field: str, error: str, code: str) -> ValidationError:
    return ValidationError.of([FieldError(field, error, code)])


def asked_window(request: web.Request) -> ListWindow:
    since, limit = request.query.get("since"), request.query.get("limit", str(DEFAULT_LIMIT))
    complaints = []
    if since is not None and not _is_number(since):
        complaints.append(FieldError("since", "must be a number from an earlier listing", "integer_required"))
    if not _is_number(limit) or not 1 <= int(limit) <= MAX_LIMIT:
        complaints.append(FieldError("limit", f"must be between 1 and {MAX_LIMIT}", "out_of_range"))
    if complaints:
        raise ValidationError.of(complaints)
    return ListWindow(since=None if since is None else int(since), limit=int(limit))


async def read_json(request: web.Request) -> object:
    try:
        value: object = json.loads(await request.read())
    except (ValueError, RecursionError):
        raise invalid("body", "must be JSON", "json_required") from None
    return value


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdecimal() and len(text) <= 18
