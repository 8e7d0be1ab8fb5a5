"""Notifications and preferences to start from, complete and unremarkable."""

from __future__ import annotations

from dataclasses import replace
from datetime import time
from typing import Any

from tests.clock import START_US

from postroom.inbox.model import (
    DeliveryChannel,
    Notification,
    NotificationId,
    NotificationType,
    Preferences,
)
from postroom.kernel.values.ids import IdMint
from postroom.message.delivery import Priority

MINT = IdMint()
BY_EMAIL = Preferences(delivery_channel=DeliveryChannel.BOTH, email="ada@example.com")
AT_NIGHT = replace(BY_EMAIL, quiet_hours_start=time(22), quiet_hours_end=time(7))
# The clock of the tests starts at midnight.
QUIET_ENDS_US = START_US + 7 * 3600 * 1_000_000


def a_notification(user_id: str = "ada", *, at_us: int = START_US, **fields: Any) -> Notification:
    plain = Notification(
        id=NotificationId(MINT.mint(at_us)),
        user_id=user_id,
        message="The dentist is at nine",
        type=NotificationType.REMINDER,
        priority=Priority.MEDIUM,
        created_at_us=at_us,
        updated_at_us=at_us,
    )
    return replace(plain, **fields)
