"""What a browser may name as its push service."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.world.channels.webpush.browser_side import new_browser

from postroom.domain.push_device import PushSubscription
from postroom.world.channels.webpush.endpoint import checked, origin_of

GOOD = new_browser("https://push.example.org/p/secret").subscription
OFF_THE_CURVE = "B" + "A" * 86


def test_what_a_browser_gives_is_taken() -> None:
    assert checked(GOOD, allow_private=False) == GOOD
    assert origin_of("https://push.example.org:8443/p/x?y") == "https://push.example.org:8443"


@pytest.mark.requirement("side:push-no-inside")
@pytest.mark.parametrize(
    "wrong",
    [
        replace(GOOD, endpoint=""),
        replace(GOOD, endpoint="http://push.example.org/"),
        replace(GOOD, endpoint="ftp://push.example.org/"),
        replace(GOOD, endpoint="https://user:word@push.example.org/"),
        replace(GOOD, endpoint="https://localhost/"),
        replace(GOOD, endpoint="https://169.254.169.254/latest"),
        replace(GOOD, endpoint="https://[::ffff:10.0.0.1]/"),
        replace(GOOD, endpoint="https://push.example.org/\r\nX: y"),
        replace(GOOD, endpoint=f"https://push.example.org/{'a' * 2000}"),
        replace(GOOD, p256dh=OFF_THE_CURVE),
        replace(GOOD, p256dh="!!"),
        replace(GOOD, auth="AAAA"),
        replace(GOOD, auth=""),
    ],
    ids=lambda one: (one.endpoint[-30:] or "none").encode("unicode_escape").decode(),
)
def test_anything_else_is_refused_without_repeating_it(wrong: PushSubscription) -> None:
    with pytest.raises(ValueError) as refused:
        checked(wrong, allow_private=False)

    assert wrong.endpoint == "" or wrong.endpoint not in str(refused.value)
