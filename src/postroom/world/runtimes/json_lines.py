"""Events printed one per line, among lines that are not ours to understand."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any


def events(output: bytes) -> Iterator[Mapping[str, Any]]:
    """A line that is no JSON object, or was cut off, is passed over."""
    for line in output.splitlines():
        try:
            event = json.loads(line)
        except (ValueError, RecursionError):
            continue
        if isinstance(event, Mapping):
            yield event


def within(event: Mapping[str, Any], *names: str) -> Mapping[str, Any]:
    """A nested object, or an empty one where the shape is another."""
    found: Any = event
    for name in names:
        found = found.get(name) if isinstance(found, Mapping) else None
    return found if isinstance(found, Mapping) else {}


def items(event: Mapping[str, Any], *names: str) -> list[Mapping[str, Any]]:
    found = within(event, *names[:-1]).get(names[-1])
    return [item for item in found if isinstance(item, Mapping)] if isinstance(found, list) else []


def text_of(event: Mapping[str, Any], name: str) -> str:
    value = event.get(name)
    return value if isinstance(value, str) else ""


def number(event: Mapping[str, Any], name: str) -> int:
    value = event.get(name)
    return value if isinstance(value, int) and not isinstance(value, bool) else 0
