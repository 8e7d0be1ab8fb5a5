"""Look up what became of a delivery: what can be asked, how it is read, and how a row is shown."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

from postroom.kernel.values.errors import ErrorClass, ValidationError
from postroom.kernel.values.fields import text_problem
from postroom.kernel.values.ids import is_uuid, parse_text
from postroom.message.delivery import Intent, Status
from postroom.message.wire import MAX_REQUEST_ID_CHARACTERS

DEFAULT_LIMIT: Final = 50
MAX_LIMIT: Final = 500
_LONGEST_WORD: Final = 320


class GroupBy(StrEnum):
    """Each of these puts every delivery in exactly one group."""

    CHANNEL = "channel"
    INTENT = "intent"
    ORIGIN_BUTLER = "origin_butler"
    OUTCOME = "outcome"  # the delivery's status
    ERROR_CLASS = "error_class"  # of its final error; `none` when it has none


@dataclass(frozen=True, slots=True, kw_only=True)
class RowPage:
    """Newest first, below the id `before`: rows that arrive meanwhile cannot shift what follows."""

    limit: int = DEFAULT_LIMIT
    before: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class DeliveryQuery:
    page: RowPage = RowPage()
    origin_butler: str | None = None
    channel: str | None = None
    intent: Intent | None = None
    status: Status | None = None
    since_us: int | None = None
    until_us: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class DeadLetterQuery:
    page: RowPage = RowPage()
    channel: str | None = None
    origin_butler: str | None = None
    error_class: ErrorClass | None = None
    since_us: int | None = None
    include_discarded: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class TimeRange:
    """Both ends belong to it."""

    since_us: int
    until_us: int


# -- What a caller asks of the record; every complaint is one sentence that says what would be right ---


def read_uuid(value: object, name: str) -> str:
    if isinstance(value, str) and is_uuid(value.strip()):
        return value.strip().lower()
    raise ValidationError(f"Invalid {name} format: it is a UUID")


def read_request_id(value: object) -> str:
    text = value.strip() if isinstance(value, str) else ""
    if not text or len(text) > MAX_REQUEST_ID_CHARACTERS or text_problem(text):
        raise ValidationError(f"Invalid request_id format: it is a text of 1 to {MAX_REQUEST_ID_CHARACTERS} characters")
    return text


def read_word(value: object, name: str) -> str | None:
    """A filter by exact text; nothing and blank mean no filter."""
    if value is None or (isinstance(value, str) and not value.strip()):
        return None
    if not isinstance(value, str) or text_problem(value) or len(value) > _LONGEST_WORD:
        raise ValidationError(f"Invalid {name}: it is a text of at most {_LONGEST_WORD} characters")
    return value.strip()


def read_choice(value: object, name: str, allowed: Iterable[str]) -> str | None:
    if value is None or value == "":
        return None
    options = list(allowed)
    if isinstance(value, str) and value.strip() in options:
        return value.strip()
    raise ValidationError(f"Unknown {name} {ascii(value)[:80]}: it is one of {', '.join(options)}")


def read_moment(value: object, name: str) -> int | None:
    if value is None or value == "":
        return None
    try:
        return parse_text(value.strip() if isinstance(value, str) else "")
    except (ValueError, OverflowError):
        raise ValidationError(
            f"Invalid {name} timestamp: it is RFC 3339 with an offset, such as 2026-01-31T08:00:00Z"
        ) from None


def read_span(since: object, until: object) -> tuple[int | None, int | None]:
    since_us, until_us = read_moment(since, "since"), read_moment(until, "until")
    if since_us is not None and until_us is not None and since_us > until_us:
        raise ValidationError("Invalid time range: since is later than until")
    return since_us, until_us


def read_limit(value: object) -> int:
    """Too small and too large are brought into range rather than refused."""
    if value is None:
        return DEFAULT_LIMIT
    if isinstance(value, str) and value.strip().lstrip("-").isdecimal() and len(value) <= 20:
        value = int(value)
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int):
        raise ValidationError(f"Invalid limit: it is a whole number from 1 to {MAX_LIMIT}")
    return min(max(value, 1), MAX_LIMIT)


def read_flag(value: object, name: str) -> bool:
    if value is None:
        return False
    if isinstance(value, bool):
        return value
    raise ValidationError(f"Invalid {name}: it is true or false")


def read_reason(value: object) -> str:
    reason = value.strip() if isinstance(value, str) else ""
    if not reason:
        raise ValidationError("A reason is required: it must not be blank")
    if len(reason) > 1000 or text_problem(reason):
        raise ValidationError("Invalid reason: it is a text of at most 1000 characters")
    return reason


def read_page(kind: str, limit: object, cursor: object) -> RowPage:
    return RowPage(limit=read_limit(limit), before=_opened(kind, cursor))


def in_pages(
    kind: str, rows: Sequence[dict[str, object]], page: RowPage, id_name: str
) -> tuple[list[dict[str, object]], Any]:
    """The page out of at most one row more than it holds, and the cursor of the next one."""
    shown = list(rows[: page.limit])
    if len(rows) <= page.limit:
        return shown, None
    return shown, base64.urlsafe_b64encode(f"{kind}:{shown[-1][id_name]}".encode()).decode().rstrip("=")


def _opened(kind: str, cursor: object) -> str | None:
    if cursor is None or cursor == "":
        return None
    try:
        padded = str(cursor).encode("ascii") + b"=" * (-len(str(cursor)) % 4)
        found_kind, _, row_id = base64.b64decode(padded, altchars=b"-_", validate=True).decode().partition(":")
    except (ValueError, binascii.Error):
        found_kind, row_id = "", ""
    if not isinstance(cursor, str) or found_kind != kind or not is_uuid(row_id):
        raise ValidationError("Invalid cursor: pass next_cursor of the page before, unchanged")
    return row_id
