"""How a command that failed says so: what is wrong, and what to do about it."""

from __future__ import annotations

from typing import Any

from postroom.domain.errors import PostroomError, UserError


def failure(error: UserError | PostroomError) -> str:
    """One line. What is made for the keyboard names the next step itself."""
    said = " ".join(str(error).split()) if isinstance(error, PostroomError) else str(error)
    if isinstance(error, UserError):
        return said
    from postroom.domain.hints import hint_of

    return f"{said.rstrip('.')}. {hint_of(error)}"


def failure_document(code: str, message: str, hint: str) -> dict[str, Any]:
    return {"error": {"code": code, "message": message, "hint": hint}}
