"""What is wrong with the names of a call's arguments."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from postroom.domain.fields import printable
from postroom.domain.nearest import nearest


def unknown_argument(given: Iterable[str], allowed: Collection[str]) -> str | None:
    """One sentence about the first argument that the tool does not have."""
    unknown = next((name for name in given if name not in allowed), None)
    if unknown is None:
        return None
    if not allowed:
        return f"Unknown argument {printable(unknown)}: this tool takes none"
    meant = nearest(unknown, allowed)
    return f"Unknown argument {printable(unknown)}: allowed are {', '.join(allowed)}" + (
        f"; did you mean '{meant}'?" if meant else ""
    )
