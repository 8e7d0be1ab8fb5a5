"""Who sends the letters that confirm an address."""

from __future__ import annotations

from enum import StrEnum
from typing import Final

CONFIRMATION_ORIGIN: Final = "inbox.confirmation"  # no butler's name has a dot


class Purpose(StrEnum):
    INBOX = "inbox"  # copies of a person's notifications may go there
    PAIRING = "pairing"  # the address is verified as that person's
