"""An error as an answer: the caller gets a sentence, never a stack."""

from __future__ import annotations

from collections.abc import Awaitable
from typing import Any, TypeVar, cast

from postroom.domain.errors import PostroomError

Shape = TypeVar("Shape")


async def told(shape: type[Shape], work: Awaitable[dict[str, Any]]) -> Shape:
    """The framework holds the answer against the shape before it leaves."""
    try:
        return cast(Shape, await work)
    except PostroomError as error:
        return cast(Shape, {"error": error.message})
