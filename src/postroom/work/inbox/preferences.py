"""A person's wishes about being told, checked before they are kept."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import time
from typing import Any, Final

from postroom.domain.errors import FieldError, ValidationError
from postroom.domain.notification import DeliveryChannel, Preferences
from postroom.domain.zone import is_zone

_WALL_TIME: Final = re.compile(r"([01]\d|2[0-3]):[0-5]\d(:[0-5]\d)?", re.ASCII)

AddressCheck = Callable[[str], str | None]


def changed(
    current: Preferences, wishes: Mapping[str, Any], address: AddressCheck, *, confirmed: bool = False
) -> Preferences:
    """
    The preferences with these fields put in their place; raises ValidationError naming every wrong one.

    `confirmed` is whether a new address counts at once, because the operator gave it.
    """
    complaints: list[FieldError] = []
    values: dict[str, Any] = {}
    for name, wish in wishes.items():
        try:
            values[name] = _READ[name](wish, address)
        except ValueError as error:
            complaints.append(FieldError(name, str(error), "invalid"))
    if not complaints:
        if "email" in values:
            values |= _address_kept(current.email, values["email"], confirmed)
        wished = replace(current, **values)
        complaints = _half_set(wished)
        if not complaints:
            return wished
    raise ValidationError.of(complaints)


def warnings_of(preferences: Preferences, *, email_enabled: bool) -> list[str]:
    """Wishes that are kept and cannot come true as things stand, or be shown whole; empty when there are none."""
    return [*_about_windows(preferences), *_about_email(preferences, email_enabled)]


def _about_windows(preferences: Preferences) -> list[str]:
    if preferences.all_windows is None:
        return []
    return [
        f"Quiet hours are {preferences.all_windows} by the attention policy; other times set here replace them all."
    ]


def _about_email(preferences: Preferences, email_enabled: bool) -> list[str]:
    if not preferences.delivery_channel.has_email:
        return []
    silent = "" if preferences.delivery_channel.has_bell else ", and the bell stays silent"
    if not email_enabled:
        return [f"E-mail is switched off in this household (inbox.email_enabled): no copy is mailed{silent}."]
    if preferences.email is None:
        return [f"No e-mail address is confirmed yet: no copy is mailed{silent}."]
    return []


def _address_kept(current: str | None, wished: str | None, confirmed: bool) -> dict[str, str | None]:
    """A new address waits until it is confirmed; the one before it counts meanwhile."""
    if confirmed or wished in (None, current):
        return {"email": wished, "email_pending": None}
    return {"email": current, "email_pending": wished}


def _half_set(wished: Preferences) -> list[FieldError]:
    names = ("quiet_hours_start", "quiet_hours_end")
    missing = [name for name in names if getattr(wished, name) is None]
    if len(missing) != 1:
        return []
    return [FieldError(missing[0], "quiet hours need both a start and an end", "half_set")]


def _channel(wish: Any, _address: AddressCheck) -> DeliveryChannel:
    if wish not in list(DeliveryChannel):
        raise ValueError(f"must be one of {', '.join(DeliveryChannel)}")
    return DeliveryChannel(wish)


def _email(wish: Any, address: AddressCheck) -> str | None:
    if wish is None:
        return None
    found = address(wish) if isinstance(wish, str) else None
    if found is None:
        raise ValueError("must be a single e-mail address")
    return found


def _wall_time(wish: Any, _address: AddressCheck) -> time | None:
    if wish is None:
        return None
    if not isinstance(wish, str) or not _WALL_TIME.fullmatch(wish):
        raise ValueError("must be a time of day such as 22:00")
    return time.fromisoformat(wish)


def _zone(wish: Any, _address: AddressCheck) -> str:
    if wish is None:
        return ""  # the person's own
    if not isinstance(wish, str) or not is_zone(wish):
        raise ValueError("must be the name of a time zone such as Europe/Berlin")
    return wish


def _flag(wish: Any, _address: AddressCheck) -> bool:
    if not isinstance(wish, bool):
        raise ValueError("must be true or false")
    return wish


_READ: Final[Mapping[str, Callable[[Any, AddressCheck], Any]]] = {
    "delivery_channel": _channel,
    "email": _email,
    "quiet_hours_start": _wall_time,
    "quiet_hours_end": _wall_time,
    "quiet_hours_timezone": _zone,
    "high_priority_passes": _flag,
}
