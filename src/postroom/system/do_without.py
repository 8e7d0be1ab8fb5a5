"""Libraries that others import where they find them, and do without where they do not."""

from __future__ import annotations

import sys
from typing import Any, cast


def do_without(*libraries: str) -> None:
    """In this process, from now on: Python is told that there are none. One that is imported already stays."""
    for name in libraries:
        cast(dict[str, Any], sys.modules).setdefault(name, None)
