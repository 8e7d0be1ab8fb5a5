"""A message that only the browser can read (RFC 8291): the push service carries what it cannot open."""

from __future__ import annotations

import base64
from typing import Final

from cryptography.hazmat.primitives.asymmetric import ec

from postroom.domain.push_device import PushSubscription

MOST_BODY_BYTES: Final = 4_096  # what every push service takes
_ADDED_BYTES: Final = 86 + 16 + 1  # salt, size and key in front; the seal and the end of the text behind
MOST_TEXT_BYTES: Final = MOST_BODY_BYTES - _ADDED_BYTES


def encrypted(text: bytes, subscription: PushSubscription) -> bytes:
    from http_ece import encrypt  # for those who have a browser to push to

    body = encrypt(
        text,
        private_key=ec.generate_private_key(ec.SECP256R1()),  # one for each message
        dh=_bytes(subscription.p256dh),
        auth_secret=_bytes(subscription.auth),
        version="aes128gcm",
    )
    return bytes(body)


def _bytes(key: str) -> bytes:
    """Browsers leave out the padding."""
    return base64.urlsafe_b64decode(key + "=" * (-len(key) % 4))
