"""What services and programs on the way read: keys, importance, and how to end our mails."""

from __future__ import annotations

from email import message_from_bytes
from email.message import EmailMessage
from email.policy import default as default_policy
from typing import Any

import pytest

from postroom.domain.delivery import Intent, Message, Priority
from postroom.domain.errors import ValidationError
from postroom.domain.ids import DeliveryId
from postroom.domain.markup import Markup
from postroom.world.channels.email import Email
from postroom.world.channels.mail_listening.account import ImapAccount

ID = "0198c0de-0000-7000-8000-000000000001"
LINK = f"https://home.example/unsubscribe/{ID}.abc"


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


@pytest.mark.requirement("mail:unsubscribe")
def test_a_stranger_can_end_it_with_one_click_or_a_mail() -> None:
    mail = sent(listens=True, markup=Markup(unsubscribe=LINK))
    by_mail = f"<mailto:bot@post.example?subject=unsubscribe%20{ID}>"

    assert mail["List-Unsubscribe"].split(", ") == [f"<{LINK}>", by_mail]
    assert mail["List-Unsubscribe-Post"] == "List-Unsubscribe=One-Click"


def test_only_ways_that_work_are_offered() -> None:
    by_mail_alone = sent(listens=True, markup=Markup(unsubscribe=""))
    neither = sent(markup=Markup(unsubscribe=""))

    assert "mailto:" in by_mail_alone["List-Unsubscribe"] and by_mail_alone["List-Unsubscribe-Post"] is None
    assert neither["List-Unsubscribe"] is None
    assert sent(listens=True)["List-Unsubscribe"] is None


@pytest.mark.parametrize("link", ["http://home.example/x", "https://a\r\nBcc: evil@x", "https://a>,<https://b"])
def test_no_link_becomes_another_header(link: str) -> None:
    with pytest.raises(ValidationError):
        sent(markup=Markup(unsubscribe=link))


@pytest.mark.requirement("mail:reply-tags")
def test_with_tags_every_mail_names_itself_in_the_address_that_is_answered() -> None:
    assert sent(listens=True, tags=True)["Reply-To"] == f"bot+{ID}@post.example"
    assert sent(listens=True)["Reply-To"] is None
