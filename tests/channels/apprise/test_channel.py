from __future__ import annotations

import asyncio
import logging
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from typing import Any

import apprise
import pytest
import requests
from apprise.manager_plugins import NotificationManager
from apprise.plugins.base import NotifyBase
from tests.contract.bot_api import BotApi, Trouble, raw_reply
from tests.contract.mail_server import MailServer, Script

from postroom.channels.apprise import building as gate_module
from postroom.channels.apprise import channel as channel_module
from postroom.channels.apprise.channel import AppriseService
from postroom.kernel.http.call import is_public
from postroom.kernel.values.errors import (
    DeliveryTimeout,
    OutcomeUncertain,
    PostroomError,
    TargetUnavailable,
)
from postroom.kernel.values.ids import DeliveryId
from postroom.message.delivery import Intent, Message, Receipt

OK = raw_reply(200, b"{}")


def message(text: str = "Tea is ready", **more: Any) -> Message:
    return Message(delivery_id=DeliveryId("1"), intent=Intent.SEND, address="-", text=text, **more)


async def outcome(channel: AppriseService, seconds: float = 5.0, **more: Any) -> Receipt | PostroomError:
    try:
        return await channel.send(channel.prepare(message(**more))[0], seconds)
    except PostroomError as error:
        return error


@pytest.fixture
def scripted() -> Iterator[Callable[[Callable[[NotifyBase], bool]], None]]:
    """A service `scripted://` whose `send` is the given function, as anybody may write one for Apprise."""

    def register(send: Callable[[NotifyBase], bool]) -> None:
        class Scripted(NotifyBase):  # type: ignore[misc]
            service_name = "Scripted"
            protocol = "scripted"
            request_rate_per_sec = 0
            template_tokens = {"host": {}}  # noqa: RUF012

            def send(self, *args: Any, **options: Any) -> bool:
                return send(self)

            def url(self, *args: Any, **options: Any) -> str:
                return "scripted://"

        NotificationManager().add(Scripted, force=True)

    yield register
    NotificationManager().remove("scripted")


def post(plugin: NotifyBase) -> int:
    return requests.post(f"http://{plugin.host}:{plugin.port}/", json={}, timeout=60).status_code


@pytest.mark.requirement("house:apprise-evidence")
async def test_a_message_arrives_as_text_under_its_subject_and_has_no_receipt() -> None:
    async with BotApi() as server:
        server.behave(OK)
        channel = AppriseService("pager", f"json://127.0.0.1:{server.port}/", allow_private=True)
        hostile = '*b* <b>x</b> {"a":1} \x1b[31m @everyone :smile: \\n 🍵'
        got = await outcome(channel, text=hostile, subject="Tea")
        await channel.close()

    body = server.requests[0].body
    assert (got, body["message"], body["title"]) == (Receipt("apprise:none"), hostile, "Tea")
    assert not channel.capabilities.receipt
    assert channel.capabilities.max_units == 32_768


async def test_the_pause_between_messages_is_declared_and_no_thread_sleeps_it() -> None:
    async with BotApi() as server:
        server.behave(OK)
        channel = AppriseService("pager", f"hassio://127.0.0.1:{server.port}/token", allow_private=True)
        assert [type(await outcome(channel, 2.0)) for _ in range(3)] == [Receipt] * 3
        await channel.close()

    assert channel.capabilities.spacing_seconds == apprise.plugins.N_MGR["hassio"].request_rate_per_sec > 0


@pytest.mark.requirement("house:apprise-evidence")
async def test_a_name_that_does_not_resolve_was_not_sent() -> None:
    channel = AppriseService("pager", "json://nowhere.invalid/")
    got = await outcome(channel)
    await channel.close()

    assert type(got) in (TargetUnavailable, DeliveryTimeout)


@pytest.mark.requirement("house:apprise-evidence")
async def test_a_service_that_breaks_may_have_sent_something(
    scripted: Callable[[Callable[[NotifyBase], bool]], None],
) -> None:
    def broken(plugin: NotifyBase) -> bool:
        raise KeyError("canary")

    scripted(broken)
    channel = AppriseService("pager", "scripted://example.org")
    got = await outcome(channel)
    await channel.close()

    assert type(got) is OutcomeUncertain
    assert "canary" not in repr(got)


@pytest.mark.requirement("house:apprise-evidence")
async def test_nothing_leaves_after_the_deadline(
    scripted: Callable[[Callable[[NotifyBase], bool]], None],
) -> None:
    gate = threading.Event()

    def late(plugin: NotifyBase) -> bool:
        return gate.wait(30) and post(plugin) == 200

    scripted(late)
    async with BotApi() as server:
        server.behave(OK)
        channel = AppriseService("pager", f"scripted://127.0.0.1:{server.port}", allow_private=True)
        first, queued = await asyncio.gather(outcome(channel, 0.2), outcome(channel, 0.2))
        gate.set()
        third = await outcome(channel)
        await channel.close()

    assert [type(one) for one in (first, queued, third)] == [OutcomeUncertain, DeliveryTimeout, Receipt]
    assert server.taken == 1


@pytest.mark.requirement("house:apprise-evidence")
async def test_a_service_that_took_something_and_then_failed_is_uncertain(
    scripted: Callable[[Callable[[NotifyBase], bool]], None],
) -> None:
    scripted(lambda plugin: [post(plugin), post(plugin)][-1] == 200)
    async with BotApi() as server:
        server.behave(OK, raw_reply(400, b"{}"))
        channel = AppriseService("pager", f"scripted://127.0.0.1:{server.port}", allow_private=True)
        got = await outcome(channel)
        await channel.close()

    assert (type(got), server.taken) == (OutcomeUncertain, 2)


