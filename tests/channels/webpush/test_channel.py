"""What a push service is sent, and what its answers mean for the device."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.channels.webpush.browser_side import new_browser, proved
from tests.channels.webpush.kept_devices import KeptDevices
from tests.channels.webpush.push_service import push_service

from postroom.channels.webpush.channel import (
    MOST_TEXT_BYTES,
    READ_MORE,
    WebPush,
    build,
    checked,
    checked_contact,
    identity,
    origin_of,
    topic_of,
)
from postroom.kernel.values.errors import CredentialsRefused, ProviderThrottled, TargetUnavailable, ValidationError
from postroom.kernel.values.ids import DeliveryId
from postroom.message.delivery import REPEAT_MARK, Intent, Message, Priority
from postroom.message.markup import Button, Markup, Revision
from postroom.people.model import PushSubscription

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


PLAIN = Message(
    delivery_id=DeliveryId("0198c0de"),
    intent=Intent.SEND,
    address="0123456789abcdef",
    text="Ship it?",
    origin_butler="health",
)
YES, NO = Button(label="Yes", token="t" * 64), Button(label="No", token="n" * 64)
OPEN = Button(label="Open", url="https://post.example.org/console/questions/q1")


def test_a_question_has_its_two_answers_and_a_press_beside_them_opens_its_page() -> None:
    [call] = build(replace(PLAIN, markup=Markup(buttons=((YES, NO), (OPEN,)))), "push")

    assert [one["title"] for one in call.shown["actions"]] == ["Yes", "No"]
    assert (call.shown["press"], call.shown["device"]) == ("/channels/push/press", PLAIN.address)
    assert call.shown["url"] == OPEN.url


@pytest.mark.requirement("side:push-replaces")
def test_a_correction_takes_the_place_of_what_it_corrects_without_ringing() -> None:
    about = DeliveryId("0198c0df")
    [first] = build(replace(PLAIN, delivery_id=about), "push")
    [edit] = build(replace(PLAIN, revises=Revision(delivery_id=about, provider_ids=("1",))), "push")
    [other] = build(PLAIN, "push")

    assert edit.topic == first.topic == edit.shown["tag"] and edit.shown["silent"] is True
    assert other.topic != first.topic and "silent" not in first.shown


@pytest.mark.requirement("side:push-cut")
@pytest.mark.parametrize("character", ["a", "ü", "👍", '"', "\n\u2028", "\\"])
def test_a_long_text_is_cut_to_what_a_push_service_takes_and_says_so(character: str) -> None:
    text = f"Ship {character * 20} " * 900
    markup = Markup(buttons=((replace(YES, label="👍" * 60), replace(NO, label='"' * 60)), (OPEN,)))
    [call] = build(replace(PLAIN, text=text, markup=markup, subject="ü" * 300, repeated=True), "a" * 40)

    assert len(call.written) <= MOST_TEXT_BYTES
    assert call.shown["body"].endswith(f"{READ_MORE}\n\n{REPEAT_MARK}")
    assert text.startswith(call.shown["body"].partition(READ_MORE)[0])


def test_the_name_of_a_delivery_fits_a_topic() -> None:
    assert len(topic_of(PLAIN.delivery_id)) == 32 and set(topic_of(PLAIN.delivery_id)) <= set(
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_"
    )


@pytest.mark.parametrize(
    "wrong",
    [
        pytest.param({"markup": Markup(buttons=((YES, NO, replace(YES, token="x")),))}, id="three buttons"),
        pytest.param({"markup": Markup(buttons=((replace(YES, token="x" * 65),),))}, id="a token too long"),
        pytest.param({"address": "anna"}, id="no device"),
    ],
)
def test_what_a_device_cannot_show_is_refused_before_any_call(wrong: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        build(replace(PLAIN, **wrong), "push")  # type: ignore[arg-type]


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
