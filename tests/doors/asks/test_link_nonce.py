"""A form counts when a page of ours was made for it, and not otherwise."""

from __future__ import annotations

from postroom.doors.asks.link_nonce import LIFE_SECONDS, LinkNonce


def test_a_nonce_is_for_one_link_one_step_and_a_day() -> None:
    nonce = LinkNonce(key=b"k" * 32, token="t", revision=1, step="ask")
    made = nonce.make(10**12)

    assert nonce.is_own(made, 10**12) and nonce.make(10**12) != made
    assert not nonce.is_own(made, 10**12 + (LIFE_SECONDS + 1) * 10**6) and not nonce.is_own(made, 10**12 - 1)
    for other in (
        LinkNonce(key=b"o" * 32, token="t", revision=1, step="ask"),
        LinkNonce(key=b"k" * 32, token="u", revision=1, step="ask"),
        LinkNonce(key=b"k" * 32, token="t", revision=2, step="ask"),
        LinkNonce(key=b"k" * 32, token="t", revision=1, step="confirm"),
    ):
        assert not other.is_own(made, 10**12)
