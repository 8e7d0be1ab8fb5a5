"""The API port: health, metrics, and the routers other doors bring."""

from __future__ import annotations

from collections.abc import Sequence

from fastapi import APIRouter, FastAPI, Response
from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, generate_latest
from starlette.types import ASGIApp

from postroom.guard.http import Guard, Verifier
from postroom.guard.json_door import answer_in_one_shape

PUBLIC = ("/health", "/openapi.json", "/metrics")


def api_app(
    registry: CollectorRegistry,
    verifier: Verifier,
    *,
    routers: Sequence[APIRouter] = (),
    hosts: tuple[str, ...],
    origins: tuple[str, ...],
) -> ASGIApp:
    app = FastAPI(title="Postroom", version="1", docs_url=None, redoc_url=None)

    @app.get("/health", operation_id="health", summary="Whether this part is up")
    async def health() -> dict[str, str]:
        return {"status": "ok", "part": "api"}

    @app.get("/metrics", operation_id="metrics", summary="Figures for Prometheus", response_class=Response)
    async def metrics() -> Response:
        return Response(generate_latest(registry), media_type=CONTENT_TYPE_LATEST)

    answer_in_one_shape(app)
    for router in routers:
        app.include_router(router)
    return Guard(app, verifier=verifier, public=PUBLIC, hosts=hosts, origins=origins)
