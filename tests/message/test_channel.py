"""A channel says what it can do; what it does not say is never relied on."""

from __future__ import annotations

from dataclasses import FrozenInstanceError, fields

import pytest
from tests.support.envelopes import REACT, REPLY, SEND

from postroom.channels.telegram.kind import TELEGRAM
from postroom.kernel.values.errors import ValidationError
from postroom.message.channel import UNDECLARED, Capabilities, KnownChannels, ThreadIdentity
from postroom.message.wire import parse_notify

PLACES = ThreadIdentity(place=r"[CD][A-Z0-9]+", id=r"\d+\.\d+", words="<channel>:<ts>")


def refused(envelope: dict[str, object], channels: KnownChannels) -> list[tuple[str, str, str]]:
    with pytest.raises(ValidationError) as caught:
        parse_notify(envelope, channels)
    return [(one.field, one.error, one.code) for one in caught.value.fields]


@pytest.mark.parametrize(
    ("thread", "split"),
    [
        ("1000:55", ("1000", "55")),
        (" -100:1 ", ("-100", "1")),
        ("1000:0055", ("1000", "55")),
        ("@channel:9", ("@channel", "9")),
        ("1000", None),
        ("1000:", None),
        ("a:1", None),
        ("١:١", None),
        ("1:2:3", None),
    ],
)
def test_a_telegram_thread_is_a_chat_and_a_message(thread: str, split: tuple[str, str] | None) -> None:
    assert TELEGRAM.thread_identity is not None
    assert TELEGRAM.thread_identity.split(thread) == split


def test_a_channel_writes_its_threads_in_its_own_form() -> None:
    assert PLACES.split("C1:1718.0010") == ("C1", "1718.0010")
    assert PLACES.split("1000:55") is None


def test_what_is_not_declared_is_off() -> None:
    offered = Capabilities()
    able = [one.name for one in fields(offered) if getattr(offered, one.name) is True]

    assert able == ["receipt"]
    assert (offered.formats, offered.dedupes_for_seconds, offered.style) == (("plain",), 0, "chat")
    with pytest.raises(FrozenInstanceError):
        offered.buttons = True  # type: ignore[misc]


@pytest.mark.requirement("house:channel-asked-by-capability")
def test_an_envelope_is_judged_by_what_its_channel_can_do() -> None:
    plain = {"telegram": Capabilities()}
    threaded = {"telegram": Capabilities(reacts=True, replies=True, thread_identity=PLACES)}
    wrong_form = ("request_context.source_thread_identity", "must be <channel>:<ts>", "thread_format")

    assert refused(REACT, plain) == [("delivery.intent", "telegram has no reactions", "react_unsupported")]
    assert refused(REPLY, plain) == [("delivery.intent", "telegram has no replies", "reply_unsupported")]
    assert refused(REPLY, threaded) == [wrong_form]
    assert refused(REACT, threaded) == [wrong_form]
    assert parse_notify(SEND, plain).channel == "telegram"


def test_a_channel_that_declares_nothing_may_reply_and_not_react() -> None:
    known = {"telegram": UNDECLARED}

    assert parse_notify(REPLY, known).channel == "telegram"
    assert [code for _, _, code in refused(REACT, known)] == ["react_unsupported"]
