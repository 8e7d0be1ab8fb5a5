"""Logs as lines of JSON without secrets and bodies, counts for Prometheus, spans from the tool call to the provider."""

from __future__ import annotations

import io
import json
import logging
import re
import sys
import traceback
from collections.abc import Mapping, MutableMapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Final, TextIO

import structlog
from opentelemetry import trace
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter
from opentelemetry.sdk.trace.sampling import ALWAYS_OFF, ALWAYS_ON
from prometheus_client import CollectorRegistry, Counter

# Logs: one event name and its fields.

_PLACES: Final = 3
_HIDDEN_VALUE: Final = "***"
_HIDDEN: Final = frozenset(
    {"token", "password", "authorization", "secret", "message_content", "message_text", "body", "subject", "envelope"}
)
_TOKENS: Final = re.compile(r"\b\d{3,12}:[A-Za-z0-9_-]{5,}|\bpr_[a-z]+_[A-Za-z0-9_-]{16,}|://[^/\s:@]+:[^/\s@]+@")


def configure_log(level: str = "INFO", stream: TextIO | None = None) -> None:
    """
    JSON for programs, a readable line each for the eyes at a terminal.

    Also takes over the standard library's loggers, so that no library prints past the filter.
    """
    unbreakable = _Unbreakable(stream or sys.stderr)
    written: structlog.types.Processor = structlog.processors.JSONRenderer(ensure_ascii=False)
    if unbreakable.isatty():
        written = _readable
    processors: list[structlog.types.Processor] = [
        structlog.contextvars.merge_contextvars,
        structlog.stdlib.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        _tell_exception,
        redact,
    ]
    structlog.configure(
        processors=[*processors, written],
        wrapper_class=structlog.make_filtering_bound_logger(getattr(logging, level)),
        logger_factory=lambda *_: structlog.PrintLogger(unbreakable),
        cache_logger_on_first_use=False,
    )
    handler = logging.StreamHandler(unbreakable)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            processor=written,
            foreign_pre_chain=[_first_line, *processors],
        )
    )
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(logging.WARNING)


class _Unbreakable(io.StringIO):
    """A full disk or a reader that went away costs the line, never the work that was to be told of."""

    def __init__(self, stream: TextIO) -> None:
        super().__init__()
        self._stream = stream

    def write(self, text: str) -> int:
        with suppress(OSError, ValueError):  # a closed stream raises ValueError
            self._stream.write(text)
        return len(text)

    def flush(self) -> None:
        with suppress(OSError, ValueError):
            self._stream.flush()

    def isatty(self) -> bool:
        with suppress(OSError, ValueError):
            return self._stream.isatty()
        return False


def _tell_exception(_logger: Any, _method: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    """Its kind and its place: what an exception says may be what somebody wrote to somebody."""
    told = event.pop("exc_info", None)
    error = told if isinstance(told, BaseException) else (told[1] if isinstance(told, tuple) else None)
    error = sys.exc_info()[1] if told is True else error
    if isinstance(error, BaseException):
        event["error_type"] = type(error).__name__
        places = traceback.extract_tb(error.__traceback__)[-_PLACES:]
        event["error_at"] = " < ".join(f"{Path(one.filename).name}:{one.lineno}" for one in reversed(places))
    return event


def _first_line(_logger: Any, _method: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    """Libraries put a repr of what failed, and with it what was said, on the lines after the first."""
    event["event"] = str(event.get("event")).split("\n", 1)[0]
    return event


def _readable(_logger: Any, _method: str, event: MutableMapping[str, Any]) -> str:
    """One line, whatever a value holds: what a terminal would obey, or show somewhere else, is written as its code."""
    moment, level, name = (str(event.pop(key, "")) for key in ("timestamp", "level", "event"))
    fields = "".join(f"  {key}={_seen(value)}" for key, value in event.items())
    return f"{moment[11:19]}Z {level:<8} {name if name.isprintable() else json.dumps(name)}{fields}"


def _seen(value: Any) -> str:
    if isinstance(value, str) and value.isprintable():
        return value if value and " " not in value else f'"{value}"'
    return json.dumps(value, default=str)


def redact(_logger: Any, _method: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    for name, value in event.items():
        if not name.startswith("_"):  # structlog's own
            event[name] = _HIDDEN_VALUE if name in _HIDDEN else _redacted(value)
    return event


def _redacted(value: Any) -> Any:
    match value:
        case str():
            return scrub(value)
        case Mapping():
            return {key: _HIDDEN_VALUE if key in _HIDDEN else _redacted(inner) for key, inner in value.items()}
        case list() | tuple() | set() | frozenset():
            return [_redacted(inner) for inner in value]
        case None | bool() | int() | float():
            return value
        case _:
            return scrub(str(value))


def scrub(text: str) -> str:
    """Bot tokens, our own tokens and credentials inside URLs, wherever they turn up."""
    return _TOKENS.sub(_HIDDEN_VALUE, text)


# Counts the rounds of background loops that failed, for Prometheus.


class LoopMeter:
    def __init__(self, registry: CollectorRegistry) -> None:
        self._errors = Counter(
            "postroom_loop_errors", "Rounds of background work that failed", ["loop", "kind"], registry=registry
        )

    def failed(self, loop: str, kind: str) -> None:
        self._errors.labels(loop, kind).inc()


# Spans from the tool call to the provider call; without an exporter only their ids exist.


def configure_tracing(exporter: SpanExporter | None) -> TracerProvider:
    """An unsampled span still has a trace id, which is what the ledger keeps."""
    sampler = ALWAYS_ON if exporter else ALWAYS_OFF
    provider = TracerProvider(resource=Resource.create({"service.name": "postroom"}), sampler=sampler)
    if exporter:
        provider.add_span_processor(BatchSpanProcessor(exporter))
    trace.set_tracer_provider(provider)
    return provider


def needs_a_span() -> bool:
    """Not inside one that nobody keeps: its child would have the same trace id and tell nobody anything else."""
    span = trace.get_current_span()
    return span.is_recording() or not span.get_span_context().is_valid


def otlp_exporter(endpoint: str) -> SpanExporter:
    """Needs the `otlp` extra."""
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter

    exporter: SpanExporter = OTLPSpanExporter(endpoint=endpoint)
    return exporter
