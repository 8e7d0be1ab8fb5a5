"""Uploads on SQLite and PostgreSQL alike, and what pruning leaves of them and their bytes."""

from __future__ import annotations

import asyncio
import os
from dataclasses import replace
from hashlib import sha256
from io import BytesIO
from pathlib import Path

import pytest
from tests.support.delivery_rows import NOON_US, new_id, request_row, write

from postroom.delivery.files.folder import FolderFiles
from postroom.delivery.files.taking import DAY_US, Retention, retention
from postroom.delivery.files.uploads import StoredUploads, waiting_files
from postroom.kernel.database.engine import Database
from postroom.kernel.values.errors import OverloadRejected, Refused
from postroom.message.attachment import CLAIM_US, UPLOAD_LIFE_US, Upload, attachments_text
from postroom.overview.pruning import FILES, Pruner


def upload(content: bytes = b"hello", at_us: int = NOON_US, **changes: object) -> Upload:
    made = Upload(
        id=new_id(at_us),
        owner="health",
        sha256=sha256(content).hexdigest(),
        name="a.txt",
        media_type="text/plain",
        size=len(content),
        created_at_us=at_us,
        expires_at_us=at_us + UPLOAD_LIFE_US,
    )
    return replace(made, **changes)  # type: ignore[arg-type]


async def added(database: Database, *uploads: Upload) -> StoredUploads:
    stored = StoredUploads(database)
    await stored.add(uploads, most_bytes=1000, since_us=NOON_US - DAY_US)
    return stored


@pytest.mark.requirement("content:files-uploads")
async def test_one_delivery_takes_an_upload_and_may_ask_again(database: Database) -> None:
    one = upload()
    stored = await added(database, one)

    assert await stored.find([one.id, "unknown"]) == [one]
    assert not await stored.claim([one.id], "general", "k1", NOON_US)
    assert not await stored.claim([one.id], "health", "k1", one.expires_at_us)
    assert await stored.claim([one.id], "health", "k1", NOON_US)
    assert await stored.claim([one.id], "health", "k1", NOON_US + DAY_US)
    assert not await stored.claim([one.id], "health", "k2", NOON_US)


async def test_of_many_who_want_it_at_once_one_has_it(database: Database) -> None:
    one = upload()
    stored = await added(database, one)

    won = await asyncio.gather(*(stored.claim([one.id], "health", f"k{n}", NOON_US) for n in range(8)))

    assert won.count(True) == 1


async def test_all_of_them_are_taken_or_none(database: Database) -> None:
    one, other = upload(), upload(b"other")
    stored = await added(database, one, other)
    assert await stored.claim([other.id], "health", "k1", NOON_US)

    assert not await stored.claim([one.id, other.id], "health", "k2", NOON_US)
    assert [found.used_by for found in await stored.find([one.id])] == [None]


async def test_what_a_delivery_took_that_was_never_written_can_be_taken_again(database: Database) -> None:
    one, kept = upload(), upload(b"kept")
    stored = await added(database, one, kept)
    written = request_row()
    await write(database, [written])
    assert await stored.claim([one.id], "health", "lost", NOON_US)
    assert await stored.claim([kept.id], "health", written["idempotency_key"], NOON_US)

    later = NOON_US + CLAIM_US
    assert not await stored.claim([one.id], "health", "next", later - 1)
    assert await stored.claim([one.id], "health", "next", later)
    assert not await stored.claim([kept.id], "health", "next", later)


async def test_a_day_has_its_limit_and_a_key_its_file(database: Database) -> None:
    stored = await added(database, upload(b"x" * 600), upload(b"once", key="k"))

    with pytest.raises(OverloadRejected):
        await stored.add([upload(b"x" * 600)], most_bytes=1000, since_us=NOON_US - DAY_US)
    [again] = await stored.add([upload(b"once", key="k")], most_bytes=1000, since_us=NOON_US - DAY_US)
    assert (again.key, (await stored.find([again.id]))[0]) == ("k", again)
    with pytest.raises(Refused):
        await stored.add([upload(b"other", key="k")], most_bytes=1000, since_us=NOON_US - DAY_US)


async def keep(files: FolderFiles, content: bytes, at_us: int) -> None:
    await files.keep(await files.draft(BytesIO(content), lambda _: None))
    sha = sha256(content).hexdigest()
    os.utime(files.root / sha[:2] / sha[2:], (at_us / 1e6, at_us / 1e6))


def held(files: FolderFiles) -> set[bytes]:
    return {one.read_bytes() for one in files.root.glob("??/*")}


async def prune(database: Database, files: FolderFiles, keeping: Retention) -> dict[str, int]:
    async def no_rest(_: float) -> None:
        return None

    pruner = Pruner(database=database, batch=100, tell=lambda *_: None, rest=no_rest, files=files)
    counts = await pruner.estimate(keeping)
    done = await pruner.prune(keeping)
    assert done[FILES] >= counts[FILES]
    return done


@pytest.mark.requirement("content:files-pruned")
async def test_bytes_go_when_nothing_needs_them_and_never_before(database: Database, tmp_path: Path) -> None:
    files = FolderFiles(tmp_path / "files")
    now, old = NOON_US + 10 * DAY_US, NOON_US
    contents = (b"orphan", b"unused", b"waiting", b"shared", b"fresh")
    for content in contents:
        await keep(files, content, now if content == b"fresh" else old)
    row = request_row(old, terminal_at=old, status="delivered", attachments=attachments_text([upload().attached()]))
    await write(database, [row])
    used = [upload(b"waiting"), upload(b"shared")]
    stored = await added(database, upload(b"unused"), upload(b"shared"), *used)
    assert await stored.claim([one.id for one in used], "health", row["idempotency_key"], NOON_US)

    await prune(database, files, retention(now, 90 * DAY_US))
    assert held(files) == {b"waiting", b"shared", b"fresh"}

    pruned = await prune(database, files, retention(now, DAY_US))
    assert pruned["deliveries"] == 1 and held(files) == {b"fresh"}


async def test_messages_that_wait_are_found_with_their_files(database: Database) -> None:
    text = attachments_text([upload().attached()])
    waiting = request_row(status="pending", terminal_at=None, attachments=text)
    done = request_row(terminal_at=NOON_US, status="delivered", attachments=text)
    await write(database, [waiting, done])

    assert [(one, found) for one, found in await database.read(waiting_files)] == [(waiting["id"], text)]
