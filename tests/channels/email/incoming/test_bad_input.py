"""What no mail should be: read within bounds of time and memory, from a real server, and nothing behind it is lost."""

from __future__ import annotations

import asyncio
import gzip
import io
import shutil
import threading
import time
import tracemalloc
import zipfile
from datetime import timedelta

import pytest
from tests.channels.email.incoming.mails import PROVED, mail
from tests.channels.email.incoming.test_listening import SECONDS, Cut, HandClock, begun, listening, look, texts
from tests.patience import PATIENCE_SECONDS
from tests.services.dovecot import Dovecot

from postroom.channels.email.incoming.imap import FETCHED_BYTES, FetchedMail
from postroom.channels.email.incoming.listening import MailReading, readable_event
from postroom.channels.email.incoming.reading import OwnMessages
from postroom.kernel.values.errors import TargetUnavailable
from postroom.message.inbound import Flag, InboundEvent, InboundMessage

READING = MailReading(
    channel="email",
    own=OwnMessages("bot@post.example"),
    own_addresses=frozenset({"bot@post.example"}),
    authserv_id="mx.post.example",
)
HEAD = f"Authentication-Results: {PROVED}\r\nFrom: ada@example.org\r\nMessage-ID: <bad@example.org>\r\n".encode()


def zip_bomb() -> bytes:
    """A hundred megabytes of nothing, as small as it gets."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("bomb", b"\0" * 100_000_000)
    return packed.getvalue()


def with_bomb(kind: str, coding: str, packed: bytes) -> bytes:
    import base64

    return (
        HEAD
        + b"MIME-Version: 1.0\r\nContent-Type: multipart/mixed; boundary=b\r\n\r\n--b\r\n\r\nyes\r\n--b\r\n"
        + f"Content-Type: {kind}\r\nContent-Encoding: {coding}\r\nContent-Transfer-Encoding: base64\r\n\r\n".encode()
        + base64.encodebytes(packed)
        + b"\r\n--b--\r\n"
    )


BAD = {
    "a line of ten megabytes": HEAD + b"X: " + b"y" * 10_000_000 + b"\r\n\r\nyes",
    "a hundred thousand headers": HEAD + b"".join(b"X-%d: y\r\n" % n for n in range(100_000)) + b"\r\nyes",
    "a hundred thousand of one header": HEAD + b"References: <a@b.example>\r\n" * 100_000 + b"\r\nyes",
    "ten thousand parts": HEAD
    + b"Content-Type: multipart/mixed; boundary=b\r\n\r\n"
    + b"--b\r\nContent-Type: text/plain\r\n\r\nx\r\n" * 10_000,
    "ten thousand mails in mails": HEAD + b"Content-Type: message/rfc822\r\n\r\n" * 10_000,
    "a boundary that never comes": HEAD + b"Content-Type: multipart/mixed; boundary=b\r\n\r\n" + b"--c\r\n" * 200_000,
    "an unknown charset": HEAD + b"Content-Type: text/plain; charset=x-klingon\r\n\r\nyes",
    "a charset that is none": HEAD + b'Content-Type: text/plain; charset="' + b"a" * 100_000 + b'"\r\n\r\nyes',
    "broken encoded words": HEAD + b"Subject: " + b"=?utf-8?b?" * 50_000 + b"\r\n\r\nyes",
    "html without an end": HEAD + b"Content-Type: text/html\r\n\r\n" + b"<div style='" * 80_000,
    "a line for each of many levels to end at": HEAD
    + b"".join(b"Content-Type: multipart/mixed; boundary=b%d\r\n\r\n--b%d\r\n" % (n, n) for n in range(99))
    + b"\n" * 1_000_000,
    "a folder of folds": HEAD + b"Subject: x" + b"\r\n " * 300_000 + b"\r\n\r\nyes",
}


def bounded(content: bytes) -> InboundMessage | None:
    """As it is fetched; raises nothing, and takes neither ten seconds nor fifty megabytes."""
    fetched = FetchedMail(validity=1, uid=1, at_us=1, content=content[:FETCHED_BYTES])
    tracemalloc.start()
    began = time.process_time()
    try:
        found = readable_event(READING, fetched)
        taken, (_, most) = time.process_time() - began, tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert taken < 10 and most < 50_000_000
    return found if isinstance(found, InboundMessage) else None


@pytest.mark.requirement("mail:hostile")
@pytest.mark.parametrize("content", BAD.values(), ids=BAD.keys())
def test_no_mail_takes_more_than_its_share(content: bytes) -> None:
    found = bounded(content)

    assert found is None or len(found.text or "") < 100_000


@pytest.mark.requirement("mail:hostile")
def test_what_is_packed_is_never_unpacked() -> None:
    nothing = gzip.compress(b"\0" * 100_000_000)
    for kind, coding, packed in (
        ("application/zip", "identity", zip_bomb()),
        ("text/html", "gzip", nothing),
        ("application/gzip", "gzip", nothing),
    ):
        found = bounded(with_bomb(kind, coding, packed))
        assert found is not None and (found.text, found.sender) == ("yes", "ada@example.org")


async def test_an_unknown_charset_is_still_a_persons_words() -> None:
    found = bounded(BAD["an unknown charset"])

    assert found is not None and found.text == "yes" and Flag.UNVERIFIED not in found.flags


@pytest.mark.requirement("mail:hostile")
async def test_bad_mails_on_a_real_server_hold_up_nothing_and_come_once(dovecot: Dovecot) -> None:
    async with listening(dovecot) as email:
        at: int | None = await begun(email)
        for content in BAD.values():
            dovecot.deliver(content)
        dovecot.deliver(mail("still heard", Message_ID="<last@example.org>"))
        names: list[str] = []
        async with asyncio.timeout(60):
            while "<last@example.org>" not in names:
                heard = await look(email, at, 5)
                names += [one.message_id for one in heard.events if isinstance(one, InboundMessage)]
                at = heard.position if heard.position is not None else at
        assert (await look(email, at)).events == ()

    assert names.count("<last@example.org>") == 1


@pytest.mark.requirement("mail:hostile")
async def test_a_content_type_of_nothing_but_semicolons_is_read_as_any_mail_and_so_is_the_next(
    dovecot: Dovecot,
) -> None:
    slow = b'Content-Type: text/plain; x="' + b";" * 360_000 + b"\r\n\r\nslow\r\n"
    in_a_part = b"Content-Type: multipart/mixed; boundary=b\r\n\r\n--b\r\n" + slow + b"--b--\r\n"
    async with listening(dovecot) as email:
        position = await begun(email)
        for content in (HEAD + slow, HEAD + in_a_part, mail("still heard", Message_ID="<last@example.org>")):
            dovecot.deliver(content)
            heard = await look(email, position, SECONDS)
            assert [one and one.strip() for one in texts(heard)] == ["still heard" if b"still" in content else "slow"]
            position = heard.position or position


@pytest.mark.requirement("mail:hostile")
async def test_while_a_mail_is_being_read_without_end_the_next_one_is_heard(
    dovecot: Dovecot, monkeypatch: pytest.MonkeyPatch
) -> None:
    read, release = MailReading.event, threading.Event()

    def reads(reading: MailReading, fetched: FetchedMail) -> InboundEvent | None:
        if b"endless" in fetched.content:
            release.wait(PATIENCE_SECONDS)
        return read(reading, fetched)

    monkeypatch.setattr(MailReading, "event", reads)
    monkeypatch.setattr("postroom.channels.email.incoming.listening._LONGEST_READING_SECONDS", 0.1)
    try:
        async with listening(dovecot) as email:
            position = await begun(email)
            dovecot.deliver(mail("endless"))
            left = await look(email, position, SECONDS)
            dovecot.deliver(mail("still heard", Message_ID="<last@example.org>"))
            heard = await look(email, left.position, SECONDS)
    finally:
        release.set()

    assert (left.events, texts(heard)) == ((), ["still heard"])


@pytest.mark.requirement("mail:reconnects")
async def test_a_mailbox_that_vanishes_is_named_and_heard_again_when_it_is_back(dovecot: Dovecot) -> None:
    folder = dovecot.maildir / ".Answers"
    for name in ("", "new", "cur", "tmp"):
        (folder / name).mkdir(exist_ok=True)
        shutil.chown(folder / name, *(["dovecot", "dovecot"] if folder.owner() == "root" else [folder.owner()]))
    async with listening(dovecot, mailbox="Answers") as email:
        position = await begun(email)
        shutil.move(folder, dovecot.maildir.parent / "away")
        said: set[str] = set()
        async with asyncio.timeout(PATIENCE_SECONDS):
            while not any("'Answers'" in one for one in said):
                try:
                    await look(email, position, 0.1)
                except TargetUnavailable as error:
                    said.add(error.message)
        shutil.move(dovecot.maildir.parent / "away", folder)
        (folder / "new" / "1.test").write_bytes(mail("back again"))
        async with asyncio.timeout(PATIENCE_SECONDS):
            heard: list[str | None] = []
            while not heard:
                one = await look(email, position, 5)
                heard, position = texts(one), one.position if one.position is not None else position

    assert heard == ["back again"]


@pytest.mark.requirement("mail:login-refused")
async def test_a_login_that_is_refused_for_a_week_is_tried_at_most_every_quarter_of_an_hour(dovecot: Dovecot) -> None:
    clock = HandClock()
    async with Cut(dovecot.port) as cut, listening(dovecot, clock, port=cut.port, password="wrong") as email:
        sentences: set[str] = set()
        for _hour in range(6):  # looked at a hundred times an hour; the pauses have grown to their longest by then
            for _look in range(100):
                clock.at += timedelta(seconds=36)
                with pytest.raises(TargetUnavailable) as refused:
                    await look(email, None)
                sentences.add(refused.value.message)

    assert sentences == {"the mail server does not accept our login for reading mail"}
    assert cut.connections <= 6 * 4 + 6
