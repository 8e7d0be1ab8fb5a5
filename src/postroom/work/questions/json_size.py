"""How long something is as JSON, when it can be said in JSON at all."""

from __future__ import annotations

import json


def json_size(value: object) -> int | None:
    """In bytes; None when JSON, or a text that can be kept, cannot say it."""
    try:
        return len(json.dumps(value, allow_nan=False, ensure_ascii=False).encode())
    except (TypeError, ValueError, RecursionError):
        return None
