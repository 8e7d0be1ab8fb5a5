"""Correct a message from its page: another text, or take it back; both work without script."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from starlette.exceptions import HTTPException
from starlette.responses import Response

from postroom.domain.errors import PostroomError
from postroom.domain.ids import is_uuid
from postroom.doors.console.ports import Tools
from postroom.doors.console.visit import ConsolePage, Visit

_PATIENCE_SECONDS: Final = 5.0
_MARGIN_SECONDS: Final = 20.0
_OPEN: Final = frozenset({"awaiting_approval", "pending", "in_progress", "delivered"})


def can_correct(file: Mapping[str, Any]) -> bool:
    """A card is the household's own, a correction is corrected by its message, and what is gone stays so."""
    delivery = file["delivery"]
    recalled = any(one["act"] == "recall" and one["status"] not in ("failed", None) for one in file["corrections"])
    own = delivery["origin_butler"] == "questions" or delivery.get("revises") is not None
    return delivery["status"] in _OPEN and not own and not recalled


def correction_pages(tools: Tools) -> Sequence[ConsolePage]:
    async def revise(visit: Visit) -> Response:
        return await _done(
            visit, tools, "revise_delivery", {"message": visit.form.get("message").replace("\r\n", "\n")}
        )

    async def recall(visit: Visit) -> Response:
        if visit.form.get("sure") != "yes":
            return visit.go(_page(visit), "Nothing was recalled: tick that you mean it.", "bad")
        return await _done(visit, tools, "recall_delivery", {"reason": visit.form.get("reason").strip()})

    return (
        ConsolePage("/deliveries/{id}/revise", revise, "POST"),
        ConsolePage("/deliveries/{id}/recall", recall, "POST"),
    )


def _page(visit: Visit) -> str:
    if not is_uuid(visit.path["id"]):
        raise HTTPException(404)
    return f"/deliveries/{visit.path['id'].lower()}"


async def _done(visit: Visit, tools: Tools, tool: str, asked: Mapping[str, Any]) -> Response:
    """As the person who is signed in; the messenger knows whether they may."""
    page = _page(visit)
    arguments = {"delivery_id": visit.path["id"].lower(), "wait_seconds": _PATIENCE_SECONDS, **asked}
    try:
        told = await tools.call(visit.principal, tool, arguments, _PATIENCE_SECONDS + _MARGIN_SECONDS)
    except PostroomError as error:
        return visit.go(page, f"Nothing was done: {error.message}.", "bad")
    if told["status"] == "error":
        return visit.go(page, f"Nothing was done: {told['error_message']}.", "bad")
    return visit.go(page, str(told["message"]), "bad" if told["status"] == "too_late" else "good")
