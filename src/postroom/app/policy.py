"""The settings, as the delivery plane understands them."""

from __future__ import annotations

from postroom.domain.breaker import BreakerPolicy
from postroom.domain.capabilities import KnownChannels
from postroom.system.settings import Settings
from postroom.work.delivery.limits import SCOPES, LimitPolicy
from postroom.work.delivery.policy import DeliveryPolicy
from postroom.work.delivery.retry import RetryPolicy


def delivery_policy(settings: Settings, known: KnownChannels) -> DeliveryPolicy:
    """What a channel asks for stands in `known`, with the household's own numbers in its place where there are any."""
    return DeliveryPolicy(
        limits=_limit_policy(settings, known),
        retry=retry_policy(settings),
        breaker=breaker_policy(settings),
        timeouts_seconds={name: one.timeout_seconds for name, one in known.items() if one.timeout_seconds is not None},
        default_timeout_seconds=settings.timeouts.default_seconds,
        on_uncertain=settings.delivery.on_uncertain,
        on_uncertain_by_channel=settings.delivery.on_uncertain_by_channel,
        spacing_seconds={name: one.spacing_seconds for name, one in known.items()},
        lease_seconds=settings.delivery.lease_seconds,
        sweep_seconds=settings.delivery.sweep_seconds,
        slots_per_channel=settings.delivery.slots_per_channel,
        sign=settings.messages.sign,
        mark_repeats=settings.messages.mark_repeats,
    )


def retry_policy(settings: Settings) -> RetryPolicy:
    retry = settings.retry
    return RetryPolicy(
        max_attempts=retry.max_attempts,
        base_seconds=retry.base_seconds,
        max_seconds=retry.max_seconds,
        jitter=retry.jitter,
        attempts_by_priority=retry.attempts_by_priority,
    )


def breaker_policy(settings: Settings) -> BreakerPolicy:
    breaker = settings.breaker
    return BreakerPolicy(
        failure_threshold=breaker.failure_threshold,
        recovery_seconds=breaker.recovery_seconds,
        half_open_probes=breaker.half_open_probes,
        half_open_successes=breaker.half_open_successes,
    )


def _limit_policy(settings: Settings, known: KnownChannels) -> LimitPolicy:
    limits = settings.limits
    return LimitPolicy(
        global_per_minute=limits.global_per_minute,
        in_flight=limits.in_flight,
        recipient_per_minute=limits.recipient_per_minute,
        reply_multiplier=limits.reply_multiplier,
        channels={**_per_minute(known), **limits.channels},
    )


def _per_minute(known: KnownChannels) -> dict[str, int]:
    scoped = {
        f"{name}.{scope}": limit
        for name, one in known.items()
        for scope, limit in zip(SCOPES, (one.bot_per_minute, one.user_per_minute), strict=True)
    }
    return {scope: limit for scope, limit in scoped.items() if limit is not None}
