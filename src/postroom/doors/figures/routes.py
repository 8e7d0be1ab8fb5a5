"""`GET /v1/figures`: the household's figures over a span; for a person other than the owner their own."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Query

from postroom.domain.ports import Clock
from postroom.domain.span_figures import FigureSpan
from postroom.doors.figures.document import report_document
from postroom.doors.figures.models import HouseholdFiguresAnswer
from postroom.doors.guard.depends import Caller
from postroom.doors.guard.json_door import JsonRoute, failures
from postroom.work.figures.figures import LONGEST_NAME, FigureWish, HouseholdFigures

Span = Annotated[FigureSpan, Query(description="By the hour for `24h`, by the day for `7d` and `30d`.")]
Name = Annotated[str | None, Query(min_length=1, max_length=LONGEST_NAME)]


def figures_router(figures: HouseholdFigures, clock: Clock) -> APIRouter:
    router = APIRouter(route_class=JsonRoute, tags=["figures"], responses=failures(401, 403, 422, 503))

    @router.get(
        "/v1/figures",
        operation_id="householdFigures",
        summary="What was sent, held and asked over a span, by stretch, channel and agent",
        response_model=HouseholdFiguresAnswer,
    )
    async def get(
        caller: Caller, span: Span = FigureSpan.WEEK, channel: Name = None, agent: Name = None
    ) -> dict[str, Any]:
        wish = FigureWish(span=span, channel=_kept(channel), agent=_kept(agent))
        return {"ok": True, **report_document(await figures.report(caller, wish, clock.now_us()))}

    return router


def _kept(name: str | None) -> str | None:
    """Without the one character that no database keeps."""
    return name.replace("\0", "") if name else None
