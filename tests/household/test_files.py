"""Files that go with messages: taken, carried, approved."""

from __future__ import annotations

import base64
import io
import json
import sqlite3
import zipfile
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import aiohttp
import pytest
import pytest_asyncio

from postroom.kernel.values.principal import Principal, Role
from tests.console.http import Caller, calling
from tests.fakes.accounts import accounts_at
from tests.fakes.server import serve as fakes
from tests.household.asked_household import OWNERS, has_address
from tests.household.living import LIFTED, QUICK, Living, living

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.timeout(120)]


# Files on their way through a whole household, from every door to the channel.
PNG = b"\x89PNG\r\n\x1a\n" + bytes(range(256))
PROGRAM = Principal(Role.PROGRAM, "backup", person="owner")


class Post:
    """A household with a courier, and what the courier has brought."""

    def __init__(self, living: Living, folder: Path, outbox: Path) -> None:
        self.living = living
        self.folder = folder
        self.outbox = outbox

    async def notify(self, *attachments: Any, butler: str = "health", **more: Any) -> dict[str, Any]:
        asked = {"channel": "courier", "recipient": "door 7", "attachments": list(attachments), **more}
        return await self.living.notify(butler=butler, **asked)

    async def upload(
        self,
        content: bytes,
        name: str = "a.txt",
        who: str | Principal = "health",
        kind: str | None = None,
        key: str | None = None,
    ) -> tuple[int, dict[str, Any]]:
        form = aiohttp.FormData()
        form.add_field("file", content, filename=name, content_type=kind or "application/octet-stream")
        headers = {"Authorization": f"Bearer {self.living.token(who)}"} | ({"Idempotency-Key": key} if key else {})
        url = self.living.household.addresses["api"] + "/v1/uploads"
        async with self.living.http.post(url, data=form, headers=headers) as response:
            return response.status, await response.json()

    def brought(self, answer: dict[str, Any]) -> dict[str, Any]:
        place = self.folder / answer["delivery"]["delivery_id"]
        shown: dict[str, Any] = json.loads((place / "message.json").read_text())
        return {name: (kind, (place / name).read_bytes()) for name, kind in shown["types"].items()}


def refused(answer: dict[str, Any]) -> list[tuple[str, str]]:
    assert answer["status"] == "error", answer
    error = answer["error"] if isinstance(answer["error"], dict) else answer
    return [(one["field"], one["code"]) for one in error["fields"]]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def post(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Post]:
    home, folder = tmp_path_factory.mktemp("home"), tmp_path_factory.mktemp("door")
    outbox = tmp_path_factory.mktemp("outbox")
    settings = {
        "channels": {"courier": {"factory": "tests.household.courier:Courier", "options": {"folder": str(folder)}}},
        "approvals": {"enabled": False},
        "messages": {"outbox": [str(outbox)], "file_megabytes_per_day": 10},
    }
    async with living(home, LIFTED, QUICK, settings) as one:
        yield Post(one, folder, outbox)


@pytest.mark.requirement("content:files-uploads")
async def test_a_path_an_upload_and_bytes_arrive_as_they_are(post: Post) -> None:
    (post.outbox / "run.log").write_text("all is well\n")
    status, upload = await post.upload(PNG, "chart.png", kind="image/png")
    assert (status, upload["name"], upload["size"], upload["media_type"]) == (201, "chart.png", len(PNG), "image/png")

    answer = await post.notify(
        {"path": str(post.outbox / "run.log")},
        {"upload_id": upload["upload_id"]},
        {"data": base64.b64encode(b"a,b\n").decode(), "name": "../t.csv"},
    )

    assert answer["status"] == "ok", answer
    assert post.brought(answer) == {
        "run.log": ("text/plain", b"all is well\n"),
        "chart.png": ("image/png", PNG),
        "t.csv": ("text/csv", b"a,b\n"),
    }


async def test_what_changes_after_it_was_accepted_is_sent_as_it_was(post: Post) -> None:
    """Held back by the lease of nobody: the bytes are the ledger's own from the moment of the answer."""
    (post.outbox / "draft.txt").write_text("first")
    answer = await post.notify({"path": "draft.txt", "name": "letter.txt"}, wait_seconds=0)
    (post.outbox / "draft.txt").unlink()

    for _ in range(20):
        told = await post.living.call("health", "notify_status", {"delivery_id": answer["delivery"]["delivery_id"]})
        if told["status"] == "ok":
            break
    assert post.brought(answer) == {"letter.txt": ("text/plain", b"first")}


