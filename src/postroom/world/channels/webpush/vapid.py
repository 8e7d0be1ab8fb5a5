"""Who we are to a push service (RFC 8292): a key of the household's own, and a proof for each service."""

from __future__ import annotations

import base64
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import urlsplit

from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from postroom.world.http.public_address import is_plainly_private

_GOOD_FOR_SECONDS: Final = 12 * 3600  # a service may refuse more than a day
_MOST_CONTACT: Final = 200
_ORDER: Final = 0xFFFFFFFF00000000FFFFFFFFFFFFFFFFBCE6FAADA7179E84F3B9CAC2FC632551


@dataclass(frozen=True, slots=True, kw_only=True)
class PushIdentity:
    """`contact` is whom those who run a push service may write to; `key` is made from the household's own."""

    contact: str
    key: ec.EllipticCurvePrivateKey = field(repr=False)

    @property
    def public_key(self) -> str:
        """As a browser wants it, which remembers it with its consent: another key needs another consent."""
        point = self.key.public_key().public_bytes(Encoding.X962, PublicFormat.UncompressedPoint)
        return base64.urlsafe_b64encode(point).rstrip(b"=").decode()

    def proof(self, origin: str, now_seconds: int) -> str:
        """The header `Authorization`, for one service and half a day."""
        from py_vapid import Vapid  # for those who have a browser to push to

        claims = {"aud": origin, "exp": now_seconds + _GOOD_FOR_SECONDS, "sub": self.contact}
        return str(Vapid(private_key=self.key).sign(claims)["Authorization"])


def identity(contact: str, seed: bytes) -> PushIdentity:
    """The same seed is the same identity, in every process; raises ValueError for a contact that is none."""
    number = int.from_bytes(seed) % (_ORDER - 1) + 1
    return PushIdentity(contact=checked_contact(contact), key=ec.derive_private_key(number, ec.SECP256R1()))


def checked_contact(contact: str) -> str:
    """Apple's service refuses every message of a sender whose contact cannot be one."""
    host = _host(contact.strip())
    if not host or "." not in host or is_plainly_private(host) or len(contact) > _MOST_CONTACT:
        raise ValueError("contact must be mailto:you@your.domain or https://your.domain, as push services want it")
    return contact.strip()


def _host(contact: str) -> str:
    if not contact.isascii() or not contact.isprintable() or " " in contact:
        return ""
    if contact.startswith("mailto:"):
        name, at, host = contact.removeprefix("mailto:").partition("@")
        return host if name and at else ""
    try:
        parts = urlsplit(contact)
        return parts.hostname or "" if parts.scheme == "https" else ""
    except ValueError:
        return ""
