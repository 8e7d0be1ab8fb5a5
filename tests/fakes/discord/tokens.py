"""Which tokens the sandbox's Discord takes: any that looks like one, but for the one that has been taken back."""

from __future__ import annotations

import re
from typing import Final

REVOKED: Final = "revoked"
_TOKEN = re.compile(r"[A-Za-z0-9._-]{1,200}")


def is_token(text: str) -> bool:
    return bool(_TOKEN.fullmatch(text)) and text != REVOKED


def token_in(authorization: str | None) -> str | None:
    """Of the header `Authorization: Bot TOKEN`."""
    kind, _, token = (authorization or "").partition(" ")
    return token if kind == "Bot" and is_token(token) else None
