"""What callers send about questions that exist, checked; every wrong field is named as the caller wrote it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from postroom.domain.fields import Fields
from postroom.domain.idempotency_key import MAX_KEY_CHARACTERS
from postroom.work.questions.request import check_wait

MAX_ID_CHARACTERS: Final = 64
MAX_REASON_CHARACTERS: Final = 500
MAX_CURSOR_CHARACTERS: Final = 64
DEFAULT_PAGE: Final = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class WaitCall:
    ask_id: str | None
    key: str | None
    wait_seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class PageCall:
    since: str | None
    limit: int


def given(**arguments: Any) -> dict[str, Any]:
    """What is null or an empty text was not given."""
    return {name: value for name, value in arguments.items() if value is not None and value != ""}


def check_wait_call(arguments: Mapping[str, Any]) -> WaitCall:
    fields = Fields(arguments, whole="arguments")
    call = WaitCall(
        ask_id=fields.optional_text("ask_id", maximum=MAX_ID_CHARACTERS),
        key=fields.optional_text("idempotency_key", maximum=MAX_KEY_CHARACTERS),
        wait_seconds=check_wait(fields),
    )
    fields.finish()
    return call


def check_page_call(arguments: Mapping[str, Any]) -> PageCall:
    """The bounds of `limit` and what a cursor looks like are the work's to judge."""
    fields = Fields(arguments, whole="arguments")
    limit = arguments.get("limit", DEFAULT_PAGE)
    if isinstance(limit, bool) or not isinstance(limit, int):
        fields.complain("limit", "must be a whole number", "number_required")
    since = fields.optional_text("since", maximum=MAX_CURSOR_CHARACTERS)
    fields.finish()
    return PageCall(since=since, limit=limit)


def check_id(arguments: Mapping[str, Any]) -> str:
    fields = Fields(arguments, whole="arguments")
    ask_id = fields.text("ask_id", maximum=MAX_ID_CHARACTERS)
    fields.finish()
    return ask_id.strip()


def check_reason(arguments: Mapping[str, Any]) -> str | None:
    fields = Fields(arguments, whole="arguments")
    fields.refuse_unknown(("reason",))
    reason = fields.optional_text("reason", maximum=MAX_REASON_CHARACTERS)
    fields.finish()
    return reason
