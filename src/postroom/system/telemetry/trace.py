"""Spans from the tool call to the provider call; without an exporter only their ids exist."""

from __future__ import annotations

from opentelemetry import trace
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter
from opentelemetry.sdk.trace.sampling import ALWAYS_OFF, ALWAYS_ON


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
