"""Who the household is to a push service."""

from __future__ import annotations

import pytest
from tests.world.channels.webpush.browser_side import proved

from postroom.world.channels.webpush.vapid import checked_contact, identity

ENDPOINT = "https://push.example.org:8443/p/secret"


@pytest.mark.requirement("side:push-identity")
def test_the_proof_is_for_one_service_and_less_than_a_day() -> None:
    who = identity("https://post.example.org", b"seed")

    claims, key = proved(who.proof("https://push.example.org:8443", 1_000), ENDPOINT, 1_000)

    assert (claims["sub"], key) == ("https://post.example.org", who.public_key)
    assert "key" not in repr(who)


def test_the_same_household_is_known_again_and_another_is_another() -> None:
    assert identity("https://a.example", b"one").public_key == identity("https://b.example", b"one").public_key
    assert identity("https://a.example", b"one").public_key != identity("https://a.example", b"two").public_key


@pytest.mark.parametrize(
    "contact",
    [
        "",
        "us@example.org",
        "mailto:",
        "mailto:us",
        "mailto:us@localhost",
        "http://a.example",
        "https://",
        "https://127.0.0.1",
    ],
)
def test_a_contact_that_a_push_service_would_refuse_is_refused_here(contact: str) -> None:
    with pytest.raises(ValueError, match="contact must be"):
        checked_contact(contact)
