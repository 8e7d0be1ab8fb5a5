"""The opaque tokens behind the buttons of a card."""

from __future__ import annotations

import base64
import hashlib
import hmac
from typing import Final

from postroom.domain.presentation import Token, TokenAction

MORE: Final = "+"  # before the token of a button that is out of sight: brings those into sight, or takes them out
BACK: Final = "~"  # no token begins with either
_BYTES: Final = 16


def token_of(key: bytes, presentation_id: str, revision: int, action: TokenAction, option: str | None) -> str:
    """
    Means nothing and cannot be guessed without the household's key.

    The same button of the same card always has the same token, so a card that is sent again after a crash is the
    same message.
    """
    parts = "\x1f".join([presentation_id, str(revision), str(action), option or ""])
    digest = hmac.new(key, parts.encode(), hashlib.sha256).digest()
    return base64.urlsafe_b64encode(digest[:_BYTES]).rstrip(b"=").decode()


def unfolded(token: str) -> tuple[str, str]:
    """Which of the two it begins with, if any, and the token behind that."""
    fold = token[:1] if token[:1] in (MORE, BACK) else ""
    return fold, token.removeprefix(fold)


def hash_of(token: str) -> str:
    """What is kept of it."""
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).hexdigest()


def kept_token(token: str, presentation_id: str, revision: int, action: TokenAction, option: str | None) -> Token:
    return Token(hash=hash_of(token), presentation_id=presentation_id, action=action, option=option, revision=revision)
