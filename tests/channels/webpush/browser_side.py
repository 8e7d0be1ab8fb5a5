"""A browser's side of web push, written from RFC 8188, 8291 and 8292 with nothing but primitives."""

from __future__ import annotations

import base64
import json
import struct
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.utils import encode_dss_signature
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from postroom.people.model import PushSubscription


def unpadded(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def bytes_of(text: str) -> bytes:
    assert "=" not in text and "+" not in text and "/" not in text, "base64url without padding"
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


def _hkdf(salt: bytes, key: bytes, info: bytes, length: int) -> bytes:
    return HKDF(algorithm=hashes.SHA256(), length=length, salt=salt, info=info).derive(key)


@dataclass(frozen=True, slots=True)
class BrowserSide:
    """One subscription, with the private key that never leaves a browser."""

    endpoint: str
    key: ec.EllipticCurvePrivateKey
    auth: bytes

    @property
    def point(self) -> bytes:
        return self.key.public_key().public_bytes(Encoding.X962, PublicFormat.UncompressedPoint)

    @property
    def subscription(self) -> PushSubscription:
        return PushSubscription(endpoint=self.endpoint, p256dh=unpadded(self.point), auth=unpadded(self.auth))

    def opened(self, body: bytes) -> bytes:
        """RFC 8291, section 3.4; one record, as section 4 wants it."""
        assert len(body) <= 4_096
        salt, (size, named) = body[:16], struct.unpack("!IB", body[16:21])
        sender, record = body[21 : 21 + named], body[21 + named :]
        assert named == 65 and len(record) <= size
        secret = self.key.exchange(ec.ECDH(), ec.EllipticCurvePublicKey.from_encoded_point(ec.SECP256R1(), sender))
        ikm = _hkdf(self.auth, secret, b"WebPush: info\0" + self.point + sender, 32)
        key = _hkdf(salt, ikm, b"Content-Encoding: aes128gcm\0", 16)
        nonce = _hkdf(salt, ikm, b"Content-Encoding: nonce\0", 12)
        padded = AESGCM(key).decrypt(nonce, record, None)
        text, end = padded.rstrip(b"\0")[:-1], padded.rstrip(b"\0")[-1:]
        assert end == b"\x02", "the last record ends so"
        return text

    def shown(self, body: bytes) -> dict[str, Any]:
        told: dict[str, Any] = json.loads(self.opened(body))
        return told


def new_browser(endpoint: str, number: int = 7) -> BrowserSide:
    """The same number is the same browser."""
    return BrowserSide(endpoint, ec.derive_private_key(number, ec.SECP256R1()), bytes(range(number, number + 16)))


def proved(header: str, endpoint: str, now_seconds: int) -> tuple[dict[str, Any], str]:
    """The claims and the public key of RFC 8292's `vapid t=…, k=…`, once the signature is checked."""
    scheme, _, rest = header.partition(" ")
    given = dict(one.strip().split("=", 1) for one in rest.split(","))
    assert scheme.lower() == "vapid" and set(given) == {"t", "k"}
    signed, _, signature = given["t"].rpartition(".")
    head, claims = (json.loads(bytes_of(part)) for part in signed.split("."))
    raw = bytes_of(signature)
    der = encode_dss_signature(int.from_bytes(raw[:32]), int.from_bytes(raw[32:]))
    key = ec.EllipticCurvePublicKey.from_encoded_point(ec.SECP256R1(), bytes_of(given["k"]))
    key.verify(der, signed.encode(), ec.ECDSA(hashes.SHA256()))
    where = urlsplit(endpoint)
    assert head["alg"] == "ES256"
    assert claims["aud"] == f"{where.scheme}://{where.netloc}"
    assert now_seconds < claims["exp"] <= now_seconds + 86_400
    return claims, given["k"]
