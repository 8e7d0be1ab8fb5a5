"""What a household may set about deliveries, what makes two requests one, and the trace they belong to."""

from __future__ import annotations

import hashlib
import json
import secrets
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any, Final

from opentelemetry import trace
from opentelemetry.context import Context
from opentelemetry.sdk.trace.sampling import ALWAYS_OFF
from opentelemetry.trace import INVALID_SPAN, NonRecordingSpan, Span, SpanContext, TraceFlags

from postroom.delivery.model import NewDelivery
from postroom.delivery.rules.breaker import BreakerPolicy
from postroom.delivery.rules.limits import LimitPolicy
from postroom.delivery.rules.retry import RetryPolicy
from postroom.kernel.values.ids import DeliveryId, record
from postroom.message.delivery import Format, OnUncertain, folded
from postroom.message.markup import markup_text
from postroom.message.outgoing import Outgoing
from postroom.message.wire import notify_document

_MARGIN_SECONDS = 15.0
_FILE_BYTES_PER_SECOND = 250_000
_LONGEST_UPLOAD_SECONDS = 240.0
_document = json.JSONEncoder(ensure_ascii=False, check_circular=False, separators=(",", ":")).encode


@dataclass(frozen=True, slots=True, kw_only=True)
class DeliveryPolicy:
    limits: LimitPolicy = field(default_factory=LimitPolicy)
    retry: RetryPolicy = field(default_factory=RetryPolicy)
    breaker: BreakerPolicy = field(default_factory=BreakerPolicy)
    timeouts_seconds: Mapping[str, float] = field(default_factory=dict)
    default_timeout_seconds: float = 30.0
    on_uncertain: OnUncertain = OnUncertain.RESEND
    on_uncertain_by_channel: Mapping[str, OnUncertain] = field(default_factory=dict)
    spacing_seconds: Mapping[str, float] = field(default_factory=dict)
    lease_seconds: float = 30.0
    sweep_seconds: float = 5.0
    slots_per_channel: int = 32
    patience_seconds: float = 5.0  # longer waits go back to the ledger instead of holding a slot
    sign: bool = False
    mark_repeats: bool = True

    def timeout_seconds(self, channel: str, file_bytes: int = 0) -> float:
        """Of one call; files get the time that they take on a slow line."""
        usual = self.timeouts_seconds.get(channel)
        if usual is None:
            usual = self.timeouts_seconds.get(channel.strip().lower(), self.default_timeout_seconds)
        if not file_bytes:
            return usual
        return usual + min(file_bytes / _FILE_BYTES_PER_SECOND, _LONGEST_UPLOAD_SECONDS)

    def sending_lease_seconds(self, channel: str, file_bytes: int = 0) -> float:
        """A lease must outlast the call it covers."""
        covered = self.timeout_seconds(channel, file_bytes) + _MARGIN_SECONDS
        return covered if covered > self.lease_seconds else self.lease_seconds

    def asking_seconds(self, channel: str) -> float:
        """Asking whether something arrived must end well within the lease of the claim that asks."""
        return min(self.timeout_seconds(channel), self.lease_seconds / 2)

    def uncertain(self, channel: str, asked: OnUncertain | None) -> OnUncertain:
        return asked or self.on_uncertain_by_channel.get(channel, self.on_uncertain)


# -- The key of a request, and what counts as the same request ---

_HASHED: Final = 64  # the length of what `_hash` gives


@record
class Identity:
    """`fingerprint` tells whether two requests under one caller's key really are the same."""

    key: str
    fingerprint: str
    fresh: bool  # nobody can have used this key before, so there is nothing to look up


@record
class DeliveryDraft:
    """
    What would be stored of a message, and under which identity.

    `parts`: its text as its channel has read it; None until it has, which may cost more than all the rest.
    """

    outgoing: Outgoing
    new: NewDelivery
    identity: Identity
    parts: Sequence[Any] | None = None

    def released(self, outgoing: Outgoing, request_id: str) -> DeliveryDraft | None:
        """The same delivery under the key it leaves with; None where the message itself has become another."""
        own, new = self.outgoing, self.new
        keyed = replace(own, idempotency_key=outgoing.idempotency_key, released=outgoing.released, wish=outgoing.wish)
        if outgoing != keyed:
            return None
        identity = identify(outgoing, request_id=request_id, target_identity=new.target_identity)
        new = replace(
            new,
            idempotency_key=identity.key,
            fingerprint=identity.fingerprint,
            request_id=request_id,
            envelope=envelope_text(outgoing, new.message),
        )
        return replace(self, outgoing=outgoing, new=new, identity=identity)


