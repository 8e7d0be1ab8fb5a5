from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import pytest
from tests.channels.recording_server import Recorder, Seen, recording

from postroom.channels.slack.channel import Slack
from postroom.channels.slack.web_api import AWAY, CREDENTIALS, PERMISSIONS, SENTENCES, UNSURE, code_in, read_refusal
from postroom.kernel.http.call import HttpAnswer
from postroom.kernel.values.errors import (
    CredentialsRefused,
    OutcomeUncertain,
    PostroomError,
    ProviderThrottled,
    TargetUnavailable,
    ValidationError,
)
from postroom.kernel.values.ids import DeliveryId
from postroom.message.delivery import REPEAT_MARK, Intent, Message
from postroom.message.markup import Revision
from postroom.testing.case import HeldFiles

NOW = datetime(2026, 3, 1, tzinfo=UTC)


def said(code: object, status: int = 200, **more: Any) -> Exception:
    told = {"ok": False, "error": code, **more}
    return read_refusal(HttpAnswer(status=status, body=json.dumps(told).encode()), code_in(told), NOW)


@pytest.mark.requirement("house:slack-refusals")
@pytest.mark.parametrize("code", SENTENCES)
def test_a_refused_message_or_recipient_is_final_and_says_why(code: str) -> None:
    error = said(code)

    assert isinstance(error, ValidationError)
    assert str(error) == f"{SENTENCES[code]} ({code})"


@pytest.mark.requirement("house:slack-refusals")
@pytest.mark.parametrize(
    ("codes", "kind", "words"),
    [
        (CREDENTIALS, CredentialsRefused, "Slack does not accept our token"),
        (PERMISSIONS, CredentialsRefused, "the Slack app lacks a permission"),
        (AWAY, TargetUnavailable, "Slack cannot do this now"),
        (UNSURE, OutcomeUncertain, "it may have been carried out"),
    ],
)
def test_what_is_no_messages_fault_is_told_apart(codes: frozenset[str], kind: type[Exception], words: str) -> None:
    for code in codes:
        error = said(code)
        assert type(error) is kind
        assert words in str(error)


def test_a_missing_permission_is_named() -> None:
    assert (
        str(said("missing_scope", needed="im:history"))
        == "the Slack app lacks a permission (missing_scope: im:history)"
    )
    assert str(said("missing_scope", needed="what <you> said")) == "the Slack app lacks a permission (missing_scope)"


@pytest.mark.parametrize("code", ["A sentence that quotes the message", 7, None, "x" * 65])
def test_what_is_no_code_is_not_repeated(code: object) -> None:
    assert str(said(code)) == "Slack refused this and did not say why"
    assert str(said(code, status=400)) == "Slack answered 400"


FILES = HeldFiles()
PDF = FILES.hold('Prüf "bericht".pdf', bytes(range(256)), "application/pdf")
TOKEN = "xoxb-4242-canary"
ASK, BRING, PUBLISH = "/api/files.getUploadURLExternal", "/upload/v1/abc", "/api/files.completeUploadExternal"


def message(**changes: Any) -> Message:
    fields: dict[str, Any] = {"delivery_id": DeliveryId("d1"), "intent": Intent.SEND, "address": "U1"}
    return Message(**(fields | {"text": "the report", "attachments": (PDF,)} | changes))


class Workspace:
    """Answers as Slack documents it; `spoiled` says otherwise for one path."""

    def __init__(self, **shared: Any) -> None:
        self.spoiled: dict[str, tuple[int, Any]] = {}
        self.shared = shared
        self.url = ""

    def __call__(self, seen: Seen) -> tuple[int, Any]:
        if seen.path in self.spoiled:
            return self.spoiled[seen.path]
        match seen.path:
            case "/api/conversations.open":
                return 200, {"ok": True, "channel": {"id": "D1"}}
            case "/api/chat.postMessage":
                return 200, {"ok": True, "channel": "D1", "ts": "1700000000.000100"}
            case "/api/files.getUploadURLExternal":
                return 200, {"ok": True, "upload_url": f"{self.url}/upload/v1/abc", "file_id": "F1"}
            case "/upload/v1/abc":
                return 200, b"OK - 256"
            case _:
                return 200, {"ok": True, "files": [{"id": "F1", "title": PDF.name} | self.shared]}


async def sent(given: Message, workspace: Workspace, parts: slice = slice(None)) -> tuple[Recorder, list[Any]]:
    async with recording(workspace) as server:
        workspace.url = server.url
        channel = Slack("slack", TOKEN, api_base_url=f"{server.url}/api", files=FILES)
        try:
            return server, [await channel.send(part, 10.0) for part in channel.prepare(given)[parts]]
        finally:
            await channel.close()


