"""A place in the audit, as one word that goes into an address."""

from __future__ import annotations

import re
from typing import Final

from postroom.domain.audit import AuditEntry

_FORM: Final = re.compile(r"(\d{1,19})-([\w.:-]{1,128})", re.ASCII)


def cursor_of(entry: AuditEntry) -> str:
    return f"{entry.at_us}-{entry.id}"


def read_cursor(text: str) -> tuple[int, str] | None:
    """None for what is no cursor."""
    found = _FORM.fullmatch(text)
    at_us = int(found[1]) if found else 0
    return (at_us, found[2]) if found and at_us < 2**63 else None
