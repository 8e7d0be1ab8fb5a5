"""Mail handed over by LMTP, with the client of the standard library."""

from __future__ import annotations

import asyncio
import smtplib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from tests.services.ports import free_port
from tests.world.channels.mail_listening.mails import BOUNCE, KEY, OUR_ID, mail

from postroom.domain.errors import TargetUnavailable
from postroom.domain.inbound_message import InboundMessage, LateNews, Listened
from postroom.domain.ports import Listen
from postroom.world.channels.email import Email
from postroom.world.channels.mail_listening.lmtp_account import LmtpAccount
from postroom.world.channels.mail_listening.lmtp_server import MOST_BYTES

SECONDS = 20.0


@asynccontextmanager
async def taking(**changes: Any) -> AsyncIterator[tuple[Email, LmtpAccount]]:
    account = LmtpAccount(**({"port": free_port(), "authserv_id": "mx.post.example"} | changes))
    email = Email("127.0.0.1", 9, "none", None, None, "bot@post.example", lmtp=account, key=KEY)
    try:
        yield email, account
    finally:
        await email.close()


def hand_over(account: LmtpAccount, content: bytes, *recipients: str) -> dict[str, Any]:
    """What became of each recipient that was refused; raises what smtplib raises."""
    with smtplib.LMTP(account.socket or account.host, account.port, timeout=SECONDS) as client:
        return client.sendmail("ada@example.org", list(recipients) or ["bot@post.example"], content)


async def look(email: Email, position: int | None, seconds: float = SECONDS) -> Listened:
    async with asyncio.timeout(SECONDS):
        return await email.listen(position, seconds)


async def begun(email: Email) -> int:
    position = (await look(email, None, 0)).position
    assert position is not None and isinstance(email, Listen)
    return position


@pytest.mark.requirement("mail:lmtp")
@pytest.mark.parametrize("by_socket", [False, True])
async def test_a_mail_is_acknowledged_once_it_is_stored(by_socket: bool, tmp_path: Path) -> None:
    async with taking(**({"socket": str(tmp_path / "lmtp.sock")} if by_socket else {})) as (email, account):
        position = await begun(email)
        handing = asyncio.create_task(asyncio.to_thread(hand_over, account, mail()))
        heard = await look(email, position)
        (event,) = heard.events
        assert isinstance(event, InboundMessage)
        assert (event.sender, event.text, event.replies_to) == ("ada@example.org", "yes", OUR_ID)
        await asyncio.wait([handing], timeout=0.3)
        assert not handing.done()  # nothing says yet that it is stored

        assert (await look(email, heard.position, 0.1)).events == ()
        assert await asyncio.wait_for(handing, SECONDS) == {}


@pytest.mark.requirement("mail:lmtp-again")
async def test_what_was_not_stored_is_not_taken_and_comes_again_as_the_same_event() -> None:
    async with taking() as (email, account):
        position = await begun(email)
        handing = asyncio.create_task(asyncio.to_thread(hand_over, account, mail(Message_ID=None)))
        (first,) = (await look(email, position)).events
        await look(email, position, 0.1)  # the handlers failed: the position is the old one
        with pytest.raises(smtplib.SMTPDataError, match="451"):
            await asyncio.wait_for(handing, SECONDS)
    async with taking(port=account.port) as (email, account):  # killed between storing and answering
        await look(email, 7, 0.1)  # it is there to be called
        handing = asyncio.create_task(asyncio.to_thread(hand_over, account, mail(Message_ID=None)))
        heard = await look(email, 7)
        (again,) = heard.events
        await look(email, heard.position, 0.1)
        await asyncio.wait_for(handing, SECONDS)

    assert isinstance(first, InboundMessage) and isinstance(again, InboundMessage)
    assert again.event_id == first.event_id
    assert heard.position == 8


@pytest.mark.requirement("mail:lmtp-again")
async def test_a_household_that_ends_takes_nothing_it_has_not_stored() -> None:
    async with taking() as (email, account):
        position = await begun(email)
        handing = asyncio.create_task(asyncio.to_thread(hand_over, account, mail()))
        await look(email, position)
    with pytest.raises((smtplib.SMTPException, OSError)):
        await asyncio.wait_for(handing, SECONDS)


@pytest.mark.requirement("mail:lmtp")
async def test_a_bounce_is_news_and_what_cannot_be_read_is_taken_and_forgotten() -> None:
    async with taking() as (email, account):
        position = await begun(email)
        handing = [asyncio.create_task(asyncio.to_thread(hand_over, account, one)) for one in (BOUNCE, b"\xff\x00\r\n")]
        events: list[object] = []
        async with asyncio.timeout(SECONDS):
            while not all(one.done() for one in handing):
                heard = await look(email, position, 0.2)
                events += heard.events
                position = heard.position if heard.position is not None else position

    assert [type(one) for one in events] == [LateNews]
    assert [one.result() for one in handing] == [{}, {}]


@pytest.mark.requirement("mail:hostile")
async def test_what_is_too_large_is_refused_for_good_and_recipients_come_one_by_one() -> None:
    async with taking() as (email, account):
        position = await begun(email)
        with pytest.raises(smtplib.SMTPException, match="552"):
            await asyncio.to_thread(hand_over, account, b"Subject: x\r\n\r\n" + b"a" * 998 + b"\r\n" * MOST_BYTES)
        handing = asyncio.create_task(asyncio.to_thread(hand_over, account, mail(), "a@post.example", "b@post.example"))
        heard = await look(email, position)
        await look(email, heard.position, 0.1)
        refused = await asyncio.wait_for(handing, SECONDS)

    assert list(refused) == ["b@post.example"] and refused["b@post.example"][0] == 452


async def test_a_place_that_is_taken_is_said() -> None:
    async with taking() as (email, account), taking(port=account.port) as (other, _):
        await begun(email)
        with pytest.raises(TargetUnavailable, match=str(account.port)):
            await look(other, None, 0)


def test_lmtp_is_for_this_machine_alone() -> None:
    with pytest.raises(ValueError, match="lmtp_host"):
        LmtpAccount(host="192.0.2.1")
