"""What services and programs on the way read: keys, importance, and the mark by which a report of it is believed."""

from __future__ import annotations

from dataclasses import replace
from email import message_from_bytes
from email.message import EmailMessage
from email.policy import default as default_policy
from typing import Any

import pytest

from postroom.domain.delivery import Intent, Message, Priority
from postroom.domain.ids import DeliveryId
from postroom.world.channels.email import Email
from postroom.world.channels.mail_listening.account import ImapAccount

ID = "0198c0de-0000-7000-8000-000000000001"


def sent(host: str = "127.0.0.1", *, listens: bool = False, tags: bool = False, **changes: Any) -> EmailMessage:
    imap = ImapAccount(host="127.0.0.1", tls="none", user="bot@post.example", reply_tags=tags) if listens else None
    email = Email(host, 25, "none", None, None, "bot@post.example", imap=imap)
    given: dict[str, Any] = {"intent": Intent.SEND, "address": "ada@example.org", "text": "hello"}
    (mail,) = email.prepare(Message(delivery_id=DeliveryId(ID), **(given | changes)))
    return message_from_bytes(mail.content, policy=default_policy)


@pytest.mark.requirement("mail:copies-dropped")
def test_services_that_drop_copies_know_the_delivery_by_its_id() -> None:
    mail = sent()

    assert (mail["Resend-Idempotency-Key"], mail["X-EE-Idempotency-Key"]) == (ID, ID)
    assert Email("smtp.resend.com", 587, "starttls", "resend", "x", "a@b.example").capabilities.dedupes_for_seconds
    assert not Email("smtp.example.org", 587, "starttls", "x", "x", "a@b.example").capabilities.dedupes_for_seconds


@pytest.mark.parametrize(
    ("priority", "importance"), [(Priority.HIGH, "high"), (Priority.MEDIUM, None), (Priority.LOW, "low")]
)
def test_only_what_stands_out_says_how_important_it_is(priority: Priority, importance: str | None) -> None:
    assert sent(priority=priority)["Importance"] == importance


@pytest.mark.requirement("mail:bounce-believed")
def test_a_mail_shows_its_mark_the_same_on_every_attempt_and_a_sender_is_never_told_it() -> None:
    email = Email("127.0.0.1", 25, "none", None, None, "bot@post.example", key=b"household")
    message = Message(delivery_id=DeliveryId(ID), intent=Intent.SEND, address="ada@example.org", text="hello")
    (first,), (again,) = email.prepare(message), email.prepare(replace(message, repeated=True))
    marked = message_from_bytes(first.content, policy=default_policy)["Message-ID"]

    assert marked == message_from_bytes(again.content, policy=default_policy)["Message-ID"]
    assert marked.startswith(f"<{ID}.") and marked.endswith("@post.example>")
    assert marked == message_from_bytes(first.content, policy=default_policy)["X-Postroom-Message"]
    assert first.message_id == f"<{ID}@post.example>"


@pytest.mark.requirement("mail:bounce-believed")
def test_what_follows_up_a_mail_of_ours_stands_in_its_thread() -> None:
    email = Email("127.0.0.1", 25, "none", None, None, "bot@post.example", key=b"household")
    message = Message(delivery_id=DeliveryId(ID), intent=Intent.SEND, address="ada@example.org", text="hello")
    (card,) = email.prepare(message)
    other = DeliveryId(ID[:-1] + "2")
    (closing,) = email.prepare(replace(message, delivery_id=other, intent=Intent.REPLY, thread=card.message_id))
    marked = message_from_bytes(card.content, policy=default_policy)["Message-ID"]

    assert message_from_bytes(closing.content, policy=default_policy)["In-Reply-To"] == marked


def test_no_mail_carries_what_mailing_lists_carry() -> None:
    assert sent(listens=True)["List-Unsubscribe"] is None


@pytest.mark.requirement("mail:reply-tags")
def test_with_tags_every_mail_names_itself_in_the_address_that_is_answered() -> None:
    assert sent(listens=True, tags=True)["Reply-To"] == f"bot+{ID}@post.example"
    assert sent(listens=True)["Reply-To"] is None
