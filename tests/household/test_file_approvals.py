"""A message with files that waits for a person: what the person sees, and that it is what is sent."""

from __future__ import annotations

import base64
import io
import json
import sqlite3
import zipfile
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from tests.household.living import LIFTED, QUICK, Living, living
from tests.console.http import Caller, calling

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.timeout(120)]

PNG = b"\x89PNG\r\n\x1a\n" + bytes(range(256))
SVG = b'<svg xmlns="http://www.w3.org/2000/svg" onload="alert(1)"><script>alert(2)</script></svg>'


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def house(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Living]:
    door = tmp_path_factory.mktemp("door")
    settings = {
        "channels": {"courier": {"factory": "tests.household.courier:Courier", "options": {"folder": str(door)}}},
        "approvals": {"enabled": True, "ask_owner": False},
        "contacts": [{"name": "Bea", "addresses": ["courier:door 1"], "trusted": True}],
    }
    async with living(tmp_path_factory.mktemp("home"), LIFTED, QUICK, settings) as one:
        yield one


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def caller(house: Living) -> AsyncIterator[Caller]:
    async with calling(house) as one:
        yield one


def data(content: bytes, name: str) -> dict[str, str]:
    return {"data": base64.b64encode(content).decode(), "name": name}


def zipped() -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("a.txt", "content")
    return packed.getvalue()


async def notify(house: Living, *files: dict[str, str], recipient: str = "door 7", **more: Any) -> dict[str, Any]:
    return await house.notify(channel="courier", recipient=recipient, attachments=list(files), **more)


async def operator(house: Living, tool: str, action_id: str, **more: Any) -> dict[str, Any]:
    return await house.call("messenger", tool, {"action_id": action_id, **more}, caller="operator")


async def cookies(house: Living, caller: Caller) -> dict[str, str]:
    assert house.household.sign_in is not None
    return await caller.sign_in(await house.household.sign_in())


def brought(house: Living, delivery_id: str) -> dict[str, bytes]:
    place = Path(house.settings.channels["courier"].options["folder"].reveal()) / delivery_id  # type: ignore[union-attr]
    return {one.name: one.read_bytes() for one in place.iterdir()}


@pytest.mark.requirement("content:files-in-approvals")
async def test_the_person_sees_each_file_and_what_was_approved_is_sent_after_an_edit_too(house: Living) -> None:
    answer = await notify(house, data(b"line one\nline two\n", "notes.txt"), data(PNG, "chart.png"))
    action_id = answer["delivery"]["delivery_id"]
    assert answer["status"] == "pending_approval"

    action = (await operator(house, "show_pending_action", action_id))["action"]
    notes, chart = action["attachments"]
    assert action["risk_tier"] == "high"
    assert (notes["name"], notes["size"], notes["media_type"], notes["preview"]) == (
        *("notes.txt", 18, "text/plain"),
        "line one\nline two\n",
    )
    assert len(chart["sha256"]) == 64 and chart["preview"] == ""

    approved = await operator(
        house, "approve_action", action_id, content_hash=action["content_hash"], edits={"message": "Better words"}
    )
    assert approved["status"] == "ok", approved
    await notify(house, data(b"x", "x.txt"), recipient="door 1")  # what was released before this has left by now
    await until_brought(house, action_id)
    files = brought(house, action_id)
    assert (files["notes.txt"], files["chart.png"]) == (b"line one\nline two\n", PNG)
    assert json.loads(files["message.json"])["text"] == "Better words"


async def until_brought(house: Living, delivery_id: str) -> None:
    for _ in range(50):
        told = await house.call("health", "notify_status", {"delivery_id": delivery_id})
        if told["status"] == "ok":
            return
    raise AssertionError(told)


@pytest.mark.requirement("content:files-in-approvals")
async def test_files_that_were_changed_in_the_database_are_not_sent(house: Living) -> None:
    first = (await notify(house, data(b"harmless", "a.txt")))["delivery"]["delivery_id"]
    second = (await notify(house, data(b"harmful", "a.txt")))["delivery"]["delivery_id"]
    shown = (await operator(house, "show_pending_action", first))["action"]
    with sqlite3.connect(house.settings.home / "postroom.db") as database:
        database.execute(
            "update delivery_requests set attachments = (select attachments from delivery_requests where id = ?)"
            " where id = ?",
            (second, first),
        )

    refused = await operator(house, "approve_action", first, content_hash=shown["content_hash"])

    assert refused["error"]["fields"][0]["code"] == "content_changed"


@pytest.mark.requirement("content:files-dangerous-ask")
async def test_archives_and_programs_wait_even_for_those_who_are_trusted(house: Living) -> None:
    harmless = await notify(house, data(b"fine", "a.txt"), recipient="door 1")
    archive = await notify(house, data(zipped(), "a.zip"), recipient="door 1")
    program = await notify(house, data(b"#!/bin/sh\n", "run.sh"), recipient="door 1")

    assert [one["status"] for one in (harmless, archive, program)] == ["ok", "pending_approval", "pending_approval"]


@pytest.mark.requirement("content:files-dangerous-ask")
async def test_no_standing_rule_lets_an_archive_pass(house: Living) -> None:
    rule = {"recipient": {"type": "exact", "value": "door 3"}}
    made = await house.call(
        "messenger", "create_approval_rule", {"constraints": rule, "max_uses": 5}, caller="operator"
    )
    assert made["status"] == "ok", made
    text = await notify(house, data(b"fine", "a.txt"), recipient="door 3")
    archive = await notify(house, data(zipped(), "a.zip"), recipient="door 3")

    assert text["status"] in ("ok", "accepted") and archive["status"] == "pending_approval"


async def headers(caller: Caller, path: str, cookies: dict[str, str]) -> dict[str, str]:
    worn = {"Cookie": "; ".join(f"{name}={value}" for name, value in cookies.items())}
    async with caller.http.get(caller.base + path, headers=worn) as response:
        assert response.status == 200
        return dict(response.headers)


@pytest.mark.requirement("content:files-not-executed")
async def test_the_console_shows_pictures_and_runs_nothing(house: Living, caller: Caller) -> None:
    hostile = b"<script>alert(1)</script>"
    answer = await notify(house, data(SVG, "x.svg"), data(PNG, "chart.png"), data(hostile, "x.html"))
    action_id, worn = answer["delivery"]["delivery_id"], await cookies(house, caller)

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


async def test_files_are_for_those_who_are_signed_in(house: Living, caller: Caller) -> None:
    answer = await notify(house, data(b"secret", "a.txt"))
    action_id, worn = answer["delivery"]["delivery_id"], await cookies(house, caller)

    assert (await caller.get(f"/console/approvals/{action_id}/files/0")).status == 401
    assert (await caller.get(f"/console/deliveries/{action_id}/files/0")).status == 401
    for wrong in ("1", "-1", "x", "99999999999"):
        assert (await caller.get(f"/console/approvals/{action_id}/files/{wrong}", worn)).status == 404
    assert (await caller.get(f"/console/deliveries/{action_id}/files/0", worn)).text == "secret"
