from __future__ import annotations

import base64
import hashlib
import hmac
import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from aiohttp import web
from tests.contract.bot_api import BotApi, raw_reply, reply

from postroom.channels.webhook.channel import Webhook, address, build
from postroom.kernel.values.errors import OutcomeUncertain, TargetUnavailable, ValidationError
from postroom.kernel.values.ids import DeliveryId, first_id_at, to_us
from postroom.message.delivery import Format, Intent, Message, Receipt
from postroom.message.markup import Button, Markup, Revision
from postroom.testing.case import HeldFiles

KEY = b"a key of twenty-four byte"
SECRET = f"whsec_{base64.b64encode(KEY).decode()}"
NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
ID = DeliveryId("0195517f-0000-7000-8000-000000000000")
MESSAGE = Message(delivery_id=ID, intent=Intent.SEND, address="kitchen", text="Tea is ready")


class Receiver:
    """A program that somebody else wrote: it verifies as standardwebhooks.com says and drops what it has seen."""

    def __init__(self, status: int = 200) -> None:
        self.status = status
        self.heard: list[dict[str, Any]] = []
        self.ids: set[str] = set()
        self.forged = 0
        self.lost = False

    async def hook(self, request: web.Request) -> web.Response:
        body = await request.read()
        name, stamp = request.headers["webhook-id"], request.headers["webhook-timestamp"]
        signed = hmac.new(KEY, f"{name}.{stamp}.".encode() + body, hashlib.sha256).digest()
        if f"v1,{base64.b64encode(signed).decode()}" not in request.headers.get("webhook-signature", "").split():
            self.forged += 1
            return web.Response(status=401)
        if name not in self.ids:
            self.ids.add(name)
            self.heard.append(await request.json())
        if self.lost and request.transport:
            request.transport.abort()
        return web.Response(status=self.status)

    async def start(self, port: int) -> web.AppRunner:
        application = web.Application()
        application.router.add_post("/hook", self.hook)
        runner = web.AppRunner(application)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", port).start()
        return runner


@pytest.mark.requirement("house:webhook-standard")
async def test_a_receiver_that_verifies_and_dedupes_shows_a_lost_answer_once(free_port: int) -> None:
    receiver, hours = Receiver(), iter(range(100))
    runner = await receiver.start(free_port)
    channel = Webhook(
        "hook",
        f"http://127.0.0.1:{free_port}/hook",
        SECRET,
        allow_private=True,
        now=lambda: NOW + timedelta(hours=next(hours)),
    )
    try:
        receiver.lost = True
        with pytest.raises(OutcomeUncertain):
            await channel.send(channel.prepare(MESSAGE)[0], 5.0)
        receiver.lost = False
        assert await channel.send(channel.prepare(MESSAGE)[0], 5.0) == Receipt(ID)
    finally:
        await channel.close()
        await runner.cleanup()

    assert [one["data"]["message"] for one in receiver.heard] == ["Tea is ready"]
    assert receiver.forged == 0


async def test_a_wrong_secret_is_our_own_trouble(free_port: int) -> None:
    receiver = Receiver()
    runner = await receiver.start(free_port)
    channel = Webhook("hook", f"http://127.0.0.1:{free_port}/hook", "another", allow_private=True)
    try:
        with pytest.raises(TargetUnavailable, match="does not accept our signature"):
            await channel.send(channel.prepare(MESSAGE)[0], 5.0)
    finally:
        await channel.close()
        await runner.cleanup()

    assert receiver.forged == 1


@pytest.mark.requirement("house:webhook-answers")
@pytest.mark.parametrize(
    ("body", "named"),
    [
        (b'{"id": "their-17"}', "their-17"),
        (b'{"id": 17}', ID),
        (b'{"id": "  "}', ID),
        (b'{"id": "a\\nb"}', ID),
        (b'{"id": "' + b"x" * 300 + b'"}', ID),
        (b'["their-17"]', ID),
        (b"", ID),
        (b"[" * 100_000, ID),
    ],
)
async def test_the_receivers_own_id_is_the_receipt_if_it_gave_one(body: bytes, named: str) -> None:
    async with BotApi() as server:
        server.behave(raw_reply(201, body))
        channel = Webhook("hook", f"{server.url}/hook", allow_private=True)
        assert await channel.send(channel.prepare(MESSAGE)[0], 5.0) == Receipt(named)
        await channel.close()