async def test_an_answer_that_never_comes_keeps_nobody_else_waiting() -> None:
    async with BotApi() as server:
        server.behave(Trouble.READ_THEN_HANG, OK)
        channel = AppriseService("pager", f"json://127.0.0.1:{server.port}/", allow_private=True)
        got = [type(await outcome(channel, seconds)) for seconds in (0.5, 5.0)]
        await channel.close()

    assert got == [OutcomeUncertain, Receipt]


@pytest.mark.requirement("house:apprise-evidence")
@pytest.mark.parametrize("script", [Script(), Script(replies={"AUTH": b"535 no"}), Script(reset_at="BODY")])
async def test_a_service_without_http_is_believed_when_it_succeeds_and_uncertain_when_it_fails(script: Script) -> None:
    async with MailServer() as server:
        server.behave(script)
        url = f"mailto://us:canary@example.org?smtp=127.0.0.1&port={server.port}&to=ada@example.org&mode=insecure"
        channel = AppriseService("pager", url, allow_private=True)
        got = await outcome(channel)
        await channel.close()

    assert type(got) is (Receipt if script == Script() else OutcomeUncertain)
    assert "canary" not in repr(got)


@pytest.mark.requirement("house:private-addresses")
@pytest.mark.parametrize(
    "url",
    [
        "json://0x7f000001:{port}/",
        "json://hook.example:{port}/",
        "mailto://us:canary@example.org?smtp=127.0.0.1&port={port}&to=ada@example.org&mode=insecure",
    ],
)
async def test_a_private_address_is_not_connected_to_however_it_is_written(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with BotApi() as server:
        channel = AppriseService("pager", url.format(port=server.port))
        lead(monkeypatch, "127.0.0.1")
        got = await outcome(channel)
        await channel.close()

    assert type(got) is TargetUnavailable
    assert "leads to a private address, which needs allow_private = true" in got.message
    assert server.connections == 0


@pytest.mark.requirement("house:private-addresses")
async def test_a_name_that_leads_elsewhere_later_is_judged_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """127.0.0.2 is the open internet here: first the name leads there, then to 127.0.0.1."""
    monkeypatch.setattr(gate_module, "is_public", lambda text: text == "127.0.0.2" or is_public(text))
    got = []
    async with BotApi() as server:
        server.behave(OK)
        channel = AppriseService("pager", f"json://hook.example:{server.port}/")
        for address in ("127.0.0.2", "127.0.0.1"):
            lead(monkeypatch, address)
            got.append((await outcome(channel), server.connections))
        await channel.close()

    assert (type(got[0][0]), "private address" in str(got[1][0])) == (OutcomeUncertain, True)
    assert [connections for _, connections in got] == [0, 0]


def lead(monkeypatch: pytest.MonkeyPatch, address: str) -> None:
    """Every name, for this machine, means this address."""

    def found(host: str, port: int, *more: Any, **options: Any) -> list[tuple[Any, ...]]:
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, int(port)))]

    monkeypatch.setattr(socket, "getaddrinfo", found)


@pytest.mark.requirement("house:apprise-secrets")
async def test_no_log_at_any_level_holds_the_url_or_the_message(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    logging.getLogger("urllib3").setLevel(logging.DEBUG)
    async with BotApi() as server:
        server.behave(raw_reply(400, b"canary-answer"), OK)
        url = f"json://us:canary-pass@127.0.0.1:{server.port}/canary-path?+x-key=canary-key"
        channel = AppriseService("pager", url, allow_private=True)
        logging.getLogger("apprise").setLevel(logging.DEBUG)
        try:
            told = [await outcome(channel, text="canary-text"), await outcome(channel, text="canary-text")]
        finally:
            logging.getLogger("apprise").setLevel(logging.WARNING)
            logging.getLogger("urllib3").setLevel(logging.NOTSET)
        await channel.close()

    assert "canary" not in caplog.text + repr(told) + repr(channel) + str(vars(channel))
    assert [type(one) for one in told] == [OutcomeUncertain, Receipt]


async def test_what_others_in_this_process_send_is_left_alone(caplog: pytest.LogCaptureFixture) -> None:
    AppriseService("pager", "json://example.org/")
    caplog.set_level(logging.DEBUG)
    async with BotApi() as server:
        server.behave(OK)
        answer = await asyncio.to_thread(requests.get, f"{server.url}/theirs", timeout=5)

    assert answer.status_code == 200
    assert "/theirs" in caplog.text


@pytest.mark.requirement("house:apprise-secrets")
def test_the_url_is_in_no_repr() -> None:
    channel = AppriseService("pager", "json://us:canary@example.org/canary")

    assert repr(channel) == "AppriseService(name='pager', service='JSON', url=***)"


def test_without_the_extra_a_sentence_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "postroom.channels.apprise.service", raising=False)
    monkeypatch.setitem(sys.modules, "apprise", None)
    with pytest.raises(ValueError, match=r"pip install 'postroom\[apprise\]'"):
        channel_module.AppriseService("pager", "json://example.org/")


def test_the_library_is_imported_only_when_an_account_uses_it() -> None:
    seen = "import sys, postroom.channels.apprise.channel; print({'apprise', 'requests'} & set(sys.modules))"
    assert subprocess.run([sys.executable, "-c", seen], capture_output=True, text=True, check=True).stdout == "set()\n"
