"""What the gateway's routes take from a path or a query, and how they may refuse."""

from __future__ import annotations

from typing import Annotated, Final

from fastapi import Path, Query
from pydantic import AfterValidator

from postroom.domain.intent import IntentStatus
from postroom.doors.guard.json_door import failures

UUID: Final = "^[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}$"
REFUSALS: Final = failures(400, 401, 403, 404, 409, 413, 422, 503)


_WORDS: Final = "|".join(IntentStatus)


def place_of(since: str | None) -> str | int | None:
    return int(since) if since and since.isdigit() else _as_stored(since)


def statuses_of(words: str) -> list[IntentStatus]:
    return [IntentStatus(word) for word in words.split(",")]


def _as_stored(text: str | None) -> str | None:
    return text.lower() if text else None


Id = Annotated[str, Path(pattern=UUID), AfterValidator(_as_stored)]
OwnAgent = Annotated[
    str | None, Query(max_length=255, alias="owner_agent", description="As whom; the caller's own agent by default.")
]
Cursor = Annotated[
    str | None,
    Query(pattern=UUID, description="`next_cursor` of the page before."),
    AfterValidator(_as_stored),
]
Limit = Annotated[int, Query(ge=1, le=200)]
Since = Annotated[int, Query(ge=0, le=2_000_000_000, description="The last `seq` you have seen.")]
Place = Annotated[
    str | None,
    Query(pattern=f"^[0-9]{{1,18}}$|{UUID}", description="The last `seq` you have seen, or the last intent."),
]
Statuses = Annotated[
    str | None,
    Query(
        pattern=f"^({_WORDS})(,({_WORDS}))*$",
        description="Only of these, such as SUBMITTED,WAITING; unanswered if not given.",
    ),
]
Wait = Annotated[float, Query(ge=0, le=60, description="How long the stream stays open without an end.")]
