"""Read by Python's own IMAP client, which knows nothing of ours."""

from __future__ import annotations

import asyncio
import email
import imaplib
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import pytest
from tests.patience import PATIENCE_SECONDS
from tests.sandbox.client import Client
from tests.sandbox.conftest import Start

Read = TypeVar("Read")
MINE = "postroom@sandbox.example"


async def write(client: Client, body: str = "yes", **more: Any) -> None:
    mail = {"from": "ada@example.org", "to": MINE, "subject": "Grüße", "body": body, **more}
    answer = await client.post("/sandbox/email/inbound", mail)
    assert answer["http_status"] == 200, answer


async def visit(client: Client, work: Callable[[imaplib.IMAP4], Read], user: str = MINE) -> Read:
    def talk() -> Read:
        with imaplib.IMAP4("127.0.0.1", client.sandbox.imap_port, timeout=20) as connection:
            connection.login(user, 'any "pass\\word')
            connection.select("INBOX", readonly=True)
            return work(connection)

    return await asyncio.to_thread(talk)


def search(*criteria: str) -> Callable[[imaplib.IMAP4], list[int]]:
    return lambda connection: [int(uid) for uid in connection.uid("SEARCH", *criteria)[1][0].split()]


@pytest.mark.requirement("mail:sandbox-imap")
async def test_what_a_person_writes_is_fetched_whole_with_the_sandboxs_word_for_the_sender(client: Client) -> None:
    await write(client, "grün", in_reply_to="<card@sandbox.example>")
    found: Any = await visit(client, lambda one: one.uid("FETCH", "1:*", "(UID INTERNALDATE BODY.PEEK[])"))
    message = email.message_from_bytes(found[1][0][1])

    assert message["Authentication-Results"] == "sandbox.example; dmarc=pass header.from=example.org"
    assert (message["From"], message["In-Reply-To"]) == ("ada@example.org", "<card@sandbox.example>")
    assert message.get_payload(decode=True) == "grün\r\n".encode()


async def test_headers_of_the_persons_own_stand_in_place_of_the_usual_ones(client: Client) -> None:
    await write(client, headers={"Authentication-Results": "sandbox.example; dmarc=fail", "X-Autoreply": "yes"})
    found: Any = await visit(client, lambda one: one.uid("FETCH", "1", "(RFC822)"))
    message = email.message_from_bytes(found[1][0][1])

    assert message.get_all("Authentication-Results") == ["sandbox.example; dmarc=fail"]
    assert message["X-Autoreply"] == "yes"


@pytest.mark.parametrize(
    ("criteria", "uids"),
    [
        (["ALL"], [1, 2]),
        (["UID", "2:*"], [2]),
        (["UID", "9:*"], [2]),
        (["HEADER", "In-Reply-To", '"@sandbox.example"'], [2]),
        (["OR", "FROM", '"bob"', "BODY", '"second"'], [2]),
        (["NOT", "HEADER", "In-Reply-To", '"card"'], [1]),
        (["SINCE", "1-Jan-2020", "(UNSEEN", "1)"], [1]),
        (["BEFORE", "1-Jan-2020"], []),
        (["SEEN"], []),
    ],
)
async def test_mails_are_searched(client: Client, criteria: list[str], uids: list[int]) -> None:
    await write(client, "first")
    await write(client, "second", in_reply_to="<card@sandbox.example>")

    assert await visit(client, search(*criteria)) == uids


async def test_each_mailbox_has_its_own_mail(client: Client) -> None:
    await write(client, to="postroom+tag@sandbox.example")
    await write(client, to="work@sandbox.example")
    await write(client, to="anywhere@example.org")

    assert await visit(client, search("ALL")) == [1, 3]
    assert await visit(client, search("ALL"), "work@sandbox.example") == [2, 3]


async def test_a_mail_is_announced_to_a_client_that_waits(client: Client) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", client.sandbox.imap_port)
    async with asyncio.timeout(PATIENCE_SECONDS):
        writer.write(b'a LOGIN {5+}\r\nx@y.z "p"\r\nb EXAMINE inbox\r\nc IDLE\r\n')
        await reader.readuntil(b"+ idling\r\n")
        await write(client, to="x@elsewhere.example")
        assert await reader.readline() == b"* 1 EXISTS\r\n"
        writer.write(b"DONE\r\nd LOGOUT\r\n")
        assert await reader.read() == b"c OK IDLE done\r\n* BYE until next time\r\nd OK LOGOUT\r\n"
    writer.close()


BAD = {
    "nothing": b"x",
    "no login": b"x SELECT INBOX",
    "no password": b"x LOGIN a",
    "no mailbox": b"x UID SEARCH ALL",
    "unknown": b"x PIGEON",
}


@pytest.mark.parametrize("line", BAD.values(), ids=BAD)
async def test_a_command_that_is_none_is_refused_and_the_next_one_heard(client: Client, line: bytes) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", client.sandbox.imap_port)
    async with asyncio.timeout(PATIENCE_SECONDS):
        await reader.readline()
        writer.write(line + b"\r\ny NOOP\r\n")
        assert (await reader.readline()).startswith(b"x BAD")
        assert await reader.readline() == b"y OK NOOP done\r\n"
    writer.close()


@pytest.mark.parametrize(
    "arguments", ["SEARCH SINCE never", "SEARCH UID x", "SEARCH OR ALL", "FETCH 1 (ENVELOPE)", "STORE 1 +FLAGS x"]
)
async def test_wrong_arguments_are_refused(client: Client, arguments: str) -> None:
    await write(client)
    name, *rest = arguments.split()
    with pytest.raises(imaplib.IMAP4.error):
        await visit(client, lambda one: one.uid(name, *rest))


async def test_a_mailbox_keeps_its_numbers_over_a_restart_and_a_new_one_says_that_it_is_new(
    start: Start, tmp_path: Path
) -> None:
    def validity(connection: imaplib.IMAP4) -> Any:
        return connection.response("UIDVALIDITY")[1]

    first = await start(ledger_path=tmp_path / "ledger.db")
    before = await visit(first, validity)
    await first.sandbox.stop()
    second = await start(ledger_path=tmp_path / "ledger.db")

    assert await visit(second, validity) == before
