"""When two addresses are the same: for trust, limits, idempotency and matching alike."""

from __future__ import annotations

import string
from typing import Final

_LOWER: Final = str.maketrans(string.ascii_uppercase, string.ascii_lowercase)


def folded(address: str) -> str:
    """ASCII case only: full case folding would turn other letters, such as the Kelvin sign, into ours."""
    return address.lower() if address.isascii() else address.translate(_LOWER)