@pytest.mark.parametrize(
    ("attachment", "field", "code"),
    [
        ({"path": "/etc/passwd"}, "attachments[0].path", "outside_outbox"),
        ({"path": "../secrets"}, "attachments[0].path", "outside_outbox"),
        ({"path": "nothing.txt"}, "attachments[0].path", "not_found"),
        ({"path": ".env"}, "attachments[0].path", "hidden_file"),
        ({"path": "link.txt"}, "attachments[0].path", "link"),
        ({"path": "key.txt"}, "attachments[0].path", "secret_content"),
        ({"path": "zip.png"}, "attachments[0].path", "name_mismatch"),
        ({"path": "large.bin"}, "attachments[0]", "too_large"),
        ({"path": "empty.txt"}, "attachments[0].path", "empty_file"),
        ({"path": "note.txt", "media_type": "image/png"}, "attachments[0].media_type", "type_mismatch"),
        ({"path": "note.txt", "name": "note.png"}, "attachments[0].name", "name_mismatch"),
        ({"upload_id": "01890a5d-ac96-774b-bcce-b302099a8057"}, "attachments[0].upload_id", "unknown_upload"),
        ({"data": "aGk="}, "attachments[0].name", "required"),
    ],
)
async def test_what_may_not_go_is_refused_by_name_and_nothing_is_stored(
    post: Post, attachment: dict[str, str], field: str, code: str
) -> None:
    (post.outbox / "note.txt").write_text("note")
    (post.outbox / "key.txt").write_text("-----BEGIN " + "RSA PRIVATE KEY-----\n")
    (post.outbox / "zip.png").write_bytes(zipped())
    (post.outbox / "large.bin").write_bytes(b"\0" * 2_000_001)
    (post.outbox / "empty.txt").touch()
    if not (post.outbox / "link.txt").is_symlink():
        (post.outbox / "link.txt").symlink_to(post.outbox / "note.txt")
    before = post.living.rows("uploads"), post.living.rows("delivery_requests")

    answer = await post.notify(attachment)

    assert refused(answer) == [(field, code)]
    assert (post.living.rows("uploads"), post.living.rows("delivery_requests")) == before
    assert not list((post.living.settings.home / "files" / "drafts").glob("*"))


@pytest.mark.requirement("content:files-limits-first")
async def test_a_channel_without_files_says_so_and_a_reaction_has_none(post: Post) -> None:
    (post.outbox / "note.txt").write_text("note")
    too_many = await post.notify(*[{"path": "note.txt"}] * 4)
    no_files = await post.notify({"path": "note.txt"}, channel="telegram", recipient="1000")

    assert refused(too_many) == [("attachments", "too_many_files")]
    if no_files["error_class"] == "validation_error":
        assert refused(no_files) == [("attachments", "no_files")]


@pytest.mark.requirement("content:files-same-key")
async def test_the_same_key_with_the_same_files_is_one_delivery_and_with_others_a_mistake(post: Post) -> None:
    (post.outbox / "k.txt").write_text("one")
    _, upload = await post.upload(b"two", "k2.txt")
    asked = [{"path": "k.txt"}, {"upload_id": upload["upload_id"]}]
    first = await post.notify(*asked, idempotency_key="files-1")
    again = await post.notify(*asked, idempotency_key="files-1")
    (post.outbox / "k.txt").write_text("another")
    other = await post.notify(*asked, idempotency_key="files-1")

    assert first["status"] == again["status"] == "ok"
    assert first["delivery"]["delivery_id"] == again["delivery"]["delivery_id"]
    assert refused(other) == [("idempotency_key", "key_reused")]


@pytest.mark.requirement("content:files-uploads")
async def test_an_upload_goes_with_one_message_of_its_owner(post: Post) -> None:
    _, mine = await post.upload(b"mine", "m.txt")
    reused = {"upload_id": mine["upload_id"]}
    foreign = await post.notify(reused, butler="general")
    first = await post.notify(reused)
    second = await post.notify(reused)

    assert refused(foreign) == [("attachments[0].upload_id", "unknown_upload")]
    assert first["status"] == "ok"
    assert refused(second) == [("attachments[0].upload_id", "upload_used")]


