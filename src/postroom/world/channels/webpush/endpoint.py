"""Which addresses and keys a browser may name: they come from outside, and we are to call them."""

from __future__ import annotations

import base64
import binascii
from typing import Final
from urllib.parse import SplitResult, urlsplit

from cryptography.hazmat.primitives.asymmetric import ec

from postroom.domain.push_device import PushSubscription
from postroom.world.http.public_address import is_plainly_private

_MOST_ENDPOINT: Final = 2_000
_AUTH_BYTES: Final = 16


def checked(subscription: PushSubscription, *, allow_private: bool) -> PushSubscription:
    """Raises ValueError with a sentence that repeats nothing of it."""
    _check_endpoint(subscription.endpoint, allow_private=allow_private)
    try:
        ec.EllipticCurvePublicKey.from_encoded_point(ec.SECP256R1(), _decoded(subscription.p256dh))
    except ValueError:
        raise ValueError("p256dh is not the public key of a browser") from None
    if len(_decoded(subscription.auth)) != _AUTH_BYTES:
        raise ValueError(f"auth is not a secret of {_AUTH_BYTES} bytes")
    return subscription


def origin_of(endpoint: str) -> str:
    """Whom a proof of who we are is for."""
    parts = urlsplit(endpoint)
    return f"{parts.scheme}://{parts.netloc}"


def _check_endpoint(endpoint: str, *, allow_private: bool) -> None:
    parts = _parsed(endpoint)
    ways = ("https", "http") if allow_private else ("https",)
    if parts is None or parts.scheme not in ways or not parts.hostname or len(endpoint) > _MOST_ENDPOINT:
        raise ValueError("endpoint must begin with https:// and name a push service")
    if parts.username or parts.password or parts.fragment or not endpoint.isascii() or not endpoint.isprintable():
        raise ValueError("endpoint must be a plain address without user, password or fragment")
    if is_plainly_private(parts.hostname) and not allow_private:
        raise ValueError("endpoint leads to a private address, which needs allow_private = true")


def _parsed(url: str) -> SplitResult | None:
    try:
        parts = urlsplit(url)
        return None if parts.port == 0 or " " in url else parts
    except ValueError:
        return None


def _decoded(text: str) -> bytes:
    try:
        return base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
    except (binascii.Error, ValueError):
        raise ValueError("the keys of a browser are written as base64url") from None
