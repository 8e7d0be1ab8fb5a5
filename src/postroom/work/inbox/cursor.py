"""Cursors as clients hold them: opaque text."""

from __future__ import annotations

import base64
import binascii

from postroom.domain.errors import FieldError, ValidationError
from postroom.domain.ids import is_uuid
from postroom.domain.notification import Cursor, Notification


def cursor_after(notification: Notification) -> str:
    return base64.urlsafe_b64encode(f"{notification.created_at_us}.{notification.id}".encode()).decode().rstrip("=")


def parse_cursor(text: str) -> Cursor:
    """Raises ValidationError on anything that is not one of ours."""
    try:
        raw = base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True).decode("ascii")
    except (binascii.Error, ValueError):
        raise _refused() from None
    moment, _, identifier = raw.partition(".")
    if not (moment.isdigit() and len(moment) < 19 and is_uuid(identifier)):
        raise _refused()
    return Cursor(int(moment), identifier)


def _refused() -> ValidationError:
    return ValidationError.of([FieldError("cursor", "is not a cursor of this list", "invalid")])