async def test_an_upload_that_is_too_old_is_refused(post: Post) -> None:
    _, old = await post.upload(b"old", "o.txt")
    with sqlite3.connect(post.living.settings.home / "postroom.db") as database:
        database.execute("update uploads set expires_at = 1 where id = ?", (old["upload_id"],))

    assert refused(await post.notify({"upload_id": old["upload_id"]})) == [
        ("attachments[0].upload_id", "upload_expired")
    ]


async def test_over_http_a_program_uploads_and_sends(post: Post) -> None:
    _, upload = await post.upload(b"from cron", "cron.log", who=PROGRAM)
    body = {
        "message": "Done",
        "channel": "courier",
        "to": "door 9",
        "attachments": [{"upload_id": upload["upload_id"]}],
    }
    status, answer = await post.living.api("POST", "/v1/notify", body, who=PROGRAM)
    stranger, told = await post.living.api("POST", "/v1/notify", body, who="health")

    assert (status, answer["status"]) == (200, "ok")
    assert post.brought(answer) == {"cron.log": ("text/plain", b"from cron")}
    assert (stranger, refused(told)) == (400, [("attachments[0].upload_id", "unknown_upload")])


async def test_an_upload_under_a_key_is_made_once(post: Post) -> None:
    first = await post.upload(b"once", "once.txt", key="up-1")
    again = await post.upload(b"once", "once.txt", key="up-1")
    other = await post.upload(b"twice", "once.txt", key="up-1")

    assert first == again and first[0] == 201
    assert (other[0], other[1]["error"]["code"]) == (409, "idempotency_key_reused")


@pytest.mark.parametrize(
    ("content", "name", "kind", "code"),
    [
        (b"", "a.txt", None, "empty_file"),
        (b"-----BEGIN " + b"PRIVATE KEY-----", "a.txt", None, "secret_content"),
        (b"text", "a.txt", "image/png", "type_mismatch"),
        (b"text", "a.png", None, "name_mismatch"),
    ],
)
async def test_an_upload_is_looked_at_like_any_file(
    post: Post, content: bytes, name: str, kind: str | None, code: str
) -> None:
    status, told = await post.upload(content, name, kind=kind)

    assert (status, [one["code"] for one in told["error"]["fields"]]) == (422, [code])


async def test_a_body_that_is_not_one_file_is_refused(post: Post) -> None:
    headers = {"Authorization": f"Bearer {post.living.token('health')}"}
    url = post.living.household.addresses["api"] + "/v1/uploads"
    two = aiohttp.FormData()
    two.add_field("a", b"x", filename="a.txt")
    two.add_field("b", b"y", filename="b.txt")
    field = aiohttp.FormData()
    field.add_field("a", "x", content_type="text/plain")
    for data in (two, field, b"plain"):
        async with post.living.http.post(url, data=data, headers=headers) as response:
            assert response.status == 422, await response.text()
    async with post.living.http.post(url, data=two, headers={"Authorization": "Bearer nonsense"}) as response:
        assert response.status == 401


async def test_an_endless_body_is_cut_off(post: Post) -> None:
    async def endless() -> AsyncIterator[bytes]:
        yield b'--x\r\nContent-Disposition: form-data; name="file"; filename="a.bin"\r\n\r\n'
        for _ in range(60):
            yield b"\0" * 1_000_000

    headers = {
        "Authorization": f"Bearer {post.living.token('health')}",
        "Content-Type": "multipart/form-data; boundary=x",
    }
    url = post.living.household.addresses["api"] + "/v1/uploads"
    try:
        async with post.living.http.post(url, data=endless(), headers=headers) as response:
            assert response.status == 413
    except aiohttp.ClientError:
        pass  # the answer was given before all was sent, and the connection closed


async def test_more_than_a_days_share_is_refused(post: Post) -> None:
    statuses = [(await post.upload(b"\0" * 4_000_000 + bytes([n]), "x.bin", who="general"))[0] for n in range(3)]

    assert statuses == [201, 201, 429]


async def test_a_persons_token_uploads_as_little_as_it_sends(post: Post) -> None:
    assert (await post.upload(b"x", who=Principal(Role.PERSON, "ann")))[0] == 403


