"""Against a real Dovecot."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from tests.channels.email.incoming.mails import BOUNCE, KEY, OUR_ID, OURS, mail
from tests.services.dovecot import PASSWORD, USER, Dovecot
from tests.services.ports import free_port

from postroom.channels.email.channel import Email
from postroom.channels.email.incoming.imap import ImapAccount, MailPosition
from postroom.channels.email.incoming.listening import MOST_AT_ONCE, SWEEP_SECONDS
from postroom.kernel.values.errors import TargetUnavailable
from postroom.message.channel import Listen
from postroom.message.inbound import Flag, InboundMessage, LateNews, Listened, NewsKind

SECONDS = 20.0


class HandClock:
    def __init__(self) -> None:
        self.at = datetime.now(UTC)

    def __call__(self) -> datetime:
        return self.at


@asynccontextmanager
async def listening(dovecot: Dovecot, now: Any = None, **changes: Any) -> AsyncIterator[Email]:
    account = {"host": "127.0.0.1", "port": dovecot.port, "tls": "none", "user": USER, "password": PASSWORD}
    imap = ImapAccount(**(account | {"authserv_id": "mx.post.example"} | changes))
    given = {} if now is None else {"now": now}
    email = Email("127.0.0.1", 9, "none", None, None, "bot@post.example", imap=imap, key=KEY, **given)
    try:
        yield email
    finally:
        await email.close()


async def look(email: Email, position: int | None, seconds: float = 0.0) -> Listened:
    async with asyncio.timeout(SECONDS):
        return await email.listen(position, seconds)


async def begun(email: Email) -> int:
    heard = await look(email, None)
    assert heard.position is not None and heard.everything
    return heard.position


def texts(heard: Listened) -> list[str | None]:
    return [event.text for event in heard.events if isinstance(event, InboundMessage)]


@pytest.mark.requirement("mail:heard")
async def test_a_reply_is_heard_with_who_wrote_it_and_what_it_answers(dovecot: Dovecot) -> None:
    async with listening(dovecot) as email:
        position = await begun(email)
        dovecot.deliver(mail("Yes, please.\n\nOn Mon, 16 Nov 2026, bot wrote:\n> Ship it?\n"))

        (heard,) = (await look(email, position, SECONDS)).events

    assert isinstance(heard, InboundMessage)
    assert (heard.sender, heard.text, heard.replies_to) == ("ada@example.org", "Yes, please.", OUR_ID)
    assert (heard.message_id, heard.flags, heard.alone) == ("<reply-1@example.org>", frozenset(), True)
    assert heard.said_at_us is not None


@pytest.mark.requirement("mail:heard-at-once")
async def test_a_mail_wakes_a_look_long_before_the_next_sweep(dovecot: Dovecot) -> None:
    async with listening(dovecot) as email:
        position = await begun(email)
        waiting = asyncio.create_task(look(email, position, 3 * SWEEP_SECONDS))
        done, _ = await asyncio.wait([waiting], timeout=0.5)
        assert not done
        dovecot.deliver(mail())

        assert texts(await waiting) == ["yes"]  # within twenty seconds, and a sweep takes sixty


@pytest.mark.requirement("mail:untouched")
async def test_nothing_in_the_mailbox_is_changed(dovecot: Dovecot) -> None:
    async with listening(dovecot) as email:
        position = await begun(email)
        dovecot.deliver(mail())
        await look(email, position, SECONDS)

    assert dovecot.flags() == set()
    assert [path.read_bytes() for path in (dovecot.maildir / "new").iterdir()] == [mail()]


@pytest.mark.requirement("mail:once")
async def test_what_was_not_acknowledged_comes_again_as_the_same_event(dovecot: Dovecot) -> None:
    async with listening(dovecot) as email:
        position = await begun(email)
        dovecot.deliver(mail())
        (first,) = (await look(email, position, SECONDS)).events
    async with listening(dovecot) as email:  # killed before the position was saved
        heard = await look(email, position, SECONDS)
        (again,) = heard.events
        assert isinstance(first, InboundMessage) and isinstance(again, InboundMessage)
        assert again.event_id == first.event_id == "message:ada@example.org:<reply-1@example.org>"
        assert (await look(email, heard.position)).events == ()


async def test_old_mail_is_not_read_but_for_what_answers_ours(dovecot: Dovecot) -> None:
    dovecot.deliver(mail("to another", In_Reply_To="<something@else.example>"))
    dovecot.deliver(mail("missed", Message_ID="<reply-2@example.org>"))
    dovecot.deliver(mail("by references", In_Reply_To=None, References=f"<x@y.example> {OUR_ID}"))
    async with listening(dovecot) as email:
        heard = await look(email, None)
        assert texts(heard) == ["missed", "by references"]
        assert (await look(email, heard.position)).events == ()


@pytest.mark.requirement("mail:numbered-anew")
async def test_a_mailbox_that_is_numbered_anew_is_heard_on_and_repeats_only_known_events(dovecot: Dovecot) -> None:
    async with listening(dovecot) as email:
        position = await begun(email)
        dovecot.deliver(mail("private", In_Reply_To=None, Message_ID="<private@example.org>"))
        dovecot.deliver(mail())
        before = await look(email, position, SECONDS)
    assert before.position is not None and texts(before) == ["private", "yes"]
    dovecot.stop()
    dovecot.number_anew()
    dovecot.start()
    async with listening(dovecot) as email:
        anew = await look(email, before.position)
        assert anew.position is not None
        assert [_id(event) for event in anew.events] == [_id(before.events[1])]
        assert MailPosition.of(anew.position).validity > MailPosition.of(before.position).validity
        assert anew.position > before.position
        dovecot.deliver(mail("later", Message_ID="<reply-3@example.org>"))
        assert texts(await look(email, anew.position, SECONDS)) == ["later"]


def _id(event: object) -> str:
    assert isinstance(event, InboundMessage)
    return event.event_id


@pytest.mark.requirement("mail:reconnects")
async def test_a_server_that_goes_away_is_said_and_heard_again(dovecot: Dovecot) -> None:
    async with listening(dovecot) as email:
        position = await begun(email)
        dovecot.stop()
        with pytest.raises(TargetUnavailable):
            await look(email, position, 5.0)
        with pytest.raises(TargetUnavailable, match="could not be reached for reading mail"):
            await look(email, position, 5.0)
        dovecot.start()
        dovecot.deliver(mail())

        assert texts(await look(email, position, SECONDS)) == ["yes"]


async def test_a_connection_that_is_cut_while_waiting_is_opened_again(dovecot: Dovecot) -> None:
    async with Cut(dovecot.port) as cut, listening(dovecot, port=cut.port) as email:
        position = await begun(email)
        waiting = asyncio.create_task(look(email, position, SECONDS))
        await asyncio.wait([waiting], timeout=0.2)
        cut.now()
        with pytest.raises(TargetUnavailable):
            await waiting
        dovecot.deliver(mail())

        assert texts(await look(email, position, SECONDS)) == ["yes"]


@pytest.mark.requirement("mail:login-refused")
async def test_a_refused_login_has_its_own_sentence_and_is_not_tried_again_and_again(dovecot: Dovecot) -> None:
    clock = HandClock()
    async with Cut(dovecot.port) as cut, listening(dovecot, clock, port=cut.port, password="wrong") as email:
        for _ in range(3):
            with pytest.raises(TargetUnavailable, match="does not accept our login for reading mail"):
                await look(email, None)
        assert cut.connections == 1
        clock.at += timedelta(seconds=31)
        with pytest.raises(TargetUnavailable, match="does not accept our login"):
            await look(email, None)
        assert cut.connections == 2
        clock.at += timedelta(seconds=31)
        with pytest.raises(TargetUnavailable):
            await look(email, None)
        assert cut.connections == 2


@pytest.mark.parametrize("tls", ["tls", "starttls"])
async def test_mail_is_read_over_an_encrypted_connection(dovecot: Dovecot, tls: str) -> None:
    port = dovecot.tls_port if tls == "tls" else dovecot.port
    async with listening(dovecot, port=port, tls=tls, tls_context=dovecot.trust) as email:
        position = await begun(email)
        dovecot.deliver(mail())

        assert texts(await look(email, position, SECONDS)) == ["yes"]


async def test_a_certificate_that_nobody_vouches_for_is_refused(dovecot: Dovecot) -> None:
    async with listening(dovecot, port=dovecot.tls_port, tls="tls") as email:
        with pytest.raises(TargetUnavailable, match="certificate"):
            await look(email, None)


async def test_a_login_of_any_characters_is_sent_as_it_is(dovecot: Dovecot) -> None:
    async with listening(dovecot, password="pässword") as email:
        with pytest.raises(TargetUnavailable, match="does not accept our login"):
            await look(email, None)


async def test_a_mailbox_that_is_not_there_is_named(dovecot: Dovecot) -> None:
    async with listening(dovecot, mailbox="Answers") as email:
        with pytest.raises(TargetUnavailable, match="'Answers'"):
            await look(email, None)


@pytest.mark.requirement("mail:bounce")
async def test_a_bounce_is_news_of_the_mail_that_came_back(dovecot: Dovecot) -> None:
    async with listening(dovecot) as email:
        position = await begun(email)
        dovecot.deliver(BOUNCE)

        (news,) = (await look(email, position, SECONDS)).events

    assert isinstance(news, LateNews)
    assert (news.kind, news.delivery_id, news.channel) == (NewsKind.BOUNCED, OURS, "email")
    assert news.words.startswith("there is no such address (5.1.1): 550 5.1.1")


async def test_a_full_mailbox_is_read_in_several_looks_in_order(dovecot: Dovecot) -> None:
    count = MOST_AT_ONCE + 5
    async with listening(dovecot) as email:
        position: int | None = await begun(email)
        for number in range(count):
            dovecot.deliver(mail(f"mail {number}", Message_ID=f"<m{number}@example.org>"))
        first = await look(email, position, SECONDS)
        second = await look(email, first.position, SECONDS)

    assert not first.everything and second.everything
    assert sorted(texts(first) + texts(second), key=str) == sorted(
        (f"mail {number}" for number in range(count)), key=str
    )


async def test_broken_and_hostile_mails_hold_nothing_up(dovecot: Dovecot) -> None:
    nested = b"".join(b"Content-Type: multipart/mixed; boundary=b%d\r\n\r\n--b%d\r\n" % (n, n) for n in range(3000))
    async with listening(dovecot) as email:
        position = await begun(email)
        dovecot.deliver(b"\x00\xff\xfe no header at all")
        dovecot.deliver(b"From: ada@example.org\r\n" + nested)
        dovecot.deliver(b"From: ada@example.org\r\nSubject: " + b"x" * 2_000_000 + b"\r\n\r\nlong")
        dovecot.deliver(mail("still heard"))
        heard: list[str | None] = []
        at: int | None = position
        while "still heard" not in heard:
            one = await look(email, at, SECONDS)
            heard, at = heard + texts(one), one.position or at

    assert heard.count("still heard") == 1


async def test_without_a_server_that_proves_senders_nothing_is_an_answer_but_bounces_are_heard(
    dovecot: Dovecot,
) -> None:
    async with listening(dovecot, authserv_id="") as email:
        assert not email.capabilities.inbound
        position = await begun(email)
        dovecot.deliver(mail())
        dovecot.deliver(BOUNCE)
        events = [*(await look(email, position, SECONDS)).events]

    flags = [event.flags for event in events if isinstance(event, InboundMessage)]
    assert flags == [frozenset({Flag.UNVERIFIED})]


async def test_the_probe_logs_in_to_both_servers(dovecot: Dovecot) -> None:
    async with listening(dovecot) as email:
        with pytest.raises(TargetUnavailable):
            await email.probe(5.0)  # nothing listens where mail would be sent


def test_without_a_mailbox_to_read_it_is_no_listener() -> None:
    email = Email("127.0.0.1", 9, "none", None, None, "bot@post.example")

    assert not isinstance(email, Listen)
    assert not email.capabilities.inbound


class Cut:
    """Stands before a server, counts who comes, and can cut everybody off."""

    def __init__(self, behind: int) -> None:
        self.port, self.connections = free_port(), 0
        self._behind = behind
        self._open: list[asyncio.StreamWriter] = []

    async def __aenter__(self) -> Cut:
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", self.port)
        return self

    async def __aexit__(self, *_: object) -> None:
        self._server.close()
        self.now()

    def now(self) -> None:
        for writer in self._open:
            writer.transport.abort()
        self._open.clear()

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        there, back = await asyncio.open_connection("127.0.0.1", self._behind)
        self._open += [writer, back]
        await asyncio.gather(_pump(reader, back), _pump(there, writer))


async def _pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        while data := await reader.read(65_536):
            writer.write(data)
            await writer.drain()
    except OSError:
        pass
    finally:
        writer.close()
