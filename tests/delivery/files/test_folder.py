"""Where a path lies, by its words alone."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from dataclasses import replace
from hashlib import sha256
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
from tests.support.delivery_rows import NOON_US, new_id, request_row, write

from postroom.delivery.files import folder as safe_open
from postroom.delivery.files.folder import (
    FolderFiles,
    OutboxPlace,
    OutboxRefusal,
    StoredUploads,
    opened_below,
    places,
    waiting_files,
)
from postroom.delivery.files.taking import DAY_US, Retention, retention
from postroom.kernel.database.engine import Database
from postroom.kernel.values.errors import InternalError, OverloadRejected, Refused, ValidationError
from postroom.message.attachment import CLAIM_US, UPLOAD_LIFE_US, Attachment, Upload, attachments_text
from postroom.overview.pruning import FILES, Pruner

OUTBOX = [Path("/srv/outbox"), Path("/srv/ann/out")]


def test_an_absolute_path_names_its_folder_and_another_may_lie_below_any() -> None:
    assert places("/srv/ann/out/a/b.txt", OUTBOX) == [OutboxPlace(OUTBOX[1], ("a", "b.txt"))]
    assert places("a/b.txt", OUTBOX) == [OutboxPlace(one, ("a", "b.txt")) for one in OUTBOX]


@pytest.mark.requirement("content:files-outbox-only")
@pytest.mark.parametrize(
    ("path", "code"),
    [
        ("/etc/passwd", "outside_outbox"),
        ("/srv/outbox", "outside_outbox"),
        ("/srv/outbox-other/a", "outside_outbox"),
        ("/srv/outbox/../secret", "outside_outbox"),
        ("../a", "outside_outbox"),
        ("a/../../b", "outside_outbox"),
        (".ssh/id_rsa", "hidden_file"),
        ("/srv/outbox/a/.env", "hidden_file"),
        (".", "outside_outbox"),
    ],
)
def test_everything_else_is_refused(path: str, code: str) -> None:
    with pytest.raises(OutboxRefusal) as refusal:
        places(path, OUTBOX)
    assert refusal.value.code == code


def test_without_an_outbox_no_path_is_taken() -> None:
    with pytest.raises(OutboxRefusal) as refusal:
        places("a.txt", [])
    assert refusal.value.code == "no_outbox"


NOW_US = 4_000_000_000_000_000  # long after any file of this test
SHA = sha256(b"hello").hexdigest()


def attachment(content: bytes = b"hello") -> Attachment:
    sha = sha256(content).hexdigest()
    return Attachment(upload_id="", sha256=sha, name="a.txt", media_type="text/plain", size=len(content))


async def kept(files: FolderFiles, content: bytes = b"hello") -> None:
    await files.keep(await files.draft(BytesIO(content), lambda _: None))


def listed(root: Path) -> list[str]:
    return sorted(str(one.relative_to(root)) for one in root.rglob("*") if one.is_file())


@pytest.mark.requirement("content:files-by-hash")
async def test_the_same_bytes_are_stored_once_and_read_back(tmp_path: Path) -> None:
    files = FolderFiles(tmp_path / "files")
    await kept(files)
    await kept(files)

    assert listed(files.root) == [f"{SHA[:2]}/{SHA[2:]}"]
    assert await files.read(attachment()) == b"hello"
    assert await files.holds(attachment())
    assert not await files.holds(attachment(b"other"))
    assert (files.root / SHA[:2] / SHA[2:]).stat().st_mode & 0o077 == 0


async def test_bytes_that_changed_or_went_are_never_given_out(tmp_path: Path) -> None:
    files = FolderFiles(tmp_path)
    await kept(files)
    (tmp_path / SHA[:2] / SHA[2:]).write_bytes(b"HELLO")

    with pytest.raises(InternalError, match="changed"):
        await files.read(attachment())
    with pytest.raises(InternalError, match="gone"):
        await files.read(attachment(b"never"))


async def test_a_refused_copy_leaves_nothing(tmp_path: Path) -> None:
    def refuse(_chunk: bytes) -> None:
        raise ValidationError("no")

    with pytest.raises(ValidationError):
        await FolderFiles(tmp_path).draft(BytesIO(b"hello"), refuse)
    assert listed(tmp_path) == []


async def test_a_hash_that_is_a_path_is_no_hash(tmp_path: Path) -> None:
    wrong = Attachment(upload_id="", sha256="../../etc/passwd", name="", media_type="", size=1)

    with pytest.raises(InternalError):
        await FolderFiles(tmp_path).read(wrong)


async def test_what_was_stored_again_meanwhile_is_not_taken_away(tmp_path: Path) -> None:
    files = FolderFiles(tmp_path)
    await kept(files)
    place = tmp_path / SHA[:2] / SHA[2:]
    os.utime(place, (1000, 1000))
    before_us = 2_000_000_000
    assert await files.kept_before(before_us) == [SHA]
    await kept(files)  # somebody else hands in the same bytes

    assert not await files.remove(SHA, before_us)
    assert await files.read(attachment()) == b"hello"
    assert await files.remove(SHA, NOW_US)
    assert listed(tmp_path) == []


async def test_a_process_that_died_while_taking_one_away_lost_nothing(tmp_path: Path) -> None:
    files = FolderFiles(tmp_path)
    await kept(files)
    (tmp_path / "gone").mkdir()
    (tmp_path / SHA[:2] / SHA[2:]).rename(tmp_path / "gone" / SHA)

    assert await files.read(attachment()) == b"hello"
    assert listed(tmp_path) == [f"{SHA[:2]}/{SHA[2:]}"]


async def test_old_copies_that_were_never_finished_go(tmp_path: Path) -> None:
    files = FolderFiles(tmp_path)
    draft = await files.draft(BytesIO(b"hello"), lambda _: None)

    assert await files.remove_drafts(0) == 0
    assert await files.remove_drafts(NOW_US) == 1
    await files.discard(draft)
    assert listed(tmp_path) == []


@pytest.fixture
def outbox(tmp_path: Path) -> Path:
    (tmp_path / "outbox" / "sub").mkdir(parents=True)
    (tmp_path / "outbox" / "sub" / "report.txt").write_text("fine")
    (tmp_path / "secret").mkdir()
    (tmp_path / "secret" / "key.txt").write_text("secret")
    return tmp_path / "outbox"


def test_a_regular_file_is_read(outbox: Path) -> None:
    with opened_below(outbox, ("sub", "report.txt")) as file:
        assert (file.size, file.source.read(), file.unchanged()) == (4, b"fine", True)


def link_file(outbox: Path) -> None:
    (outbox / "sub" / "x").symlink_to(outbox.parent / "secret" / "key.txt")


def hard_link(outbox: Path) -> None:
    os.link(outbox.parent / "secret" / "key.txt", outbox / "sub" / "x")


def folder(outbox: Path) -> None:
    (outbox / "sub" / "x").mkdir()


def pipe(outbox: Path) -> None:
    os.mkfifo(outbox / "sub" / "x")


def link_folder(outbox: Path) -> None:
    (outbox / "sub").rename(outbox / "real")
    (outbox / "sub").symlink_to(outbox.parent / "secret")
    (outbox.parent / "secret" / "x").write_text("secret")


def foreign(outbox: Path) -> None:
    (outbox / "sub" / "x").write_text("theirs")
    os.chown(outbox / "sub" / "x", 12345, 12345)


def nothing(outbox: Path) -> None:
    return None


@pytest.mark.requirement("content:files-opened-safely")
@pytest.mark.parametrize(
    ("make", "code"),
    [
        (link_file, "link"),
        (link_folder, "link"),
        (hard_link, "several_names"),
        (folder, "not_a_file"),
        (pipe, "not_a_file"),
        (nothing, "not_found"),
        pytest.param(
            foreign, "foreign_owner", marks=pytest.mark.skipif(os.geteuid() != 0, reason="only root gives away")
        ),
    ],
)
def test_whatever_is_no_plain_file_of_ours_is_refused(outbox: Path, make: Callable[[Path], None], code: str) -> None:
    make(outbox)

    with pytest.raises(OutboxRefusal) as refusal, opened_below(outbox, ("sub", "x")):
        pass
    assert refusal.value.code == code


@pytest.mark.parametrize("parts", [("..", "secret", "key.txt"), ("sub/../../secret", "key.txt"), ("",), (), (".",)])
def test_no_part_leads_out(outbox: Path, parts: tuple[str, ...]) -> None:
    with pytest.raises(OutboxRefusal) as refusal, opened_below(outbox, parts):
        pass
    assert refusal.value.code == "outside_outbox"


def test_an_outbox_that_is_a_link_is_none(outbox: Path, tmp_path: Path) -> None:
    (tmp_path / "alias").symlink_to(tmp_path / "secret")

    with pytest.raises(OutboxRefusal) as refusal, opened_below(tmp_path / "alias", ("key.txt",)):
        pass
    assert refusal.value.code == "outbox_unavailable"


def test_a_folder_that_is_swapped_for_a_link_while_it_is_opened_leads_nowhere_else(
    outbox: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The folder is already open when its name begins to lead elsewhere: what is read still lies in the old one."""
    real_open = os.open
    (outbox.parent / "secret" / "report.txt").write_text("secret")

    def swapping(name: str, flags: int, *more: Any, **named: Any) -> int:
        if name == "report.txt":
            (outbox / "sub").rename(outbox / "moved")
            (outbox / "sub").symlink_to(outbox.parent / "secret")
        return real_open(name, flags, *more, **named)

    monkeypatch.setattr(safe_open.os, "open", swapping)

    with opened_below(outbox, ("sub", "report.txt")) as file:
        assert file.source.read() == b"fine"


def test_a_file_that_grows_while_it_is_read_is_noticed(outbox: Path) -> None:
    with opened_below(outbox, ("sub", "report.txt")) as file:
        with (outbox / "sub" / "report.txt").open("a") as writer:
            writer.write("more")

        assert not file.unchanged()


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
