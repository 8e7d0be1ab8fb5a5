"""Files in a folder, under the hash of their bytes."""

from __future__ import annotations

import os
from hashlib import sha256
from io import BytesIO
from pathlib import Path

import pytest

from postroom.domain.attachment import Attachment
from postroom.domain.errors import InternalError, ValidationError
from postroom.world.files.folder import FolderFiles

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
