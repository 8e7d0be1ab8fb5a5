from __future__ import annotations

import base64
import email
from email.message import EmailMessage
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.channels.email.incoming.mails import BOUNCE, KEY, MARKED, OUR_ID, OURS, PROVED, mail

from postroom.channels.email.incoming.imap import FetchedMail
from postroom.channels.email.incoming.listening import MailReading
from postroom.channels.email.incoming.reading import OwnMessages
from postroom.message.inbound import Assurance, Flag, InboundMessage, LateNews, NewsKind

READING = MailReading(
    channel="email",
    own=OwnMessages("bot@post.example", KEY),
    own_addresses=frozenset({"bot@post.example"}),
    authserv_id="mx.post.example",
)


def event(content: bytes) -> InboundMessage | LateNews | None:
    heard = READING.event(FetchedMail(validity=7, uid=3, at_us=1_000_000, content=content))
    assert heard is None or isinstance(heard, InboundMessage | LateNews)
    return heard


def read(content: bytes) -> InboundMessage:
    heard = event(content)
    assert isinstance(heard, InboundMessage)
    return heard


def test_a_proved_reply_is_the_persons_own_word() -> None:
    heard = read(mail("yes"))

    assert (heard.author, heard.assurance, heard.flags) == ("ada@example.org", Assurance.CHANNEL, frozenset())


@pytest.mark.requirement("mail:proved-sender")
@pytest.mark.parametrize(
    "proved", [None, "mx.post.example; dmarc=fail header.from=example.org", "mx.other; dmarc=pass"]
)
def test_without_proof_it_is_no_ones_word(proved: str | None) -> None:
    heard = read(mail("yes", proved=proved))

    assert (heard.author, heard.sender, heard.assurance) == (None, None, Assurance.NONE)
    assert Flag.UNVERIFIED in heard.flags and not heard.alone


FROMS = {
    "two addresses": "ada@example.org, eve@evil.example",
    "a group": "team: ada@example.org;",
    "a comma in the name": "eve@evil.example, <ada@example.org>",
    "no address": "Ada",
    "an encoded address": "=?utf-8?q?ada?=@example.org",
    "two in brackets": "<eve@evil.example> <ada@example.org>",
}


@pytest.mark.parametrize("sender", FROMS.values(), ids=FROMS)
def test_a_from_that_is_not_one_address_is_no_ones_mail(sender: str) -> None:
    assert event(mail().replace(b"From: Ada Lovelace <ada@example.org>", f"From: {sender}".encode())) is None


def test_two_from_headers_are_no_ones_mail() -> None:
    assert event(b"From: eve@evil.example\r\n" + mail()) is None


AUTOMATIC: dict[str, dict[str, Any]] = {
    "auto-submitted": {"Auto_Submitted": "auto-replied"},
    "bulk": {"Precedence": "bulk"},
    "a list": {"List_Id": "<list.example.org>"},
    "no return": {"Return_Path": "<>"},
    "autoreply": {"X_Autoreply": "yes"},
    "absence": {"Subject": "Automatic reply: Question: Ship it?"},
    "absence in german": {"Subject": "Abwesenheitsnotiz: Frage"},
    "ourselves": {"From": "Bot <BOT@post.example>"},
    "a daemon": {"From": "MAILER-DAEMON@example.org"},
}


@pytest.mark.requirement("mail:automatic")
@pytest.mark.parametrize("headers", AUTOMATIC.values(), ids=AUTOMATIC)
def test_what_a_program_sends_is_marked(headers: dict[str, Any]) -> None:
    heard = read(mail("yes", **headers))

    assert Flag.AUTOMATIC in heard.flags
    assert heard.author is None and not heard.alone


def test_a_person_who_says_it_is_no_automatic_mail_is_believed() -> None:
    assert read(mail(Auto_Submitted="no", Subject="Re: Out of office?")).flags == frozenset()


@pytest.mark.requirement("mail:automatic")
@pytest.mark.parametrize(
    "headers", [{"Subject": "Fwd: Question"}, {"Resent_From": "eve@example.org"}, {"Subject": "WG: x"}]
)
def test_what_was_passed_on_is_marked(headers: dict[str, Any]) -> None:
    assert read(mail(**headers)).flags == {Flag.FORWARDED}


ANSWERED: dict[str, tuple[dict[str, Any], str | None]] = {
    "in reply to": ({}, OUR_ID),
    "references": ({"In_Reply_To": "<x@y>", "References": f"<a@b> {OUR_ID} <c@d>"}, OUR_ID),
    "with its mark": ({"In_Reply_To": MARKED}, OUR_ID),
    "another's mail": ({"In_Reply_To": "<x@y.example>"}, None),
    "our id at another domain": ({"In_Reply_To": f"<{OURS}@evil.example>"}, None),
    "no id of ours": ({"In_Reply_To": "<hello@post.example>"}, None),
    "by the address": ({"In_Reply_To": "<ses@x.example>", "To": f"Bot <bot+{OURS}@post.example>"}, OUR_ID),
    "by another's address": ({"In_Reply_To": None, "To": f"eve+{OURS}@post.example"}, None),
}


