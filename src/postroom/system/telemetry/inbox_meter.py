"""Counts what the inbox does, for Prometheus and the log."""

from __future__ import annotations

import structlog
from prometheus_client import CollectorRegistry, Counter

from postroom.domain.email_copy import Batch, Defer, Drop, Ending, GivenUp, HandedOver, Send, TryAgain, Verdict
from postroom.domain.notification import Notification
from postroom.domain.time import to_text


class PrometheusInboxMeter:
    """Neither texts nor addresses are written down."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._log = structlog.get_logger("postroom.inbox")
        self._created = Counter(
            "postroom_notification_created", "Notifications kept", ["type", "email"], registry=registry
        )
        self._limited = Counter(
            "postroom_notification_limited", "Notifications above the hourly cap", registry=registry
        )
        self._emails = Counter(
            "postroom_notification_email", "E-mail copies by what became of them", ["outcome"], registry=registry
        )

    def created(self, notification: Notification, email: Verdict) -> None:
        self._created.labels(str(notification.type), _email(email)).inc()
        self._log.info(
            "notification.created",
            notification_id=notification.id,
            user_id=notification.user_id,
            type=str(notification.type),
            correlation_id=notification.correlation_id,
            conversation_id=notification.conversation_id,
            email=_email(email),
            email_after=to_text(email.until_us) if isinstance(email, Defer) else None,
            email_reason=email.reason if isinstance(email, Drop) else None,
        )

    def limited(self, user_id: str, correlation_id: str | None) -> None:
        self._limited.inc()
        self._log.warning("notification.limited", user_id=user_id, correlation_id=correlation_id)

    def handed_over(self, batch: Batch, ending: Ending) -> None:
        outcome = _outcome(ending)
        self._emails.labels(outcome).inc()
        self._log.info(
            "notification.email",
            batch_id=batch.id,
            user_id=batch.user_id,
            notifications=len(batch.notifications),
            outcome=outcome,
            delivery_id=ending.delivery_id if isinstance(ending, HandedOver) else None,
            error_class=None if isinstance(ending, HandedOver) else ending.reason,
        )


def _email(verdict: Verdict) -> str:
    match verdict:
        case Send():
            return "now"
        case Defer():
            return "later"
        case Drop():
            return "none"


def _outcome(ending: Ending) -> str:
    match ending:
        case HandedOver():
            return "handed_over"
        case TryAgain():
            return "put_off"
        case GivenUp():
            return "given_up"
