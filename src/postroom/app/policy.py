"""The settings, as the delivery plane understands them."""

from __future__ import annotations

from postroom.domain.breaker import BreakerPolicy
from postroom.system.settings import Settings
from postroom.work.delivery.limits import DEFAULT_CHANNEL_LIMITS, LimitPolicy
from postroom.work.delivery.policy import DeliveryPolicy
from postroom.work.delivery.retry import RetryPolicy


def delivery_policy(settings: Settings) -> DeliveryPolicy:
    limits, retry, breaker = settings.limits, settings.retry, settings.breaker
    return DeliveryPolicy(
        limits=LimitPolicy(
            global_per_minute=limits.global_per_minute,
            in_flight=limits.in_flight,
            recipient_per_minute=limits.recipient_per_minute,
            reply_multiplier=limits.reply_multiplier,
            channels={**DEFAULT_CHANNEL_LIMITS, **limits.channels},
        ),
        retry=RetryPolicy(
            max_attempts=retry.max_attempts,
            base_seconds=retry.base_seconds,
            max_seconds=retry.max_seconds,
            jitter=retry.jitter,
            attempts_by_priority=retry.attempts_by_priority,
        ),
        breaker=BreakerPolicy(
            failure_threshold=breaker.failure_threshold,
            recovery_seconds=breaker.recovery_seconds,
            half_open_probes=breaker.half_open_probes,
            half_open_successes=breaker.half_open_successes,
        ),
        timeouts_seconds={"telegram": settings.timeouts.telegram_seconds, "email": settings.timeouts.email_seconds},
        default_timeout_seconds=settings.timeouts.default_seconds,
        on_uncertain=settings.delivery.on_uncertain,
        on_uncertain_by_channel=settings.delivery.on_uncertain_by_channel,
        spacing_seconds={"telegram": settings.delivery.telegram_chat_interval_seconds},
        lease_seconds=settings.delivery.lease_seconds,
        sweep_seconds=settings.delivery.sweep_seconds,
        slots_per_channel=settings.delivery.slots_per_channel,
        sign=settings.messages.sign,
        mark_repeats=settings.messages.mark_repeats,
    )
