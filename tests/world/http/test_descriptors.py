"""Calls while this process has no file descriptor left."""

from __future__ import annotations

import os
import resource
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from tests.contract.bot_api import BotApi
from tests.contract.mail_server import MailServer

from postroom.domain.errors import OutOfDescriptors
from postroom.world.channels.email_message import OutgoingMail
from postroom.world.channels.smtp_visit import Server, SmtpVisit
from postroom.world.http.descriptors import out_of_descriptors
from postroom.world.http.http_call import HttpCall

MAIL = OutgoingMail(
    sender="a@x.org", recipient="b@x.org", message_id="<1@x.org>", content=b"Subject: x\r\n\r\nx\r\n", private=()
)


@contextmanager
def exhausted() -> Iterator[None]:
    """Every descriptor up to a lowered limit is taken."""
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    taken = [os.open(os.devnull, os.O_RDONLY)]
    try:
        highest = max(int(one.name) for one in Path("/dev/fd").iterdir())
        resource.setrlimit(resource.RLIMIT_NOFILE, (highest + 1, before[1]))
        while True:
            try:
                taken.append(os.open(os.devnull, os.O_RDONLY))
            except OSError:
                break
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)
        for descriptor in taken:
            os.close(descriptor)


async def refused(call: Callable[[], Awaitable[object]]) -> None:
    with exhausted(), pytest.raises(OutOfDescriptors):
        await call()


async def test_a_request_that_could_open_no_connection_failed_for_our_own_reasons() -> None:
    call = HttpCall("The service")
    async with BotApi() as server:
        await refused(lambda: call.post(server.url, {}, 5.0))
        assert server.taken == 0

        assert (await call.post(server.url, {}, 5.0)).status == 200
    await call.close()


async def test_a_mail_likewise() -> None:
    async with MailServer() as server:
        address = Server(
            host="127.0.0.1",
            port=server.port,
            security="none",
            username=None,
            password=None,
            tls_context=None,
            client_name="[127.0.0.1]",
        )
        await refused(lambda: SmtpVisit(address).make(MAIL, 5.0))

        await SmtpVisit(address).make(MAIL, 5.0)


def test_what_a_library_wrapped_is_recognised_and_anything_else_is_the_providers() -> None:
    wrapped = RuntimeError("connect failed")
    wrapped.__cause__ = OSError(24, "Too many open files")

    assert isinstance(out_of_descriptors(wrapped), OutOfDescriptors)
    assert out_of_descriptors(ConnectionRefusedError(111, "refused")) is None


def test_a_failure_that_does_not_say_why_is_ours_while_nothing_can_be_opened() -> None:
    with exhausted():
        found = out_of_descriptors(OSError("a name could not be looked up"))

    assert isinstance(found, OutOfDescriptors)
