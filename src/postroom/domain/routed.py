"""What a butler made of a route."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from postroom.domain.errors import PostroomError
from postroom.domain.record import record

NOTIFY_RESPONSE_V1: Final = "notify_response.v1"


@record
class Routed:
    """What a butler made of a route; `result` is there when it has finished, `error` when it did not take it."""

    result: Mapping[str, Any] | None = None
    finished: bool = False
    error: PostroomError | None = None
    retryable: bool = False