@pytest.mark.requirement("content:slack-files")
async def test_the_bytes_are_brought_first_and_then_published_in_one_message_with_the_text() -> None:
    server, [receipt] = await sent(message(text="*the* <!here> report"), Workspace())

    asked, brought, published = server.seen[-3:]
    assert [one.path for one in server.seen] == [
        "/api/conversations.open",
        ASK,
        BRING,
        PUBLISH,
    ]
    assert asked.fields == {"filename": PDF.name, "length": "256"}
    assert (brought.content, brought.headers.get("Authorization")) == (bytes(range(256)), None)
    words = {"type": "plain_text", "text": "*the* &lt;!here&gt; report", "emoji": True}
    assert published.json == {
        "files": [{"id": "F1", "title": PDF.name}],
        "channel_id": "D1",
        "blocks": [{"type": "section", "text": words}],
    }
    assert (receipt.provider_id, receipt.conversation) == ("file:F1", "D1")


@pytest.mark.requirement("content:slack-files")
async def test_a_longer_text_comes_first_and_all_files_follow_in_one_message() -> None:
    server, receipts = await sent(message(text="word " * 1_000, attachments=(PDF, PDF)), Workspace())

    assert [one.path for one in server.seen].count(PUBLISH) == 1
    assert [one["title"] for one in server.seen[-1].json["files"]] == [PDF.name, PDF.name]
    assert "blocks" not in server.seen[-1].json
    assert len(receipts) == 4 and receipts[2].also == ("file:F1",)


async def test_where_slack_names_the_message_that_shows_it_the_receipt_does() -> None:
    workspace = Workspace(shares={"private": {"D1": [{"ts": "1700000000.000200"}]}})

    _, receipts = await sent(message(), workspace)

    assert receipts[0].provider_id == "1700000000.000200"


async def test_a_reply_stays_in_its_thread_and_a_repetition_is_marked() -> None:
    given = message(intent=Intent.REPLY, thread="1700000000.000001", address="C1", repeated=True)

    server, _ = await sent(given, Workspace())

    assert server.seen[-1].json["thread_ts"] == "1700000000.000001"
    assert REPEAT_MARK in server.seen[-1].json["blocks"][0]["text"]["text"]


@pytest.mark.requirement("content:files-no-doubt")
@pytest.mark.parametrize(
    ("path", "answer", "raises"),
    [
        (ASK, (200, {"ok": False, "error": "internal_error"}), TargetUnavailable),
        (ASK, (200, {"ok": False, "error": "file_upload_size_restricted"}), ValidationError),
        (ASK, (200, {"ok": False, "error": "missing_scope", "needed": "files:write"}), CredentialsRefused),
        (ASK, (200, {"ok": True, "upload_url": "ftp://files.example/", "file_id": "F1"}), TargetUnavailable),
        (ASK, (200, {"ok": True}), TargetUnavailable),
        (BRING, (500, b"oops"), TargetUnavailable),
        (BRING, (413, b"too large"), ValidationError),
        (BRING, (429, b"slow"), ProviderThrottled),
        (PUBLISH, (200, {"ok": False, "error": "channel_not_found"}), ValidationError),
        (PUBLISH, (200, {"ok": False, "error": "internal_error"}), OutcomeUncertain),
        (PUBLISH, (200, {"ok": True}), OutcomeUncertain),
    ],
)
async def test_only_the_call_that_publishes_can_leave_doubt(
    path: str, answer: Any, raises: type[PostroomError]
) -> None:
    workspace = Workspace()
    workspace.spoiled[path] = answer

    with pytest.raises(raises) as raised:
        await sent(message(), workspace)

    assert type(raised.value) is raises
    assert TOKEN not in raised.value.message


async def test_whether_a_file_arrived_is_not_claimed_to_be_known() -> None:
    from datetime import UTC, datetime

    channel = Slack("slack", TOKEN, files=FILES)
    with pytest.raises(TargetUnavailable, match="this very file"):
        await channel.find(channel.prepare(message())[0], datetime.now(UTC), 5.0)
    await channel.close()


def test_an_edit_leaves_the_files_alone() -> None:
    revises = Revision(delivery_id=DeliveryId("d0"), provider_ids=("1700000000.000100", "file:F1"), files=1)

    [one] = Slack("slack", TOKEN).prepare(message(text="better", revises=revises))

    assert one.body["ts"] == "1700000000.000100"