@pytest.mark.requirement("mail:heard")
@pytest.mark.parametrize(("headers", "answered"), ANSWERED.values(), ids=ANSWERED)
def test_a_mail_says_which_of_ours_it_answers(headers: dict[str, Any], answered: str | None) -> None:
    assert read(mail(**headers)).replies_to == answered


@pytest.mark.requirement("mail:once")
def test_a_mail_without_a_name_is_known_by_its_place() -> None:
    assert read(mail(Message_ID=None)).event_id == "message:ada@example.org:7:3"


def html(content: str) -> bytes:
    message = EmailMessage()
    for name, value in email.message_from_bytes(mail()).items():
        if not name.startswith(("Content", "MIME")):
            message[name] = " ".join(value.split())
    message.set_content(content, subtype="html")
    return message.as_bytes()


HTML = {
    "gmail": '<div dir="ltr">no</div><br><div class="gmail_quote"><blockquote>yes</blockquote></div>',
    "outlook": '<head><style>p {x}</style></head><p>no</p><hr><div id="divRplyFwdMsg">From: x</div><div>yes</div>',
    "apple": "<div>no</div><blockquote type=cite>yes</blockquote>",
    "hidden": '<span style="display:none">yes</span><p>no</p><script>yes</script>',
    "open": "<p>no<blockquote><p>yes",
}


@pytest.mark.requirement("mail:own-words")
@pytest.mark.parametrize("content", HTML.values(), ids=HTML)
def test_of_a_mail_in_html_alone_the_persons_words_are_read(content: str) -> None:
    assert read(html(content)).text == "no"


CODED = {
    "base64": (b"utf-8", b"base64", base64.b64encode("grün".encode())),
    "quoted": (b"iso-8859-1", b"quoted-printable", b"gr=FCn"),
    "unknown charset": (b"x-nothing", b"8bit", "grün".encode()),
    "costly charset": (b"punycode", b"8bit", "grün".encode()),
}


@pytest.mark.parametrize(("charset", "coding", "raw"), CODED.values(), ids=CODED)
def test_every_charset_and_coding_is_read(charset: bytes, coding: bytes, raw: bytes) -> None:
    head = b"From: ada@example.org\r\nContent-Type: text/plain; charset=%s\r\nContent-Transfer-Encoding: %s\r\n\r\n"

    assert read(head % (charset, coding) + raw).text == "grün"


def test_what_is_attached_is_not_read() -> None:
    message = EmailMessage()
    message["From"] = "ada@example.org"
    message.set_content("see the file")
    message.add_attachment("Approve", filename="a.txt")

    assert read(message.as_bytes()).text == "see the file"


@pytest.mark.requirement("mail:hostile")
def test_hostile_mails_take_little_time_and_raise_nothing() -> None:
    head = b"From: ada@example.org\r\n"
    nested = b"".join(b"Content-Type: multipart/mixed; boundary=b%d\r\n\r\n--b%d\r\n" % (n, n) for n in range(20_000))
    many = b"Content-Type: multipart/mixed; boundary=b\r\n\r\n" + b"--b\r\n\r\nx\r\n" * 10_000
    wide = b"X: " + b"y" * 1_000_000 + b"\r\n\r\nyes"
    tags = b"Content-Type: text/html\r\n\r\n" + b"<div><!--" * 100_000
    entities = b"Content-Type: text/html\r\n\r\n" + b"&" * 500_000
    broken = b"Content-Type: text/plain; charset*0*=x'\r\nContent-Transfer-Encoding: base64\r\n\r\n====\xff"
    quotes = b'Content-Type: text/plain; x="' + b";" * 1_000_000 + b"\r\n\r\nyes"
    in_a_part = b"Content-Type: multipart/mixed; boundary=b\r\n\r\n--b\r\n" + quotes + b"\r\n--b--"
    open_tags = b"Content-Type: text/html\r\n\r\n<blockquote>" + b"<a>" * 20_000 + b"<b></b>" * 10_000
    for content in (quotes, in_a_part, open_tags, nested, many, wide, tags, entities, broken, b"\r\n" * 100_000):
        assert read(head + content).sender is None


@given(st.binary(max_size=400))
def test_no_bytes_make_it_stumble(content: bytes) -> None:
    event(content)
    event(b"From: ada@example.org\r\nContent-Type: multipart/report; boundary=b\r\n" + content)


@pytest.mark.requirement("mail:bounce")
def test_a_bounce_names_the_delivery_the_status_and_its_meaning() -> None:
    news = event(BOUNCE)

    assert isinstance(news, LateNews)
    assert (news.kind, news.delivery_id, news.event_id) == (NewsKind.BOUNCED, OURS, "mail:<bounce-1@mx.example.org>")
    assert news.words.startswith("there is no such address (5.1.1): 550 5.1.1 <ada@example.org>")