async def test_an_envelope_cannot_name_what_was_not_uploaded_so(post: Post) -> None:
    _, upload = await post.upload(b"real", "r.txt")
    real = {
        "upload_id": upload["upload_id"],
        "sha256": "f" * 64,
        "name": "r.txt",
        "media_type": "text/plain",
        "size": 4,
    }
    delivery = {"intent": "send", "channel": "courier", "message": "Hi", "recipient": "door 1", "attachments": [real]}
    envelope = {"schema_version": "notify.v1", "origin_butler": "health", "delivery": delivery}

    answer = await post.living.call("switchboard", "deliver", {"notify_request": envelope}, caller="health")
    dry = await post.living.call("messenger", "messenger_dry_run", {"notify_request": envelope}, caller="operator")

    assert refused(answer) == [("attachments[0]", "upload_mismatch")]
    assert dry["valid"] is False and dry["errors"][0]["code"] == "upload_mismatch"


@pytest.mark.requirement("content:telegram-files")
async def test_on_telegram_text_picture_and_file_are_one_message_and_are_changed_and_recalled_as_one(
    tmp_path: Path,
) -> None:
    files = [
        {"data": base64.b64encode(PNG).decode(), "name": "bild.png"},
        {"data": base64.b64encode(b"1,2").decode(), "name": "numbers.csv"},
    ]
    async with living(tmp_path / "sandboxed", QUICK, LIFTED) as house:
        sent = await house.notify(attachments=files, message="The **report**", format="markdown")
        album = await house.received()
        correction = {"delivery_id": sent["delivery"]["delivery_id"]}
        revised = await house.call("health", "revise", correction | {"message": "The better report"})
        changed = await house.received()
        recalled = await house.call("health", "recall", correction)
        gone = await house.received()

    assert sent["status"] == "ok", sent
    assert sorted(one["text"] for one in album) == ["", "The report"]
    assert sorted(file["name"] for one in album for file in one["attachments"]) == ["bild.png", "numbers.csv"]
    assert (revised["status"], sorted(one["text"] for one in changed)) == ("revised", ["", "The better report"])
    assert recalled["status"] == "recalled" and [one["is_deleted"] for one in gone] == [True, True]


@pytest.mark.requirement("content:ntfy-files")
async def test_on_ntfy_the_first_file_is_one_message_with_the_text_and_stays_when_that_is_changed(
    tmp_path: Path,
) -> None:
    files = [data(PNG, "bild.png"), data(b"1,2", "numbers.csv")]
    async with fakes() as services, living(tmp_path / "played", QUICK, LIFTED, accounts_at(services)) as house:
        await has_address(house, "ntfy", rank=2, address=OWNERS["ntfy"])
        sent = await house.notify(channel="ntfy", attachments=files, message="The report:\nall is well")
        first = await house.received("ntfy")
        correction = {"delivery_id": sent["delivery"]["delivery_id"], "message": "The better report"}
        revised = await house.call("health", "revise", correction)
        after = await house.received("ntfy")

    assert (sent["status"], revised["status"]) == ("ok", "revised")
    assert [one["text"] for one in first] == ["The report:\nall is well", "numbers.csv"]
    assert [one["body"]["attachment"]["name"] for one in first] == ["bild.png", "numbers.csv"]
    named = {one["text"]: one["body"]["attachment"]["url"] for one in after}
    assert named["The better report"] == first[0]["body"]["attachment"]["url"]


@pytest.mark.requirement("content:slack-files")
async def test_on_slack_text_picture_and_file_are_one_message_and_are_changed_and_recalled_as_one(
    tmp_path: Path,
) -> None:
    files = [data(PNG, "bild.png"), data(b"1,2", "numbers.csv")]
    async with fakes() as services, living(tmp_path / "played", QUICK, LIFTED, accounts_at(services)) as house:
        await has_address(house, "slack", rank=2, address=OWNERS["slack"])
        sent = await house.notify(channel="slack", attachments=files, message="The **report**", format="markdown")
        [shown] = await house.received("slack")
        correction = {"delivery_id": sent["delivery"]["delivery_id"]}
        revised = await house.call("health", "revise", correction | {"message": "The better report"})
        [changed] = await house.received("slack")
        recalled = await house.call("health", "recall", correction)
        left = await house.received("slack")

    assert (sent["status"], revised["status"], recalled["status"]) == ("ok", "revised", "recalled")
    assert (shown["text"], changed["text"]) == ("The report", "The better report")
    assert [one["name"] for one in shown["attachments"]] == ["bild.png", "numbers.csv"]
    assert [one for one in left if not one["deleted"]] == []


