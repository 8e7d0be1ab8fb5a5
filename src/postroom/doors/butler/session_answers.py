"""Sessions as the tools of a butler show them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from postroom.domain.route import ROUTE_RESPONSE_V1
from postroom.domain.session import Session
from postroom.domain.time import to_text


def accepted(session: Session) -> dict[str, Any]:
    """The answer of `trigger`: the request is stored, and this is where to ask about it."""
    return {"status": "accepted", "session_id": session.id, "session_status": str(session.status)}


def route_accepted(session: Session, request_context: Mapping[str, Any], duration_ms: float) -> dict[str, Any]:
    """The answer of `route.execute` on a butler that works through its model."""
    return {
        "schema_version": ROUTE_RESPONSE_V1,
        "request_context": dict(request_context),
        "status": "accepted",
        "inbox_id": session.id,
        "result": accepted(session),
        "timing": {"duration_ms": round(duration_ms, 3)},
    }


def summary(session: Session) -> dict[str, Any]:
    """One line of `sessions_list`; what was said is only in the details."""
    shown: dict[str, Any] = {
        "session_id": session.id,
        "status": str(session.status),
        "trigger": session.trigger,
        "caller": session.caller,
        "runtime": session.runtime,
        "request_id": session.request_id,
        "attempt": session.attempt,
        "created_at": to_text(session.created_us),
        "started_at": session.started_us and to_text(session.started_us),
        "finished_at": session.finished_us and to_text(session.finished_us),
    }
    if session.started_us and session.finished_us:
        shown["duration_ms"] = round((session.finished_us - session.started_us) / 1000, 3)
    if session.error_class:
        shown["error"] = {"class": session.error_class, "message": session.error_message}
    return shown


def details(session: Session) -> dict[str, Any]:
    """`sessions_get`."""
    return summary(session) | {
        "prompt": session.prompt,
        "request_context": session.context and dict(session.context),
        "crashes": session.crashes,
        "depth": session.depth,
        "transcript": session.transcript and dict(session.transcript),
    }
