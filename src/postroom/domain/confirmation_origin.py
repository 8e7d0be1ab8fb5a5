"""Who sends the letters that confirm an address."""

from __future__ import annotations

from typing import Final

CONFIRMATION_ORIGIN: Final = "inbox.confirmation"  # no butler's name has a dot