def envelope_text(outgoing: Outgoing, text: str) -> str:
    """notify.v1 as it is kept beside the text that is sent, and without that text."""
    envelope = notify_document(outgoing)
    if text == outgoing.message:
        envelope["delivery"]["message"] = None
    return _document(envelope)


def identify(outgoing: Outgoing, *, request_id: str, target_identity: str) -> Identity:
    """
    A caller's own key stands for itself within its butler. Otherwise the key is
    the request and everything that would make it another message.
    """
    way = _way(outgoing.origin_butler, outgoing.intent, outgoing.channel)
    target = _normal(target_identity)
    same = f"{way}{len(target)}:{target}{_HASHED}:{content_hash(outgoing)}"
    if outgoing.idempotency_key is None:
        request = _normal(request_id)
        derived = _hash(f"{len(request)}:{request}{same}")
        return Identity(key=derived, fingerprint=derived, fresh=outgoing.context is None)
    key = caller_key(outgoing.origin_butler, outgoing.idempotency_key)
    return Identity(key=key, fingerprint=_hash(same), fresh=False)


def caller_key(origin_butler: str, key: str) -> str:
    """What a caller's own key is in the ledger."""
    return digest(["caller", _normal(origin_butler), key.strip()])


def content_hash(outgoing: Outgoing) -> str:
    """Trimmed, but in its own case: "US" is not "us"."""
    subject, message, emoji = (outgoing.subject or "").strip(), outgoing.message.strip(), (outgoing.emoji or "").strip()
    text = f"{len(subject)}:{subject}{len(message)}:{message}{len(emoji)}:{emoji}"
    parts: list[str] = []
    if outgoing.markup is not None or outgoing.revises is not None:
        parts += [markup_text(outgoing.markup) or "", outgoing.revises or ""]
    if outgoing.deletes or outgoing.follows is not None:
        parts.append(f"deletes:{outgoing.deletes}:follows:{outgoing.follows}")
    if outgoing.format is not Format.PLAIN:
        parts.append(f"format:{outgoing.format}")
    parts += [f"file:{one.sha256}:{one.media_type}:{one.name}" for one in outgoing.attachments]
    return _hash(text + _joined(parts)) if parts else _hash(text)


def replay_key(original_key: str, number: int) -> str:
    return f"{original_key.split('::replay-')[0]}::replay-{number}"


@lru_cache(maxsize=1024)  # there are few butlers, and fewer ways
def _way(origin_butler: str, intent: str, channel: str) -> str:
    return _joined([_normal(one) for one in (origin_butler, intent, channel)])


def _normal(text: str) -> str:
    return folded(text.strip())


def digest(parts: list[str]) -> str:
    return _hash(_joined(parts))


def _joined(parts: list[str]) -> str:
    """Each with its length before it, so that no joint is ambiguous."""
    return "".join([f"{len(part)}:{part}" for part in parts])


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


# -- The trace a delivery belongs to, from the call that asked for it to the last attempt, hours later perhaps ---

_NO_SPAN: Final = nullcontext(INVALID_SPAN)


def span(name: str, attributes: Mapping[str, str], trace_id: str | None = None) -> AbstractContextManager[Span]:
    """Costs next to nothing while nobody collects spans; a given trace is continued."""
    provider = trace.get_tracer_provider()
    if getattr(provider, "sampler", None) is ALWAYS_OFF:
        return _NO_SPAN
    tracer = provider.get_tracer("postroom.delivery")
    return tracer.start_as_current_span(
        name, context=_continued(trace_id), attributes=dict(attributes), record_exception=False
    )


def trace_id_for_delivery(delivery_id: DeliveryId) -> str:
    """The caller's trace; a delivery nobody traces has one of its own: its id, so that its logs can still be found."""
    return current_trace_id() or delivery_id.replace("-", "")


def current_trace_id() -> str | None:
    context = trace.get_current_span().get_span_context()
    return trace.format_trace_id(context.trace_id) if context.is_valid else None


def _continued(trace_id: str | None) -> Context | None:
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
