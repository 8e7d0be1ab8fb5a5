"""Notifications on a person's own devices, by the push service of each browser."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from typing import Final

from postroom.domain.capabilities import Capabilities
from postroom.domain.delivery import Message, Receipt
from postroom.domain.errors import DeliveryTimeout, PostroomError, StoreUnavailable, TargetUnavailable, ValidationError
from postroom.domain.push_device import PushDevices, PushSubscription
from postroom.world.channels.kinds import WEBPUSH
from postroom.world.channels.webpush.encryption import encrypted
from postroom.world.channels.webpush.endpoint import checked, origin_of
from postroom.world.channels.webpush.notification import PushCall, address, build
from postroom.world.channels.webpush.vapid import PushIdentity
from postroom.world.http.http_call import HttpAnswer, HttpCall
from postroom.world.http.public_address import public_only
from postroom.world.http.refusal import refusal

SERVICE: Final = "the push service"
KEPT_SECONDS: Final = 3 * 86_400  # by the service, for a device that is off; what is older is in the console
_GONE: Final = "this device is not reached any more: notifications were switched off there, or it was removed"
_ENDED: Final = (404, 410)
_MOST_NAME: Final = 64


class WebPush:
    capabilities: Capabilities = WEBPUSH

    def __init__(
        self,
        name: str,
        identity: PushIdentity,
        devices: PushDevices | None = None,
        *,
        allow_private: bool = False,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        """Without `devices` it can only say what an address looks like."""
        self.name = name
        self._identity = identity
        self._devices = devices
        self._allow_private = allow_private
        self._now = now
        self._http = HttpCall(SERVICE, connector=None if allow_private else public_only)

    def __repr__(self) -> str:
        return f"WebPush(name={self.name!r}, contact={self._identity.contact!r}, key=***)"

    def address(self, text: str) -> str | None:
        return address(text)

    def prepare(self, message: Message) -> Sequence[PushCall]:
        return build(message, self.name)

    async def send(self, part: PushCall, timeout_seconds: float) -> Receipt:
        ends_at = time.monotonic() + timeout_seconds
        devices, subscription = await self._subscription(part)
        left = ends_at - time.monotonic()
        if left <= 0:
            raise DeliveryTimeout("the record of devices did not answer before the deadline")
        body, headers = encrypted(part.written, subscription), self._headers(part, subscription)
        answer = await self._http.request("POST", subscription.endpoint, left, body=body, headers=headers)
        if 200 <= answer.status < 300:
            await _noted(devices.used, part.device_id)
            return Receipt(_name_of(answer) or part.topic)
        raise await self._refusal(answer, part, devices)

    async def close(self) -> None:
        await self._http.close()

    async def _subscription(self, part: PushCall) -> tuple[PushDevices, PushSubscription]:
        """Nothing has been sent yet, so whatever fails here is no doubt."""
        if self._devices is None:
            raise TargetUnavailable("the record of devices is not here")
        found = await self._devices.subscription(self.name, part.device_id)
        if found is None:
            raise ValidationError(_GONE)
        try:
            return self._devices, checked(found, allow_private=self._allow_private)
        except ValueError:
            raise ValidationError("this device cannot be reached: it named no address of a push service") from None

    def _headers(self, part: PushCall, subscription: PushSubscription) -> dict[str, str]:
        now_seconds = int(self._now().timestamp())
        return {
            "Authorization": self._identity.proof(origin_of(subscription.endpoint), now_seconds),
            "Content-Encoding": "aes128gcm",
            "Content-Type": "application/octet-stream",
            "TTL": str(KEPT_SECONDS),
            "Urgency": part.urgency,
            "Topic": part.topic,
            "User-Agent": "Postroom",
        }

    async def _refusal(self, answer: HttpAnswer, part: PushCall, devices: PushDevices) -> PostroomError:
        if answer.status in _ENDED:
            await _noted(devices.ended, part.device_id)
            return ValidationError(_GONE).told_by(answer.status)
        return refusal(SERVICE, answer.status, answer.retry_after, self._now(), ours="key")


async def _noted(note: Callable[[str], Awaitable[None]], device_id: str) -> None:
    """The service has answered; that a note of it is lost changes nothing about the message."""
    with suppress(StoreUnavailable):
        await note(device_id)


def _name_of(answer: HttpAnswer) -> str:
    """What the service calls the message: the end of the address it gave it, which is no way to it."""
    name = answer.headers.get("Location", "").rstrip("/").rpartition("/")[2]
    return name[:_MOST_NAME] if name.isascii() and name.isprintable() else ""
