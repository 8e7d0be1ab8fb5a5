"""
The shapes the messenger's tools answer in; the framework publishes them as output schemas.

Every answer may be `{"error": …}` instead, so the keys of the outermost shape
are never required by the schema; those of everything inside are.
"""

from __future__ import annotations

from typing import Any, NotRequired

from typing_extensions import TypedDict


class AttemptBody(TypedDict):
    """One call to a provider."""

    attempt_number: int
    started_at: str
    completed_at: str
    latency_ms: float
    outcome: str
    error_class: str | None
    error_message: str | None
    provider_response: str | None
    asked: NotRequired[str | None]  # what the provider said when it was asked whether the message was there already


class DeliverySummary(TypedDict):
    """A delivery without its content."""

    delivery_id: str
    request_id: str
    origin_butler: str
    channel: str
    intent: str
    target_identity: str
    status: str
    priority: str
    attempts: int
    possible_duplicate: bool
    waiting_reason: str | None
    provider_delivery_id: str | None
    terminal_error_class: str | None
    terminal_error_message: str | None
    replay_of: str | None
    replay_number: int | None
    created_at: str
    updated_at: str
    terminal_at: str | None


class DeliveryStatus(TypedDict, total=False):
    error: str
    delivery_id: str
    request_id: str
    idempotency_key: str
    origin_butler: str
    channel: str
    intent: str
    target_identity: str
    status: str
    priority: str
    on_uncertain: str
    attempts: int
    possible_duplicate: bool
    waiting_reason: str | None
    next_attempt_at: str | None
    provider_delivery_id: str | None
    latest_attempt: AttemptBody | None
    terminal_error_class: str | None
    terminal_error_message: str | None
    dead_letter_id: str | None
    replay_of: str | None
    replay_number: int | None
    created_at: str
    updated_at: str
    terminal_at: str | None


class DeliverySearch(TypedDict, total=False):
    error: str
    deliveries: list[DeliverySummary]
    count: int
    limit: int
    next_cursor: str | None


class DeliveryAttempts(TypedDict, total=False):
    error: str
    delivery_id: str
    attempts: list[AttemptBody]
    total_attempts: int


class DeliveryTrace(TypedDict, total=False):
    """`hops`: who called, by which part, and when; `refusals`: what was turned away unstored."""

    error: str
    request_id: str
    hops: list[dict[str, Any]]
    deliveries: list[dict[str, Any]]
    delivery_count: int
    refusals: list[dict[str, Any]]


class DeadLetterSummary(TypedDict):
    dead_letter_id: str
    delivery_id: str
    original_delivery_id: str
    request_id: str
    idempotency_key: str
    origin_butler: str
    channel: str
    intent: str
    target_identity: str
    quarantine_reason: str
    error_class: str | None
    error_summary: str | None
    total_attempts: int
    replay_eligible: bool
    requires_accept_duplicate: bool
    replay_count: int
    discarded_at: str | None
    discard_reason: str | None
    created_at: str


class DeadLetterList(TypedDict, total=False):
    error: str
    dead_letters: list[DeadLetterSummary]
    count: int
    limit: int
    include_discarded: bool
    next_cursor: str | None


class Assessment(TypedDict):
    eligible: bool
    reasons: list[str]
    requires_accept_duplicate: bool
    current_replay_count: int


class EarlierReplayBody(TypedDict):
    delivery_id: str
    replay_number: int
    status: str


class DeadLetterInspection(TypedDict, total=False):
    error: str
    dead_letter_id: str
    delivery_id: str
    original_delivery_id: str
    request_id: str
    idempotency_key: str
    origin_butler: str
    channel: str
    intent: str
    target_identity: str
    quarantine_reason: str
    error_class: str | None
    error_summary: str | None
    total_attempts: int
    first_attempt_at: str | None
    last_attempt_at: str | None
    original_request_envelope: dict[str, Any]
    all_attempt_outcomes: list[AttemptBody]
    replay_eligible: bool
    requires_accept_duplicate: bool
    replay_count: int
    replays: list[EarlierReplayBody]
    replay_eligibility_assessment: Assessment
    discarded_at: str | None
    discard_reason: str | None
    created_at: str


