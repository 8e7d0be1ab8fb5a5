"""Structured logs: one event name and its fields as a line of JSON, secrets and bodies never."""

from __future__ import annotations

import logging
import re
import sys
from collections.abc import MutableMapping
from typing import Any, Final, TextIO

import structlog

_HIDDEN: Final = frozenset(
    {"token", "password", "authorization", "secret", "message_content", "message_text", "body", "subject", "envelope"}
)
_TOKENS: Final = re.compile(r"\b\d{3,12}:[A-Za-z0-9_-]{5,}|\bpr_[a-z]+_[A-Za-z0-9_-]{16,}|://[^/\s:@]+:[^/\s@]+@")


def configure(level: str = "INFO", stream: TextIO | None = None) -> None:
    """Also takes over the standard library's loggers, so that no library prints past the filter."""
    processors: list[structlog.types.Processor] = [
        structlog.contextvars.merge_contextvars,
        structlog.stdlib.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        redact,
    ]
    structlog.configure(
        processors=[*processors, structlog.processors.JSONRenderer(ensure_ascii=False)],
        wrapper_class=structlog.make_filtering_bound_logger(getattr(logging, level)),
        logger_factory=structlog.PrintLoggerFactory(stream or sys.stderr),
        cache_logger_on_first_use=False,
    )
    handler = logging.StreamHandler(stream or sys.stderr)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            processor=structlog.processors.JSONRenderer(ensure_ascii=False), foreign_pre_chain=processors
        )
    )
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(logging.WARNING)


def redact(_logger: Any, _method: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    for name, value in event.items():
        if name in _HIDDEN:
            event[name] = "***"
        elif isinstance(value, str):
            event[name] = scrub(value)
    return event


def scrub(text: str) -> str:
    """Bot tokens, our own tokens and credentials inside URLs, wherever they turn up."""
    return _TOKENS.sub("***", text)
