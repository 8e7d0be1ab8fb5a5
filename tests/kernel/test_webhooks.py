"""Signatures hold for a receiver that was written from the specification of Standard Webhooks alone."""

from __future__ import annotations

import base64
import hashlib
import hmac
from collections.abc import Mapping

import pytest

from postroom.kernel.webhooks import signed_headers

KEY = bytes(range(32))
ENCODED = "whsec_" + base64.b64encode(KEY).decode()
ID, TIME, BODY = "msg_1", 1_767_225_600, '{"text": "é"}'.encode()


def holds(key: bytes, headers: Mapping[str, str], body: bytes) -> bool:
    """As a receiver checks it: one of the signatures in the list must be that of `id.timestamp.body`."""
    signed = b".".join([headers["webhook-id"].encode(), headers["webhook-timestamp"].encode(), body])
    expected = base64.b64encode(hmac.digest(key, signed, hashlib.sha256))
    versions = [one.partition(",") for one in headers["webhook-signature"].split(" ")]
    return any(version == "v1" and hmac.compare_digest(value.encode(), expected) for version, _, value in versions)


@pytest.mark.parametrize(
    ("secret", "key"),
    [
        pytest.param(ENCODED, KEY, id="the bytes behind whsec_"),
        pytest.param("0123456789abcdef", b"0123456789abcdef", id="any other text is itself the key"),
        pytest.param("sécret of sixteen", "sécret of sixteen".encode(), id="in UTF-8"),
        pytest.param("whsec_not base64!", b"whsec_not base64!", id="no base64 behind whsec_"),
        pytest.param("whsec_", b"whsec_", id="never an empty key"),
    ],
)
def test_a_receiver_that_knows_the_secret_accepts_it(secret: str, key: bytes) -> None:
    headers = signed_headers(secret, ID, TIME, BODY)

    assert holds(key, headers, BODY)
    assert not holds(b"another key", headers, BODY)


def test_a_signature_known_from_elsewhere() -> None:
    """The vector that the libraries of Standard Webhooks are tested with."""
    headers = signed_headers(
        "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
        "msg_p5jXN8AQM9LWM0D4loKWxJek",
        1_614_265_330,
        b'{"test": 2432232314}',
    )

    assert headers["webhook-signature"] == "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="