class DeadLetterReplay(TypedDict, total=False):
    error: str
    reasons: list[str]
    status: str
    replayed_delivery_id: str
    original_dead_letter_id: str
    replay_number: int
    idempotency_key: str
    delivery_status: str
    possible_duplicate: bool
    message: str


class DeadLetterDiscard(TypedDict, total=False):
    error: str
    status: str
    dead_letter_id: str
    discarded_at: str
    discard_reason: str
    message: str


class FieldErrorBody(TypedDict):
    field: str
    error: str
    code: str


class Validation(TypedDict, total=False):
    error: str
    valid: bool
    errors: list[FieldErrorBody]


class DuplicateOf(TypedDict):
    delivery_id: str
    status: str


class CorrectionBody(TypedDict, total=False):
    error: dict[str, Any]
    schema_version: str
    status: str
    revises: str | None
    delivery_id: str | None
    how: str | None
    message: str
    error_message: str
    error_class: str
    retryable: bool


class WouldBeHeld(TypedDict):
    until: str | None
    reasons: list[str]
    words: str


class DryRunAnswer(TypedDict, total=False):
    error: str
    valid: bool
    errors: list[FieldErrorBody]
    intent: str
    channel_adapter: str
    target_identity: str
    rate_limit_headroom: dict[str, float]
    in_flight: int
    circuit: str
    duplicate_of: DuplicateOf | None
    may_need_approval: bool
    would_be_held: WouldBeHeld
    would_be_admitted: bool
    refusal: dict[str, Any]


class RecoveryBody(TypedDict):
    failure_threshold: int
    recovery_timeout_seconds: float
    half_open_max_probes: int
    half_open_success_threshold: int


class CircuitBody(TypedDict):
    configured: bool
    state: str
    consecutive_failures: int
    trip_reason: str | None
    trip_timestamp: str | None
    retry_after_seconds: float | None
    last_error_class: str | None
    last_error_message: str | None
    half_open_probes_running: int
    half_open_successes: int
    recovery: RecoveryBody


class CircuitStatus(TypedDict, total=False):
    error: str
    circuits: dict[str, CircuitBody]


class Bucket(TypedDict):
    capacity: int
    available: float
    consumed: float
    refill_rate: float
    window_reset_seconds: float


class RecipientLimit(TypedDict):
    capacity: int
    refill_rate: float


class InFlight(TypedDict):
    current: int
    maximum: int


class Throttle(TypedDict):
    retry_after_seconds: float


RateLimitStatus = TypedDict(
    "RateLimitStatus",
    {
        "error": str,
        "global": Bucket,
        "channels": dict[str, Bucket],
        "recipient": RecipientLimit,
        "in_flight": InFlight,
        "provider_throttles": dict[str, Throttle],
    },
    total=False,
)


class QueueDepth(TypedDict, total=False):
    error: str
    total_in_flight: int
    by_status: dict[str, int]
    by_channel: dict[str, int]
    oldest_age_seconds: float | None


class TimeWindow(TypedDict):
    since: str
    until: str


class FiguresBody(TypedDict):
    total_deliveries: int
    success_count: int
    failed_count: int
    dead_lettered_count: int
    unfinished_count: int
    success_rate: float | None
    retry_rate: float | None
    total_attempts: int
    p50_latency_ms: float | None
    p95_latency_ms: float | None


class DeliveryStats(TypedDict, total=False):
    error: str
    time_window: TimeWindow
    total_deliveries: int
    success_count: int
    failed_count: int
    dead_lettered_count: int
    unfinished_count: int
    success_rate: float | None
    retry_rate: float | None
    total_attempts: int
    p50_latency_ms: float | None
    p95_latency_ms: float | None
    group_by: str
    groups: dict[str, FiguresBody]


class NotifyResponse(TypedDict, total=False):
    """notify_response.v1"""

    schema_version: str
    status: str
    request_context: dict[str, Any]
    delivery: dict[str, Any]
    error: dict[str, Any]
    error_message: str
    error_class: str
    retryable: bool
    action_id: str
