"""A message that only the browser can read (RFC 8291): the push service carries what it cannot open."""

from __future__ import annotations

from typing import Final

from postroom.domain.push_device import PushSubscription

MOST_BODY_BYTES: Final = 4_096  # what every push service takes
_ADDED_BYTES: Final = 86 + 16 + 1  # salt, size and key in front; the seal and the end of the text behind
MOST_TEXT_BYTES: Final = MOST_BODY_BYTES - _ADDED_BYTES


def encrypted(text: bytes, subscription: PushSubscription) -> bytes:
    from pywebpush import WebPusher  # brings a whole HTTP client, for those who have a browser to push to

    keys = {"p256dh": subscription.p256dh, "auth": subscription.auth}
    pusher = WebPusher({"endpoint": subscription.endpoint, "keys": keys})
    return bytes(pusher.encode(text, content_encoding="aes128gcm")["body"])