# A message with files that waits for a person: what the person sees, and that it is what is sent.
SVG = b'<svg xmlns="http://www.w3.org/2000/svg" onload="alert(1)"><script>alert(2)</script></svg>'


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def approving_house(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Living]:
    door = tmp_path_factory.mktemp("door")
    settings = {
        "channels": {"courier": {"factory": "tests.household.courier:Courier", "options": {"folder": str(door)}}},
        "approvals": {"enabled": True, "ask_owner": False},
        "contacts": [{"name": "Bea", "addresses": ["courier:door 1"], "trusted": True}],
    }
    async with living(tmp_path_factory.mktemp("home"), LIFTED, QUICK, settings) as one:
        yield one


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def caller(approving_house: Living) -> AsyncIterator[Caller]:
    async with calling(approving_house) as one:
        yield one


def data(content: bytes, name: str) -> dict[str, str]:
    return {"data": base64.b64encode(content).decode(), "name": name}


def zipped() -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("a.txt", "content")
    return packed.getvalue()


async def notify_as(
    approving_house: Living, *files: dict[str, str], recipient: str = "door 7", **more: Any
) -> dict[str, Any]:
    return await approving_house.notify(channel="courier", recipient=recipient, attachments=list(files), **more)


async def operator(approving_house: Living, tool: str, action_id: str, **more: Any) -> dict[str, Any]:
    return await approving_house.call("messenger", tool, {"action_id": action_id, **more}, caller="operator")


async def cookies(approving_house: Living, caller: Caller) -> dict[str, str]:
    assert approving_house.household.sign_in is not None
    return await caller.sign_in(await approving_house.household.sign_in())


def brought(approving_house: Living, delivery_id: str) -> dict[str, bytes]:
    place = Path(approving_house.settings.channels["courier"].options["folder"].reveal()) / delivery_id  # type: ignore[union-attr]
    return {one.name: one.read_bytes() for one in place.iterdir()}


@pytest.mark.requirement("content:files-in-approvals")
async def test_the_person_sees_each_file_and_what_was_approved_is_sent_after_an_edit_too(
    approving_house: Living,
) -> None:
    answer = await notify_as(approving_house, data(b"line one\nline two\n", "notes.txt"), data(PNG, "chart.png"))
    action_id = answer["delivery"]["delivery_id"]
    assert answer["status"] == "pending_approval"

    action = (await operator(approving_house, "show_pending_action", action_id))["action"]
    notes, chart = action["attachments"]
    assert action["risk_tier"] == "high"
    assert (notes["name"], notes["size"], notes["media_type"], notes["preview"]) == (
        *("notes.txt", 18, "text/plain"),
        "line one\nline two\n",
    )
    assert len(chart["sha256"]) == 64 and chart["preview"] == ""

    approved = await operator(
        approving_house,
        "approve_action",
        action_id,
        content_hash=action["content_hash"],
        edits={"message": "Better words"},
    )
    assert approved["status"] == "ok", approved
    await notify_as(
        approving_house, data(b"x", "x.txt"), recipient="door 1"
    )  # what was released before this has left by now
    await until_brought(approving_house, action_id)
    files = brought(approving_house, action_id)
    assert (files["notes.txt"], files["chart.png"]) == (b"line one\nline two\n", PNG)
    assert json.loads(files["message.json"])["text"] == "Better words"


async def until_brought(approving_house: Living, delivery_id: str) -> None:
    for _ in range(50):
        told = await approving_house.call("health", "notify_status", {"delivery_id": delivery_id})
        if told["status"] == "ok":
            return
    raise AssertionError(told)


