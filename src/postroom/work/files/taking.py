"""Take files over from a caller: looked at, copied, kept under their hash, and from then on uploads of that caller."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from io import BytesIO
from pathlib import Path
from typing import BinaryIO, Final

from postroom.domain.attachment import Attachment
from postroom.domain.capabilities import Capabilities
from postroom.domain.clock import Clock
from postroom.domain.errors import ValidationError
from postroom.domain.file_ports import Draft, FileStore, OpenOutbox, OutboxFile, OutboxRefusal, UploadRecord
from postroom.domain.retention import DAY_US, QUESTION_WORDS_US
from postroom.domain.upload import UPLOAD_LIFE_US, Upload
from postroom.work.files.file_name import NAMELESS, clean_name
from postroom.work.files.fit import MOST_FILE_BYTES, check_fit, refused
from postroom.work.files.given import GivenFile, read_given
from postroom.work.files.inspection import NAME_MISMATCH, Inspection
from postroom.work.files.media_type import agreed_type
from postroom.work.files.outbox_path import places
from postroom.work.files.ownership import check_usable

_NOT_FOUND: Final = "not_found"
_NO_LIMIT: Final = 2**62


@dataclass(frozen=True, slots=True, kw_only=True)
class _Source:
    """One file that is about to be taken over; `given` says what it was called."""

    given: GivenFile
    name: str
    size: int
    source: BinaryIO = field(default_factory=BytesIO)
    outbox: OutboxFile | None = None
    upload: Upload | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Taken:
    source: _Source
    draft: Draft
    media_type: str


@dataclass(frozen=True, slots=True, kw_only=True)
class _FieldNames:
    """What the caller called the bytes, the type and the name of one file."""

    content: str
    media_type: str
    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class FileTaking:
    """`outboxes` are the folders of single butlers, beside those for all."""

    store: FileStore
    record: UploadRecord
    open_outbox: OpenOutbox
    clock: Clock
    mint: Callable[[int], str]
    most_bytes_a_day: int
    outbox: tuple[Path, ...] = ()
    outboxes: Mapping[str, tuple[Path, ...]] = field(default_factory=dict)
    arrived_life_us: int = QUESTION_WORDS_US
    """How long what people send is kept: as long as their words."""

    async def take(
        self, given: object, *, owner: str, channel: str, can: Capabilities | None
    ) -> tuple[Attachment, ...]:
        """As the caller wrote them; raises ValidationError before anything is stored, or after it was thrown away."""
        wanted = read_given(given)
        if not wanted:
            return ()
        if can is not None and not can.files:
            check_fit([0] * len(wanted), channel, can)
        async with AsyncExitStack() as stack:
            known = await self._uploads(wanted, owner)
            sources = [self._source(one, owner, known, stack) for one in wanted]
            check_fit([one.size for one in sources], channel, can)
            fresh = [one for one in sources if one.upload is None]
            taken = [await stack.enter_async_context(self._drafted(one)) for one in fresh]
            stored = await self._store(taken, owner)
        made = dict(zip((id(one) for one in fresh), stored, strict=True))
        return tuple(_attachment(one, one.upload or made[id(one)]) for one in sources)

    async def take_one(
        self, source: BinaryIO, *, name: str, media_type: str | None, owner: str, key: str | None = None
    ) -> Upload:
        """A file from `POST /v1/uploads` or the command line."""
        given = GivenFile(field="file", name=clean_name(name), media_type=media_type)
        one = _Source(given=given, name=clean_name(name), size=0, source=source)
        async with self._drafted(one) as taken:
            return (await self._store([taken], owner, key))[0]

    async def take_arrived(self, content: bytes, *, name: str, owner: str, key: str) -> Upload:
        """What a person sent along. A name that promises another kind of file loses its ending."""
        clean = clean_name(name)
        try:
            return await self._arrived(content, clean, owner, key)
        except ValidationError as error:
            if not any(one.code == NAME_MISMATCH for one in error.fields):
                raise
        return await self._arrived(content, clean.rpartition(".")[0] or NAMELESS, owner, key)

    async def hand_on(self, files: Sequence[Attachment], owner: str) -> tuple[Attachment, ...]:
        """What a person sent, to the agent it is for: as an upload of its own, which it may send on."""
        if not files:
            return ()
        now_us = self.clock.now_us()
        new = [
            Upload(
                id=self.mint(now_us),
                owner=owner,
                sha256=one.sha256,
                name=one.name,
                media_type=one.media_type,
                size=one.size,
                created_at_us=now_us,
                expires_at_us=now_us + self.arrived_life_us,
                key=f"arrived:{one.upload_id}",
            )
            for one in files
        ]
        stored = await self.record.add(new, most_bytes=_NO_LIMIT, since_us=now_us)
        return tuple(one.attached() for one in stored)

    async def content(self, upload_id: str, owner: str) -> tuple[Upload, bytes] | None:
        """Of an upload of this owner's, as long as it is kept; another's is as unknown as one that never was."""
        found = [one for one in await self.record.find([upload_id]) if one.owner == owner]
        if not found or not await self.store.holds(found[0].attached()):
            return None
        return found[0], await self.store.read(found[0].attached())

    async def _arrived(self, content: bytes, name: str, owner: str, key: str) -> Upload:
        given = GivenFile(field="file", name=name)
        async with self._drafted(_Source(given=given, name=name, size=len(content), source=BytesIO(content))) as taken:
            return (await self._store([taken], owner, key, self.arrived_life_us))[0]

    async def _uploads(self, wanted: Sequence[GivenFile], owner: str) -> Mapping[str, Upload]:
        ids = [one.upload_id for one in wanted if one.upload_id]
        if len(set(ids)) != len(ids):
            raise refused("attachments", "names one upload twice", "upload_used")
        found = {one.id: one for one in await self.record.find(ids)} if ids else {}
        now_us = self.clock.now_us()
        for one in wanted:
            if one.upload_id:  # whether it is used already is for the ledger to say, which knows the key
                check_usable(found.get(one.upload_id), owner, now_us, field=one.at("upload_id"))
        return found

    def _source(self, given: GivenFile, owner: str, known: Mapping[str, Upload], stack: AsyncExitStack) -> _Source:
        if given.upload_id is not None:
            upload = known[given.upload_id]
            return _Source(given=given, name=given.name or upload.name, size=upload.size, upload=upload)
        if given.data is not None:
            return _Source(given=given, name=given.name or "", size=len(given.data), source=BytesIO(given.data))
        opened = self._opened(given, owner, stack)
        name = given.name or clean_name(given.path or "")
        return _Source(given=given, name=name, size=opened.size, source=opened.source, outbox=opened)

    def _opened(self, given: GivenFile, owner: str, stack: AsyncExitStack) -> OutboxFile:
        try:
            found = places(given.path or "", (*self.outboxes.get(owner, ()), *self.outbox))
            for place in found[:-1]:
                try:
                    return stack.enter_context(self.open_outbox(place.folder, place.parts))
                except OutboxRefusal as refusal:
                    if refusal.code != _NOT_FOUND:
                        raise
            return stack.enter_context(self.open_outbox(found[-1].folder, found[-1].parts))
        except OutboxRefusal as refusal:
            raise refused(given.at("path"), refusal.error, refusal.code) from None

    @asynccontextmanager
    async def _drafted(self, one: _Source) -> AsyncIterator[_Taken]:
        """Thrown away at the end, unless it was kept."""
        fields = _fields_of(one)
        inspection = Inspection(fields.content, MOST_FILE_BYTES)
        draft = await self.store.draft(one.source, inspection.look)
        try:
            if one.outbox is not None and (draft.size != one.outbox.size or not one.outbox.unchanged()):
                raise refused(
                    fields.content, "changed while it was read; try again when it is finished", "file_changed"
                )
            media_type = inspection.media_type(one.name, one.given.media_type, fields.media_type, fields.name)
            yield _Taken(source=one, draft=draft, media_type=media_type)
        finally:
            await self.store.discard(draft)

    async def _store(
        self, taken: Sequence[_Taken], owner: str, key: str | None = None, life_us: int = UPLOAD_LIFE_US
    ) -> Sequence[Upload]:
        """Bytes first: a row says that they are there."""
        if not taken:
            return ()
        now_us = self.clock.now_us()
        for one in taken:
            await self.store.keep(one.draft)
        uploads = [self._upload(one, owner, now_us, key, life_us) for one in taken]
        return await self.record.add(uploads, most_bytes=self.most_bytes_a_day, since_us=now_us - DAY_US)

    def _upload(self, one: _Taken, owner: str, now_us: int, key: str | None, life_us: int) -> Upload:
        return Upload(
            id=self.mint(now_us),
            owner=owner,
            sha256=one.draft.sha256,
            name=one.source.name,
            media_type=one.media_type,
            size=one.draft.size,
            created_at_us=now_us,
            expires_at_us=now_us + life_us,
            key=key,
        )


def _fields_of(one: _Source) -> _FieldNames:
    given = one.given
    if given.path is None and given.data is None:  # a form has one field, and the file is it
        return _FieldNames(content=given.field, media_type=given.field, name=given.field)
    content = given.at("path" if one.outbox else "data")
    name = given.at("name") if given.name else content
    return _FieldNames(content=content, media_type=given.at("media_type"), name=name)


def _attachment(one: _Source, upload: Upload) -> Attachment:
    """An upload may go under another name, and a text as another kind of text."""
    if one.upload is None:
        return upload.attached()
    media_type = agreed_type(upload.media_type, one.given.media_type)
    if media_type is None:
        told = f"is not what the file is ({upload.media_type})"
        raise refused(one.given.at("media_type"), told, "type_mismatch")
    return upload.attached(one.given.name, media_type)