@pytest.mark.requirement("house:webhook-answers")
async def test_a_receiver_that_is_gone_is_told_apart_from_one_that_refuses() -> None:
    said = []
    async with BotApi() as server:
        server.behave(reply(410, {}), reply(422, {}))
        channel = Webhook("hook", f"{server.url}/hook", allow_private=True)
        for _ in range(2):
            with pytest.raises(ValidationError) as caught:
                await channel.send(channel.prepare(MESSAGE)[0], 5.0)
            said.append(caught.value.message)
        await channel.close()

    assert said == ["the webhook is gone and takes no more messages (410)", "the webhook answered 422"]


@pytest.mark.requirement("house:private-addresses")
async def test_a_name_that_leads_to_this_machine_is_not_called_unless_it_is_allowed() -> None:
    async with BotApi() as server:
        server.behave(raw_reply(200, b""))
        url = f"http://0x7f000001:{server.port}/hook"
        channel = Webhook("hook", url)
        with pytest.raises(TargetUnavailable, match="leads to a private address"):
            await channel.send(channel.prepare(MESSAGE)[0], 5.0)
        await channel.close()
        assert server.connections == 0

        allowed = Webhook("hook", url, allow_private=True)
        assert await allowed.send(allowed.prepare(MESSAGE)[0], 5.0) == Receipt(ID)
        await allowed.close()


@pytest.mark.parametrize(
    "url",
    [
        "",
        "example.org/hook",
        "ftp://example.org/",
        "https://",
        "https://[::1",
        "https://example.org:99999/",
        "https://user:canary@example.org/",
        "https://example.org/#canary",
        "https://example.org/a b",
        "https://example.org/a\nb",
        "http://127.0.0.1/canary",
        "http://localhost/canary",
        "http://[::1]/canary",
        "http://169.254.169.254/canary",
        "http://[::ffff:10.0.0.1]/canary",
    ],
)
def test_a_url_that_cannot_be_used_is_refused_without_repeating_it(url: str) -> None:
    with pytest.raises(ValueError, match="the webhook's url") as caught:
        Webhook("hook", url)

    assert "canary" not in str(caught.value)


@pytest.mark.parametrize("secret", ["whsec_", "whsec_canary!", " canary", "canary\n"])
def test_a_malformed_secret_is_refused_without_repeating_it(secret: str) -> None:
    with pytest.raises(ValueError, match="the webhook's secret") as caught:
        Webhook("hook", "https://example.org/", secret)

    assert "canary" not in str(caught.value)


async def test_without_a_secret_nothing_is_signed_and_the_id_is_there(free_port: int) -> None:
    seen: list[dict[str, str]] = []

    async def hook(request: web.Request) -> web.Response:
        seen.append(dict(request.headers))
        return web.Response()

    application = web.Application()
    application.router.add_post("/", hook)
    runner = web.AppRunner(application)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", free_port).start()
    channel = Webhook("hook", f"http://127.0.0.1:{free_port}/", allow_private=True, now=lambda: NOW)
    try:
        await channel.send(channel.prepare(MESSAGE)[0], 5.0)
    finally:
        await channel.close()
        await runner.cleanup()

    assert seen[0]["webhook-id"] == ID
    assert seen[0]["webhook-timestamp"] == str(int(NOW.timestamp()))
    assert "webhook-signature" not in seen[0]


@pytest.mark.requirement("content:webhook-files")
async def test_small_files_stand_in_the_signed_event_with_their_hashes(free_port: int) -> None:
    receiver, files = Receiver(), HeldFiles()
    file = files.hold('Prüf "bericht".bin', bytes(range(256)))
    runner = await receiver.start(free_port)
    channel = Webhook("hook", f"http://127.0.0.1:{free_port}/hook", SECRET, allow_private=True, files=files)
    [part] = channel.prepare(replace(MESSAGE, attachments=(file,)))
    await channel.send(part, 5.0)
    await channel.close()
    await runner.cleanup()

    assert receiver.forged == 0
    [event] = receiver.heard
    [one] = event["data"]["attachments"]
    content = base64.b64decode(one.pop("data"))
    assert one == {
        "name": file.name,
        "media_type": "application/octet-stream",
        "size": 256,
        "sha256": hashlib.sha256(content).hexdigest(),
    }
    assert content == bytes(range(256))


EVENT_NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
EVENT_ID = DeliveryId(first_id_at(to_us(datetime(2026, 2, 28, 8, 30, 0, 250_000, tzinfo=UTC))))
LINK = "https://home.example/a/canary-link"