@pytest.mark.requirement("content:files-in-approvals")
async def test_files_that_were_changed_in_the_database_are_not_sent(approving_house: Living) -> None:
    first = (await notify_as(approving_house, data(b"harmless", "a.txt")))["delivery"]["delivery_id"]
    second = (await notify_as(approving_house, data(b"harmful", "a.txt")))["delivery"]["delivery_id"]
    shown = (await operator(approving_house, "show_pending_action", first))["action"]
    with sqlite3.connect(approving_house.settings.home / "postroom.db") as database:
        database.execute(
            "update delivery_requests set attachments = (select attachments from delivery_requests where id = ?)"
            " where id = ?",
            (second, first),
        )

    refused = await operator(approving_house, "approve_action", first, content_hash=shown["content_hash"])

    assert refused["error"]["fields"][0]["code"] == "content_changed"


@pytest.mark.requirement("content:files-dangerous-ask")
async def test_archives_and_programs_wait_even_for_those_who_are_trusted(approving_house: Living) -> None:
    harmless = await notify_as(approving_house, data(b"fine", "a.txt"), recipient="door 1")
    archive = await notify_as(approving_house, data(zipped(), "a.zip"), recipient="door 1")
    program = await notify_as(approving_house, data(b"#!/bin/sh\n", "run.sh"), recipient="door 1")

    assert [one["status"] for one in (harmless, archive, program)] == ["ok", "pending_approval", "pending_approval"]


@pytest.mark.requirement("content:files-dangerous-ask")
async def test_no_standing_rule_lets_an_archive_pass(approving_house: Living) -> None:
    rule = {"recipient": {"type": "exact", "value": "door 3"}}
    made = await approving_house.call(
        "messenger", "create_approval_rule", {"constraints": rule, "max_uses": 5}, caller="operator"
    )
    assert made["status"] == "ok", made
    text = await notify_as(approving_house, data(b"fine", "a.txt"), recipient="door 3")
    archive = await notify_as(approving_house, data(zipped(), "a.zip"), recipient="door 3")

    assert text["status"] in ("ok", "accepted") and archive["status"] == "pending_approval"


async def headers(caller: Caller, path: str, cookies: dict[str, str]) -> dict[str, str]:
    worn = {"Cookie": "; ".join(f"{name}={value}" for name, value in cookies.items())}
    async with caller.http.get(caller.base + path, headers=worn) as response:
        assert response.status == 200
        return dict(response.headers)


@pytest.mark.requirement("content:files-not-executed")
async def test_the_console_shows_pictures_and_runs_nothing(approving_house: Living, caller: Caller) -> None:
    hostile = b"<script>alert(1)</script>"
    answer = await notify_as(approving_house, data(SVG, "x.svg"), data(PNG, "chart.png"), data(hostile, "x.html"))
    action_id, worn = answer["delivery"]["delivery_id"], await cookies(approving_house, caller)

    page = await caller.get(f"/console/approvals/{action_id}", worn)
    files = [await headers(caller, f"/console/approvals/{action_id}/files/{n}", worn) for n in range(3)]
    delivery = await caller.get(f"/console/deliveries/{action_id}", worn)

    assert page.status == delivery.status == 200
    assert "chart.png" in page.text and "chart.png" in delivery.text
    assert "<script>alert" not in page.text and "<svg xmlns" not in page.text and "&lt;script&gt;" in page.text
    assert page.text.count('class="attached-picture"') == 1
    for one, (kind, shown) in zip(
        files,
        [
            ("application/octet-stream", "attachment"),
            ("image/png", "inline"),
            ("application/octet-stream", "attachment"),
        ],
        strict=True,
    ):
        assert one["Content-Type"] == kind
        assert one["Content-Disposition"].startswith(shown)
        assert one["X-Content-Type-Options"] == "nosniff"
        assert "sandbox" in one["Content-Security-Policy"]
        assert "default-src 'none'" in one["Content-Security-Policy"]


async def test_files_are_for_those_who_are_signed_in(approving_house: Living, caller: Caller) -> None:
    answer = await notify_as(approving_house, data(b"secret", "a.txt"))
    action_id, worn = answer["delivery"]["delivery_id"], await cookies(approving_house, caller)

    assert (await caller.get(f"/console/approvals/{action_id}/files/0")).status == 401
    assert (await caller.get(f"/console/deliveries/{action_id}/files/0")).status == 401
    for wrong in ("1", "-1", "x", "99999999999"):
        assert (await caller.get(f"/console/approvals/{action_id}/files/{wrong}", worn)).status == 404
    assert (await caller.get(f"/console/deliveries/{action_id}/files/0", worn)).text == "secret"
