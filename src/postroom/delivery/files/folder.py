"""Files in a folder, which many machines may share, each under the hash of its bytes; and those of an outbox."""

from __future__ import annotations

import asyncio
import errno
import os
import secrets
import stat
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path, PurePosixPath
from typing import BinaryIO, Final, TypeVar

from sqlalchemy import (
    BigInteger,
    Column,
    ColumnElement,
    Connection,
    Index,
    Table,
    Text,
    UniqueConstraint,
    and_,
    exists,
    func,
    insert,
    not_,
    or_,
    select,
    update,
)

from postroom.delivery.store.tables import delivery_requests
from postroom.kernel.database.engine import Database, write_twice
from postroom.kernel.database.rows import read, values
from postroom.kernel.database.schema import SHARED, metadata
from postroom.kernel.values.errors import Code, InternalError, OverloadRejected, Refused, StoreUnavailable
from postroom.message.attachment import CLAIM_US, Attachment, Upload

_HEX: Final = frozenset("0123456789abcdef")
_HASH_LENGTH: Final = 64
_CHUNK_BYTES: Final = 256 * 1024
_Result = TypeVar("_Result")


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """Bytes that lie beside the others and are no file of ours yet."""

    path: Path
    sha256: str
    size: int


class FolderFiles:
    """`root` is made when it is first needed, for us alone."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self._drafts = root / "drafts"  # copies that are being made, under names that are nobody's
        self._gone = root / "gone"  # taken away, and brought back if somebody has just stored the same bytes

    async def draft(self, source: BinaryIO, look: Callable[[bytes], None]) -> Draft:
        """Written to the disk before it is anything; whatever goes wrong leaves nothing."""
        return await self._in_thread(self._draft, source, look)

    async def discard(self, draft: Draft) -> None:
        """Nothing to do for one that was kept: it has moved."""
        await asyncio.to_thread(draft.path.unlink, missing_ok=True)

    async def keep(self, draft: Draft) -> None:
        """Over what is there: the same bytes, but new, so that no pruning that has just begun takes them away."""
        await self._in_thread(self._keep, draft)

    async def read(self, attachment: Attachment) -> bytes:
        content: bytes | None = await self._in_thread(self._there, attachment.sha256, Path.read_bytes)
        if content is None:
            raise InternalError(f"the bytes of {attachment.sha256[:12]} are gone")
        if sha256(content).hexdigest() != attachment.sha256:
            raise InternalError(f"the bytes of {attachment.sha256[:12]} have changed on disk")
        return content

    async def holds(self, attachment: Attachment) -> bool:
        found = await self._in_thread(self._there, attachment.sha256, Path.stat)
        return found is not None and found.st_size == attachment.size

    async def kept_before(self, before_us: int) -> list[str]:
        """Their hashes; old enough that whoever stored them has had the time to write it down."""
        return await self._in_thread(self._kept_before, before_us)

    async def remove(self, sha: str, before_us: int) -> bool:
        """Not one that has been stored again since then."""
        return await self._in_thread(self._remove, sha, before_us)

    async def remove_drafts(self, before_us: int) -> int:
        """Left behind by processes that died."""
        return await self._in_thread(self._remove_drafts, before_us)

    async def _in_thread(self, work: Callable[..., _Result], *arguments: object) -> _Result:
        try:
            return await asyncio.to_thread(work, *arguments)
        except OSError as error:
            raise StoreUnavailable(f"files: {error.strerror or type(error).__name__}") from None

    def _place(self, sha: str) -> Path:
        if len(sha) != _HASH_LENGTH or not _HEX.issuperset(sha):
            raise InternalError("that is no hash of a file")
        return self.root / sha[:2] / sha[2:]

    def _draft(self, source: BinaryIO, look: Callable[[bytes], None]) -> Draft:
        self._drafts.mkdir(parents=True, exist_ok=True, mode=0o700)
        path = self._drafts / secrets.token_hex(16)
        digest, size = sha256(), 0
        try:
            with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600), "wb") as copy:
                while chunk := source.read(_CHUNK_BYTES):
                    look(chunk)
                    digest.update(chunk)
                    size += len(chunk)
                    copy.write(chunk)
                copy.flush()
                os.fsync(copy.fileno())
        except BaseException:
            path.unlink(missing_ok=True)
            raise
        return Draft(path=path, sha256=digest.hexdigest(), size=size)

    def _remove_drafts(self, before_us: int) -> int:
        old = [one for one in self._drafts.glob("*") if one.stat().st_mtime_ns < before_us * 1000]
        for one in old:
            one.unlink(missing_ok=True)
        return len(old)

    def _keep(self, draft: Draft) -> None:
        place = self._place(draft.sha256)
        place.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        os.utime(draft.path)
        draft.path.replace(place)
        for folder in (place.parent, self.root):
            _sync_folder(folder)

    def _there(self, sha: str, look: Callable[[Path], _Result]) -> _Result | None:
        """A process that died while it took a file away may have left it aside."""
        place = self._place(sha)
        for bring_back in (False, True):
            with suppress(FileNotFoundError):
                if bring_back:
                    (self._gone / sha).replace(place)
                return look(place)
        return None

    def _kept_before(self, before_us: int) -> list[str]:
        found = []
        for aside in self._gone.glob("*"):
            self._there(aside.name, Path.stat)
        for folder in sorted(self.root.glob("[0-9a-f][0-9a-f]")):
            for file in folder.iterdir():
                with suppress(FileNotFoundError):
                    if file.stat().st_mtime_ns // 1000 < before_us:
                        found.append(folder.name + file.name)
        return found

    def _remove(self, sha: str, before_us: int) -> bool:
        place, aside = self._place(sha), self._gone / sha
        aside.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        try:
            place.rename(aside)
        except FileNotFoundError:
            return False
        if aside.stat().st_mtime_ns // 1000 >= before_us:
            aside.replace(place)
            return False
        aside.unlink()
        return True


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


# -- Where a path lies below a caller's outbox folders, by its words alone; nothing is looked up ---

_OUTSIDE: Final = "is not below an outbox folder of yours"


class OutboxRefusal(Exception):
    """Why a path below an outbox is not opened; the words are for the caller."""

    def __init__(self, error: str, code: str) -> None:
        super().__init__(error)
        self.error = error
        self.code = code


@dataclass(frozen=True, slots=True)
class OutboxPlace:
    folder: Path
    parts: tuple[str, ...]


def places(path: str, outbox: Sequence[Path]) -> list[OutboxPlace]:
    """Where to look, in order. An absolute path names its folder; another may lie below any of them."""
    if not outbox:
        raise OutboxRefusal("cannot be used: no outbox folder is set for you; upload the file", "no_outbox")
    asked = PurePosixPath(path)
    if ".." in path.split("/"):
        raise OutboxRefusal(f"{_OUTSIDE}: it must not contain ..", "outside_outbox")
    found = [_below(asked, folder) for folder in outbox]
    wanted = [one for one in found if one is not None and one.parts]
    if not wanted:
        raise OutboxRefusal(_OUTSIDE, "outside_outbox")
    for place in wanted:
        if any(part.startswith(".") for part in place.parts):
            raise OutboxRefusal("is hidden: files and folders whose names begin with a dot stay here", "hidden_file")
    return wanted


def _below(asked: PurePosixPath, folder: Path) -> OutboxPlace | None:
    if not asked.is_absolute():
        return OutboxPlace(folder, asked.parts)
    root = PurePosixPath(folder)
    return OutboxPlace(folder, asked.relative_to(root).parts) if asked.is_relative_to(root) else None


# -- Open a file there so that no link, swap or special file leads anywhere else ---

_FOLDER: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenedFile:
    """It has been looked at; whatever stands at its path later, this one is read."""

    source: BinaryIO
    seen: os.stat_result

    @property
    def size(self) -> int:
        return self.seen.st_size

    def unchanged(self) -> bool:
        return _marks(os.fstat(self.source.fileno())) == _marks(self.seen)


@contextmanager
def opened_below(folder: Path, parts: Sequence[str]) -> Iterator[OpenedFile]:
    """
    Raises OutboxRefusal.

    Each name is looked up in the folder that was opened before it, never again from the top, and none may be a link;
    so whatever is moved meanwhile, what is read lies below the outbox.
    """
    descriptor, owner = _walked(folder, parts)
    try:
        seen = os.fstat(descriptor)
        _check(seen, owner)
        os.set_blocking(descriptor, True)
    except BaseException:
        os.close(descriptor)
        raise
    with os.fdopen(descriptor, "rb", buffering=0) as source:
        yield OpenedFile(source=source, seen=seen)


def _walked(folder: Path, parts: Sequence[str]) -> tuple[int, int]:
    """The file, and who owns the outbox."""
    if any(part in ("", ".", "..") or "/" in part or "\0" in part for part in parts) or not parts:
        raise OutboxRefusal("is not below an outbox folder of yours", "outside_outbox")
    here = _opened(str(folder), _FOLDER, None, "is below an outbox folder that cannot be opened", "outbox_unavailable")
    try:
        owner = os.fstat(here).st_uid
        for part in parts[:-1]:
            inner = _opened(part, _FOLDER, here)
            os.close(here)
            here = inner
        return _opened(parts[-1], _FILE, here), owner
    finally:
        os.close(here)


def _opened(name: str, flags: int, below: int | None, failed: str = "", code: str = "") -> int:
    try:
        return os.open(name, flags, dir_fd=below)
    except OSError as error:
        if failed:
            raise OutboxRefusal(failed, code) from None
        raise _refusal(error.errno, name, below) from None


def _refusal(number: int | None, name: str, below: int | None) -> OutboxRefusal:
    if number == errno.ENOENT:
        return OutboxRefusal("is not there", "not_found")
    if number == errno.ELOOP or (number == errno.ENOTDIR and _is_link(name, below)):
        return OutboxRefusal("is a link, or lies behind one", "link")
    if number in (errno.ENOTDIR, errno.ENXIO, errno.ENODEV):
        return OutboxRefusal("is not a regular file", "not_a_file")
    if number in (errno.EACCES, errno.EPERM):
        return OutboxRefusal("cannot be read by this household", "unreadable")
    return OutboxRefusal("cannot be opened", "unreadable")


def _is_link(name: str, below: int | None) -> bool:
    try:
        return stat.S_ISLNK(os.stat(name, dir_fd=below, follow_symlinks=False).st_mode)
    except OSError:
        return False


def _check(seen: os.stat_result, owner: int) -> None:
    if not stat.S_ISREG(seen.st_mode):
        raise OutboxRefusal("is not a regular file", "not_a_file")
    if seen.st_nlink != 1:
        raise OutboxRefusal("has more than one name (a hard link)", "several_names")
    if seen.st_uid not in (os.geteuid(), owner):
        raise OutboxRefusal("belongs to another user", "foreign_owner")


def _marks(seen: os.stat_result) -> tuple[int, ...]:
    return seen.st_size, seen.st_mtime_ns, seen.st_ctime_ns, seen.st_nlink


# Uploads on disk: handed in, found again, and taken by one delivery.


# `used_by` is the idempotency key of the delivery it went with; `key` is the caller's own, for the upload itself.
uploads = Table(
    "uploads",
    metadata,
    Column("id", Text, primary_key=True),
    Column("owner", Text, nullable=False),
    Column("sha256", Text, nullable=False),
    Column("name", Text, nullable=False),
    Column("media_type", Text, nullable=False),
    Column("size", BigInteger, nullable=False),
    Column("created_at", BigInteger, nullable=False),
    Column("expires_at", BigInteger, nullable=False),
    Column("key", Text),
    Column("used_by", Text),
    Column("used_at", BigInteger),
    UniqueConstraint("owner", "key", name="uq_uploads_owner_key"),
    Index("ix_uploads_owner_created_at", "owner", "created_at"),
    Index("ix_uploads_sha256", "sha256"),
    Index("ix_uploads_expires_at", "expires_at"),
    schema=SHARED,
)

_AGAIN_SECONDS: Final = 3600.0
_table = uploads.c


class StoredUploads:
    def __init__(self, database: Database) -> None:
        self._database = database

    async def add(self, new: Sequence[Upload], *, most_bytes: int, since_us: int) -> Sequence[Upload]:
        def work(connection: Connection) -> list[Upload]:
            known = [_known(connection, one) for one in new]
            fresh = [one for one, found in zip(new, known, strict=True) if found is None]
            if fresh:
                _check_day(connection, fresh, most_bytes, since_us)
                connection.execute(insert(uploads), [values(one, without=("used_by", "used_at_us")) for one in fresh])
            return [found or one for one, found in zip(new, known, strict=True)]

        return await write_twice(self._database, work)

    async def find(self, ids: Sequence[str]) -> Sequence[Upload]:
        asked = select(uploads).where(_table.id.in_(ids))
        return await self._database.read(lambda connection: [read(Upload, row) for row in connection.execute(asked)])

    async def claim(self, ids: Sequence[str], owner: str, used_by: str, now_us: int) -> bool:
        def work(connection: Connection) -> bool:
            free = or_(
                _table.used_by == used_by,
                and_(_table.used_by.is_(None), _table.expires_at > now_us),
                and_(_table.used_at <= now_us - CLAIM_US, not_(has_delivery())),
            )
            mine = select(_table.id).where(_table.id.in_(ids), _table.owner == owner, free).with_for_update()
            if set(connection.execute(mine).scalars()) != set(ids):
                return False
            taken = update(uploads).where(_table.id.in_(ids)).values(used_by=used_by, used_at=now_us)
            connection.execute(taken)
            return True

        return await self._database.write(work)


def has_delivery() -> ColumnElement[bool]:
    """Whether the delivery that took the upload was really written, and is still there."""
    return exists().where(delivery_requests.c.idempotency_key == _table.used_by)


def kept_among(connection: Connection, hashes: Sequence[str]) -> set[str]:
    """Which of these some upload still needs; that of a delivery stays as long as the delivery."""
    return set(connection.execute(select(_table.sha256).where(_table.sha256.in_(hashes)).distinct()).scalars())


def waiting_files(connection: Connection) -> list[tuple[str, str]]:
    """Each delivery that is still to be sent, with its files."""
    requests = delivery_requests.c
    asked = select(requests.id, requests.attachments)
    open_ones = asked.where(requests.attachments.is_not(None), requests.terminal_at.is_(None))
    return [(row.id, row.attachments) for row in connection.execute(open_ones)]


def _known(connection: Connection, one: Upload) -> Upload | None:
    """What was handed in under the caller's own key before."""
    if one.key is None:
        return None
    row = connection.execute(select(uploads).where(_table.owner == one.owner, _table.key == one.key)).first()
    if row is None:
        return None
    if (row.sha256, row.name, row.media_type) != (one.sha256, one.name, one.media_type):
        raise Refused(Code.KEY_REUSED, "this idempotency key was used for another file")
    return read(Upload, row)


def _check_day(connection: Connection, new: Sequence[Upload], most_bytes: int, since_us: int) -> None:
    owner = new[0].owner
    asked = select(func.coalesce(func.sum(_table.size), 0)).where(_table.owner == owner, _table.created_at >= since_us)
    if connection.execute(asked).scalar_one() + sum(one.size for one in new) > most_bytes:
        told = f"{owner} has handed in {most_bytes:,} bytes of files within a day, which is the limit"
        raise OverloadRejected(told, limit_type="uploads", retry_after_seconds=_AGAIN_SECONDS)