def message(**changes: Any) -> Message:
    given: dict[str, Any] = {
        "delivery_id": EVENT_ID,
        "intent": Intent.SEND,
        "address": "kitchen",
        "text": "Tea is ready",
    }
    return Message(**(given | changes))


def told(**changes: Any) -> dict[str, Any]:
    event: dict[str, Any] = json.loads(build(message(**changes), EVENT_NOW).body)
    return event


@pytest.mark.requirement("house:webhook-standard")
def test_a_message_is_one_object_of_this_shape() -> None:
    assert told(subject="Tea", origin_butler="general") == {
        "type": "message.sent",
        "timestamp": "2026-02-28T08:30:00.250000Z",
        "data": {
            "delivery_id": EVENT_ID,
            "to": "kitchen",
            "from": "general",
            "intent": "send",
            "message": "Tea is ready",
            "subject": "Tea",
            "thread": None,
            "emoji": None,
            "buttons": [],
            "revises": None,
        },
    }


@pytest.mark.requirement("house:webhook-standard")
def test_a_second_attempt_has_the_same_bytes_and_the_same_id() -> None:
    later = datetime(2026, 3, 2, tzinfo=UTC)

    assert build(message(), EVENT_NOW) == build(message(), later)
    assert build(message(), EVENT_NOW).id == EVENT_ID


def test_an_id_that_says_no_time_is_dated_now() -> None:
    assert told(delivery_id=DeliveryId("0198c0de"))["timestamp"] == "2026-03-01T12:00:00.000000Z"


def test_a_reply_names_what_it_answers_and_a_reaction_its_emoji() -> None:
    reply = told(intent=Intent.REPLY, thread="their-17")["data"]
    reaction = told(intent=Intent.REACT, thread="their-17", emoji="👍", text="")["data"]

    assert (reply["intent"], reply["thread"], reply["message"]) == ("reply", "their-17", "Tea is ready")
    assert (reaction["intent"], reaction["thread"], reaction["emoji"], reaction["message"]) == (
        "react",
        "their-17",
        "👍",
        None,
    )


def test_an_edit_is_an_event_of_its_own_that_names_what_it_replaces() -> None:
    revises = Revision(delivery_id=DeliveryId("0198c0df"), provider_ids=("their-17",))
    event = told(revises=revises, text="Tea is cold")

    assert event["type"] == "message.revised"
    assert event["data"]["revises"] == {"delivery_id": "0198c0df", "ids": ["their-17"]}
    assert event["data"]["message"] == "Tea is cold"
    assert told(revises=revises, text="")["data"]["message"] is None


def test_a_button_is_its_label_and_its_link_and_never_a_token() -> None:
    rows = ((Button(label="Yes", url=LINK), Button(label="No", url=f"{LINK}/2")),)

    assert told(markup=Markup(buttons=rows))["data"]["buttons"] == [
        {"label": "Yes", "url": LINK},
        {"label": "No", "url": f"{LINK}/2"},
    ]
    with pytest.raises(ValidationError, match="must be a link"):
        told(markup=Markup(buttons=((Button(label="Yes", token="q1:canary"),),)))


def test_a_message_that_may_be_a_copy_says_so() -> None:
    assert told(repeated=True)["data"]["message"] == "Tea is ready\n\n(possibly repeated)"


@pytest.mark.parametrize(
    "wrong",
    [
        {"text": " \n"},
        {"text": "a\x00b"},
        {"subject": "a\ud800"},
        {"thread": "\x00"},
        {"address": "a\nb"},
        {"address": "a" * 201},
        {"intent": Intent.REACT, "thread": "1", "emoji": "ok"},
        {"intent": Intent.REACT, "thread": "1", "emoji": None},
        {"intent": Intent.REACT, "thread": None, "emoji": "👍"},
    ],
    ids=repr,
)
def test_what_can_never_be_carried_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        build(message(**wrong), EVENT_NOW)


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("kitchen", "kitchen"),
        (" Ada Lovelace ", "Ada Lovelace"),
        ("#ops@example.org/7", "#ops@example.org/7"),
        ("  ", None),
    ],
)
def test_any_name_of_one_line_is_an_address(text: str, canonical: str | None) -> None:
    assert address(text) == canonical


@pytest.mark.requirement("content:plain-exact")
def test_markdown_goes_out_as_it_was_written_and_says_so() -> None:
    data = told(text="**Tea**", format=Format.MARKDOWN)["data"]

    assert (data["message"], data["format"]) == ("**Tea**", "markdown")
    assert "format" not in told()["data"]
