"""The accounts that have a section of their own in the settings; every other channel stands under `[channels]`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from postroom.system.settings.model import Settings

SHIPPED: Final = ("telegram", "email")  # in the order they are tried
SPOKEN: Final = " or ".join(SHIPPED)
DEFAULT_CHANNEL: Final = SHIPPED[0]


def timeouts_seconds(settings: Settings) -> dict[str, float]:
    """By kind, as is the pause."""
    return {"telegram": settings.timeouts.telegram_seconds, "email": settings.timeouts.email_seconds}


def spacings_seconds(settings: Settings) -> dict[str, float]:
    return {"telegram": settings.delivery.telegram_chat_interval_seconds}


def set_up(settings: Settings) -> tuple[str, ...]:
    """Those that can be used outside the sandbox."""
    given = {"telegram": settings.telegram.token, "email": settings.email.address or settings.email.from_address}
    return tuple(name for name in SHIPPED if given[name])
