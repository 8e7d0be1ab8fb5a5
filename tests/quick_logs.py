"""Logs of tests, with plain tracebacks: structlog draws and colours one for most of a second."""

from __future__ import annotations

import structlog


def configure() -> None:
    structlog.reset_defaults()
    before_drawing = structlog.get_config()["processors"][:-1]
    plain = structlog.dev.ConsoleRenderer(colors=False, exception_formatter=structlog.dev.plain_traceback)
    structlog.configure(processors=[*before_drawing, plain])
