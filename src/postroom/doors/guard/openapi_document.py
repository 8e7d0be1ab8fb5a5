"""What an app's OpenAPI document says beyond its routes, added when the document is asked for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from fastapi import FastAPI


def add_to_document(app: FastAPI, add: Callable[[dict[str, Any]], None]) -> None:
    """`add` may be called again on what it has added to: the framework keeps the document."""
    build = app.openapi

    def documented() -> dict[str, Any]:
        document = build()
        add(document)
        return document

    app.openapi = documented  # type: ignore[method-assign]
