"""JSON that every reader can read: Python would write NaN and Infinity, which JSON does not have."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any


def strict_json(value: Any, **how: Any) -> str:
    """What is no number becomes null; everything else is written as it is."""
    try:
        return json.dumps(value, allow_nan=False, **how)
    except ValueError:
        return json.dumps(_finite(value), allow_nan=False, **how)


def _finite(value: Any) -> Any:
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {name: _finite(one) for name, one in value.items()}
    return [_finite(one) for one in value] if isinstance(value, list | tuple) else value
