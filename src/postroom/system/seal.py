"""Secrets at rest: sealed with a key of the household, each for one purpose."""

from __future__ import annotations

import base64
import secrets
from typing import Final

from cryptography.hazmat.primitives.ciphers.aead import AESGCM

_NONCE_BYTES: Final = 12


class Seal:
    """AES-GCM; what is sealed for one thing, such as a question, cannot be opened as what belongs to another."""

    def __init__(self, key: bytes) -> None:
        """`key` has 16, 24 or 32 bytes."""
        self._cipher = AESGCM(key)

    def seal(self, text: str, about: str) -> str:
        nonce = secrets.token_bytes(_NONCE_BYTES)
        return base64.b64encode(nonce + self._cipher.encrypt(nonce, text.encode(), about.encode())).decode()

    def unseal(self, sealed: str, about: str) -> str:
        data = base64.b64decode(sealed)
        opened = self._cipher.decrypt(data[:_NONCE_BYTES], data[_NONCE_BYTES:], about.encode())
        return opened.decode()
