"""Proof that a form came from a page of ours: made for one link, one wording, one step, and not for long."""

from __future__ import annotations

import hashlib
import hmac
import secrets
from dataclasses import dataclass
from typing import Final

from postroom.domain.time import seconds

LIFE_SECONDS: Final = 86_400


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkNonce:
    """`step` is what the page asks for; one made for another step is worth nothing."""

    key: bytes
    token: str
    revision: int
    step: str

    def make(self, now_us: int) -> str:
        stem = f"{now_us}.{secrets.token_hex(16)}"
        return f"{stem}.{self._seal(stem)}"

    def is_own(self, nonce: str, now_us: int) -> bool:
        stem, _, sealed = nonce.rpartition(".")
        made = stem.partition(".")[0]
        if not (nonce.isascii() and made.isdecimal() and len(made) < 19):
            return False
        is_fresh = 0 <= now_us - int(made) <= seconds(LIFE_SECONDS)
        return is_fresh and hmac.compare_digest(sealed, self._seal(stem))

    def _seal(self, stem: str) -> str:
        parts = "\x1f".join([self.token, str(self.revision), self.step, stem])
        return hmac.new(self.key, parts.encode(), hashlib.sha256).hexdigest()
