"""The trace a delivery belongs to, from the call that asked for it to the last attempt, hours later perhaps."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from typing import Final

from opentelemetry import trace
from opentelemetry.context import Context
from opentelemetry.sdk.trace.sampling import ALWAYS_OFF
from opentelemetry.trace import INVALID_SPAN, NonRecordingSpan, Span, SpanContext, TraceFlags

from postroom.domain.ids import DeliveryId

_NO_SPAN: Final = nullcontext(INVALID_SPAN)


def span(name: str, attributes: Mapping[str, str], trace_id: str | None = None) -> AbstractContextManager[Span]:
    """Costs next to nothing while nobody collects spans; a given trace is continued."""
    provider = trace.get_tracer_provider()
    if getattr(provider, "sampler", None) is ALWAYS_OFF:
        return _NO_SPAN
    tracer = provider.get_tracer("postroom.delivery")
    return tracer.start_as_current_span(
        name, context=continued(trace_id), attributes=dict(attributes), record_exception=False
    )


def trace_id_for_delivery(delivery_id: DeliveryId) -> str:
    """The caller's trace; a delivery nobody traces has one of its own: its id, so that its logs can still be found."""
    return current_trace_id() or delivery_id.replace("-", "")


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
