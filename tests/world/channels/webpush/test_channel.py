"""What a push service is sent, and what its answers mean for the device."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.world.channels.webpush.browser_side import new_browser
from tests.world.channels.webpush.kept_devices import KeptDevices
from tests.world.channels.webpush.push_service import push_service

from postroom.domain.delivery import Intent, Message, Priority
from postroom.domain.errors import CredentialsRefused, ProviderThrottled, TargetUnavailable, ValidationError
from postroom.domain.ids import DeliveryId
from postroom.domain.push_device import PushSubscription
from postroom.world.channels.webpush.channel import WebPush
from postroom.world.channels.webpush.vapid import identity

DEVICE = "0123456789abcdef"
WHO = identity("mailto:us@example.org", b"seed")
HELLO = Message(
    delivery_id=DeliveryId("0198c0de"), intent=Intent.SEND, address=DEVICE, text="Tea is ready", origin_butler="health"
)


def channel(subscription: PushSubscription, *, allow_private: bool = True) -> tuple[WebPush, KeptDevices]:
    devices = KeptDevices({DEVICE: subscription})
    return WebPush("push", WHO, devices, allow_private=allow_private), devices


async def send(one: WebPush, message: Message = HELLO) -> str:
    try:
        [part] = one.prepare(message)
        return (await one.send(part, 10)).provider_id
    finally:
        await one.close()


@pytest.mark.requirement("side:push-encrypted", "side:push-identity")
async def test_only_the_browser_reads_what_is_sent_and_the_service_knows_who_sends_it() -> None:
    async with push_service() as service:
        browser = service.subscribe()
        one, devices = channel(browser.subscription)

        receipt = await send(one, replace(HELLO, priority=Priority.HIGH))

        [taken] = service.taken
    assert (taken.shown["title"], taken.shown["body"]) == ("health", "Tea is ready")
    assert b"Tea" not in taken.body and len(taken.body) <= 4096
    assert (taken.claims["sub"], taken.key) == ("mailto:us@example.org", WHO.public_key)
    assert taken.headers["urgency"] == "high" and taken.headers["topic"] == taken.shown["tag"]
    assert (receipt, devices.uses) == ("1", [DEVICE])


@pytest.mark.requirement("side:push-gone")
async def test_a_subscription_that_is_gone_ends_and_is_not_tried_again() -> None:
    async with push_service() as service:
        browser = service.subscribe()
        service.gone.add("secret-7")
        one, devices = channel(browser.subscription)
        [part] = one.prepare(HELLO)

        for _ in range(2):
            with pytest.raises(ValidationError, match="not reached any more"):
                await one.send(part, 10)
        service.gone.clear()
        with pytest.raises(ValidationError):
            await one.send(part, 10)
        await one.close()

    assert devices.over == [DEVICE] and service.taken == []


@pytest.mark.parametrize(
    ("status", "error"),
    [
        pytest.param(401, CredentialsRefused, id="our key is refused"),
        pytest.param(403, CredentialsRefused, id="our key is forbidden"),
        pytest.param(413, ValidationError, id="too long"),
        pytest.param(429, ProviderThrottled, id="too often"),
        pytest.param(503, TargetUnavailable, id="away"),
    ],
)
async def test_a_refusal_ends_no_subscription(status: int, error: type[Exception]) -> None:
    async with push_service() as service:
        one, devices = channel(service.subscribe().subscription)
        service.next_statuses.append(status)

        with pytest.raises(error):
            await send(one)

    assert devices.over == [] and devices.uses == []


@pytest.mark.requirement("side:push-no-inside")
@pytest.mark.parametrize(
    "host", ["http://push.example.org", "https://127.0.0.1", "https://[::1]:8443", "https://a@b.c"]
)
async def test_an_endpoint_inside_or_in_the_clear_is_never_called(host: str) -> None:
    one, _ = channel(new_browser(f"{host}/p/x").subscription, allow_private=False)

    with pytest.raises(ValidationError, match="cannot be reached"):
        await send(one)
