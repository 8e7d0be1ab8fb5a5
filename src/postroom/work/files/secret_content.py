"""Files that look like a key to something never leave, whoever asks: a private key, or a token of a known form."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

_OVERLAP_BYTES: Final = 256
_FORMS: Final = {
    "a private key": rb"-----BEGIN (?:[A-Z0-9]+ ){0,4}PRIVATE KEY(?: BLOCK)?-----|PuTTY-User-Key-File-\d",
    "an AWS key": rb"\b(?:AKIA|ASIA)[0-9A-Z]{16}\b",
    "a GitHub token": rb"\bgh[pousr]_[A-Za-z0-9]{36}|\bgithub_pat_[A-Za-z0-9_]{60}",
    "a GitLab token": rb"\bglpat-[A-Za-z0-9_-]{20}",
    "a Slack token": rb"\bxox[abeoprs]-[0-9A-Za-z-]{10,}|\bxapp-\d-[A-Z0-9]+-\d+-[0-9a-f]{20,}",
    "a Telegram bot token": rb"\b\d{8,10}:AA[A-Za-z0-9_-]{33}\b",
    "a Discord bot token": rb"\b[MNO][A-Za-z0-9_-]{23,27}\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{27,40}\b",
    "an API key": rb"\bsk-ant-[A-Za-z0-9_-]{20,}|\bsk-(?:proj-)?[A-Za-z0-9_]{40,}|\b[sr]k_live_[0-9A-Za-z]{16,}",
    "a Google key": rb"\bAIza[0-9A-Za-z_-]{35}|\bya29\.[0-9A-Za-z_-]{20,}|\bGOCSPX-[A-Za-z0-9_-]{20,}",
    "stored OAuth credentials": rb'"refresh_token"\s*:\s*"[^"\s]{10,}"',
    "a package registry token": rb"\bnpm_[A-Za-z0-9]{36}|\bpypi-AgEI[A-Za-z0-9_-]{20,}",
    "a Postroom token": rb"\bpr_(?:operator|butler|program|person|user|connector|session)_[A-Za-z0-9_-]{40,}",
}
_ANY: Final = re.compile(b"|".join(b"(?P<f%d>%b)" % (number, form) for number, form in enumerate(_FORMS.values())))
_KINDS: Final = tuple(_FORMS)


@dataclass(slots=True)
class SecretScan:
    """Fed with a file chunk by chunk; remembers enough to see what lies across two of them."""

    _before: bytes = b""

    def feed(self, chunk: bytes) -> str | None:
        """What it looks like, as soon as it does."""
        seen = self._before + chunk
        found = _ANY.search(seen)
        self._before = seen[-_OVERLAP_BYTES:]
        return _KINDS[int((found.lastgroup or "f0")[1:])] if found else None
