"""How a webhook is signed: as standardwebhooks.com defines it, so that receivers' libraries understand it."""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
from typing import Final

FORMER_HEADER: Final = "X-Postroom-Signature"  # from before Standard Webhooks; stays for one release
_ENCODED: Final = "whsec_"


def signed_headers(secret: str, message_id: str, timestamp: int, body: bytes) -> dict[str, str]:
    """The id is the same at every attempt, so that a receiver sees a repetition; the time is that of this attempt."""
    digest = hmac.new(_key(secret), f"{message_id}.{timestamp}.".encode() + body, hashlib.sha256).digest()
    return {
        "webhook-id": message_id,
        "webhook-timestamp": str(timestamp),
        "webhook-signature": f"v1,{base64.b64encode(digest).decode()}",
    }


def _key(secret: str) -> bytes:
    """The bytes behind `whsec_`, written as base64; without any, the text itself."""
    if not secret.startswith(_ENCODED):
        return secret.encode()
    try:
        return base64.b64decode(secret.removeprefix(_ENCODED), validate=True) or secret.encode()
    except binascii.Error:
        return secret.encode()


def former_signature(secret: str, timestamp: int, body: bytes) -> str:
    digest = hmac.new(secret.encode(), f"{timestamp}.".encode() + body, hashlib.sha256).hexdigest()
    return f"t={timestamp},v1={digest}"