def test_a_delay_is_news_and_a_success_is_none() -> None:
    delayed = event(BOUNCE.replace(b"Action: failed", b"Action: delayed").replace(b"5.1.1", b"4.4.1"))
    relayed = event(BOUNCE.replace(b"Action: failed", b"Action: relayed"))

    assert isinstance(delayed, LateNews) and delayed.kind is NewsKind.DELAYED
    assert isinstance(relayed, InboundMessage) and Flag.AUTOMATIC in relayed.flags


def test_a_bounce_of_anothers_mail_is_nothing() -> None:
    assert event(BOUNCE.replace(b"@post.example>", b"@evil.example>")) is None


def test_a_bounce_with_the_whole_mail_in_it_is_read() -> None:
    whole = BOUNCE.replace(b"text/rfc822-headers", b"message/rfc822")

    assert isinstance(event(whole), LateNews)


@pytest.mark.requirement("mail:bounce-closes", "mail:bounce-for-now")
@pytest.mark.parametrize(
    ("status", "for_good"),
    [
        ("5.1.1", True),
        ("5.1.10", True),
        ("5.2.1", True),
        ("5.2.2", False),
        ("5.7.1", False),
        ("4.2.2", False),
        ("", False),
    ],
)
def test_only_an_address_that_is_gone_is_closed(status: str, for_good: bool) -> None:
    news = event(BOUNCE.replace(b"Status: 5.1.1", b"Status: " + status.encode()))

    assert isinstance(news, LateNews)
    assert news.for_good is for_good


QMAIL = f"""From: MAILER-DAEMON@mx.example.org
To: bot@post.example
Subject: failure notice
Message-ID: <qmail-1@mx.example.org>

Hi. This is the qmail-send program at mx.example.org.
I'm afraid I wasn't able to deliver your message to the following addresses.

<ada@example.org>:
192.0.2.7 does not like recipient.
Remote host said: 550 sorry, no such user here

--- Below this line is a copy of the message.

Return-Path: <bot@post.example>
Message-ID: {MARKED}
Subject: Hello

hello
""".encode()


@pytest.mark.requirement("mail:informal-bounce")
def test_a_bounce_from_before_there_was_a_form_for_them_is_known() -> None:
    gone, full = event(QMAIL), event(QMAIL.replace(b"550 sorry, no such user here", b"452 4.2.2 mailbox is full"))

    assert isinstance(gone, LateNews) and isinstance(full, LateNews)
    assert (gone.kind, gone.delivery_id, gone.for_good) == (NewsKind.BOUNCED, OURS, True)
    assert (full.kind, full.for_good) == (NewsKind.DELAYED, False)


def test_what_a_person_quotes_is_no_bounce() -> None:
    found = event(QMAIL.replace(b"MAILER-DAEMON@mx", b"ada@mx"))

    assert isinstance(found, InboundMessage)


@pytest.mark.requirement("mail:informal-bounce")
@pytest.mark.parametrize("kind", [b"text/rfc822-headers", b"message/rfc822"])
def test_a_bounce_of_a_mail_that_a_relay_has_renamed_is_known_by_our_key(kind: bytes) -> None:
    renamed = BOUNCE.replace(
        f"Message-ID: {MARKED}".encode(),
        f"Message-ID: <0100018f@email.amazonses.com>\nX-Postroom-Message: {MARKED}".encode(),
    )
    news = event(renamed.replace(b"text/rfc822-headers", kind))

    assert isinstance(news, LateNews) and news.delivery_id == OURS


@pytest.mark.requirement("mail:bounce-believed")
@pytest.mark.parametrize("made_up", [OUR_ID, f"<{OURS}.{'0' * 20}@post.example>", f"<{OURS}.@post.example>"])
def test_a_report_that_anybody_could_have_made_up_is_nothing(made_up: str) -> None:
    for report in (BOUNCE, QMAIL):
        assert not isinstance(event(report.replace(MARKED.encode(), made_up.encode())), LateNews)


@pytest.mark.requirement("mail:bounce-believed")
def test_whom_a_report_names_is_part_of_the_news() -> None:
    found = event(BOUNCE), event(BOUNCE.replace(b"rfc822; ada@", b"rfc822; Eve@")), event(QMAIL)

    named = [one.recipients for one in found if isinstance(one, LateNews)]
    assert named[:2] == [("ada@example.org",), ("eve@example.org",)]
    assert "ada@example.org" in named[2]


@pytest.mark.requirement("mail:original-kept")
def test_what_was_cut_away_stays_in_the_original() -> None:
    written = "Yes.\n\nOn Mon, 16 Nov 2026, bot wrote:\n> Ship it?\n"
    found = event(mail(written))

    assert isinstance(found, InboundMessage)
    assert (found.text, found.original, found.answers) == ("Yes.", written, OURS)


def test_the_proof_is_what_the_mails_above_use() -> None:
    assert PROVED.startswith(READING.authserv_id)
