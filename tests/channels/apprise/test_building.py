from __future__ import annotations

from typing import Any

import pytest

from postroom.channels.apprise.building import CHAINS, FILES, HERE, OURS, ServiceLimits, build
from postroom.channels.apprise.channel import AppriseService
from postroom.kernel.values.errors import ValidationError
from postroom.kernel.values.ids import DeliveryId
from postroom.message.delivery import Intent, Message
from postroom.message.markup import Button, Markup

ROOMY = ServiceLimits(body=32_768, title=250)


def message(**changes: Any) -> Message:
    given: dict[str, Any] = {"delivery_id": DeliveryId("1"), "intent": Intent.SEND, "address": "-", "text": "Tea"}
    return Message(**(given | changes))


def test_the_subject_is_the_title_on_one_line_within_the_services_limit() -> None:
    [part] = build(message(subject="Tea\r\nis ready"), ServiceLimits(body=100, title=6))

    assert (part.text, part.title) == ("Tea", "Tea i…")


def test_a_long_text_is_cut_into_parts_and_only_the_first_has_the_title() -> None:
    parts = build(message(text="word " * 100, subject="Tea"), ServiceLimits(body=160, title=50))

    assert [part.title for part in parts] == ["Tea", *[""] * (len(parts) - 1)]
    assert max(len(part.text) for part in parts) <= 160
    assert " ".join(part.text for part in parts).split() == ["word"] * 100


def test_a_title_that_stands_in_the_text_takes_its_room_there() -> None:
    parts = build(message(text="word " * 100, subject="Tea is ready"), ServiceLimits(body=160, title=0))

    assert max(len(part.title) + len(part.text) for part in parts) <= 158


def test_links_stand_under_the_text_and_a_copy_is_marked() -> None:
    under = Markup(buttons=((Button(label="Yes", url="https://home.example/a/1"),),))
    [part] = build(message(markup=under, repeated=True), ROOMY)

    assert part.text == "Tea\n\nYes: https://home.example/a/1\n\n(possibly repeated)"


@pytest.mark.parametrize(
    "wrong",
    [
        {"address": "kitchen"},
        {"text": " "},
        {"text": "a\x00b"},
        {"subject": "a\x00b"},
        {"intent": Intent.REPLY, "thread": "1"},
        {"markup": Markup(buttons=((Button(label="Yes", token="canary"),),))},
    ],
    ids=repr,
)
def test_what_can_never_be_carried_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        build(message(**wrong), ROOMY)


REFUSED = [
    *(f"{schema}://canary" for schema in sorted(HERE)),
    *(f"{schema}://example.org/canary" for schema in sorted(CHAINS)),
    *(f"json://example.org/canary?{name}=1" for name in sorted(OURS | FILES)),
    "json://example.org/canary?ReTry=3",
    "json://example.org/canary?a=1&%72etry=3",
    "discord://123456/canary-token?template=/etc/passwd",
    "https://discord.com/api/webhooks/123456/canary-token?template=/etc/passwd",
    "fcm://project@canary/token?keyfile=/etc/passwd",
    "vapid://canary@example.org/a@example.org?keyfile=/etc/passwd",
    "mailto://us:canary@example.org?pgpprv=/etc/passwd",
    "json://example.org/a,json://example.org/canary",
    "json://example.org/a, json://example.org/canary",
    "json://example.org/a json://example.org/canary",
    "json://example.org/canary path",
    "json://example.org/\ncanary",
    "tgram://123456789:abcdefg_hijklmnop/11111/22222?from=canary",
    "file:///etc/canary",
    "http://example.org/canary",
    "https://example.org/canary",
    "memory://canary",
    "nosuchservice://canary",
    "json://",
    "canary",
    "",
    "json://127.0.0.1/canary",
    "json://localhost/canary",
    "json://[::1]/canary",
    "ntfy://169.254.169.254/canary",
]


@pytest.mark.requirement("house:apprise-urls")
@pytest.mark.parametrize("url", REFUSED)
def test_such_a_url_is_refused_in_a_sentence_that_does_not_repeat_it(
    url: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(0)
    with pytest.raises(ValueError, match=r"^the Apprise url ") as caught:
        AppriseService("pager", url)

    assert "canary" not in str(caught.value) + caplog.text
    assert caught.value.__cause__ is None


@pytest.mark.requirement("house:apprise-urls")
@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("json://example.org/?retry=3&wait=2", "must not set retry, wait: retries, patience and form"),
        ("json://example.org/?template=x", "must not set template: it can read files"),
        ("syslog://", "must not be syslog: it would do something on this machine"),
        ("apprise://example.org/token", "must not lead to another Apprise"),
        ("tgram://123456789:abcdefg_hijklmnop/11111/22222", "names 2 recipients; make an account for each"),
        ("json://127.0.0.1/", "leads to a private address, which needs allow_private = true"),
    ],
)
def test_the_sentence_says_what_to_change(url: str, said: str) -> None:
    with pytest.raises(ValueError, match=f"^the Apprise url {said}"):
        AppriseService("pager", url)


@pytest.mark.parametrize(
    "url",
    [
        "json://example.org/hook?+X-Key=a",
        "ntfys://ntfy.example.org/kitchen",
        "gotify://example.org/token",
        "tgram://123456789:abcdefg_hijklmnop/11111",
        "slack://T1JJ3T3L2/A1BRTD4JD/TIiajkdnlazkcOXrIdevi7FQ/%23general",
        "discord://123456/token?avatar_url=https://example.org/a.png",
        "https://discord.com/api/webhooks/123456/token",
        "mailtos://us:secret@example.org?to=ada@example.org",
        "pover://abcdefghijklmnopqrstuvwxyz1234@token1234567890123456789012345",
    ],
)
def test_a_service_elsewhere_is_taken(url: str) -> None:
    assert AppriseService("pager", f" {url} ").address("-") == "-"
