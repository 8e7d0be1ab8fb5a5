"""The trace a delivery belongs to, from the call that asked for it to the last attempt, hours later perhaps."""

from __future__ import annotations

import secrets

from opentelemetry import trace
from opentelemetry.context import Context
from opentelemetry.trace import NonRecordingSpan, SpanContext, TraceFlags


def current_trace_id() -> str | None:
    context = trace.get_current_span().get_span_context()
    return trace.format_trace_id(context.trace_id) if context.is_valid else None


def continued(trace_id: str | None) -> Context | None:
    """None: we are in that trace already, or there is none; otherwise a context that belongs to it."""
    if trace_id is None or trace_id == current_trace_id():
        return None
    parent = SpanContext(
        trace_id=int(trace_id, 16),
        span_id=secrets.randbits(63) + 1,
        is_remote=True,
        trace_flags=TraceFlags(TraceFlags.SAMPLED),
    )
    return trace.set_span_in_context(NonRecordingSpan(parent))
