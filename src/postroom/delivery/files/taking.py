"""Take files over from a caller: looked at, copied, kept under their hash, and from then on uploads of that caller."""

from __future__ import annotations

import base64
import binascii
import json
import re
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from io import BytesIO
from pathlib import Path
from typing import BinaryIO, Final

from postroom.delivery.files.folder import (
    Draft,
    FolderFiles,
    OpenedFile,
    OutboxRefusal,
    StoredUploads,
    opened_below,
    places,
)
from postroom.delivery.files.kinds import (
    NAMELESS,
    SecretScan,
    Sniffer,
    agreed_type,
    clean_name,
    is_media_type,
    name_contradicts,
)
from postroom.delivery.model import NewDelivery
from postroom.kernel.running.clock import Clock
from postroom.kernel.values.errors import FieldError, InternalError, ValidationError
from postroom.kernel.values.fields import Fields
from postroom.kernel.values.ids import SECOND_US, is_uuid
from postroom.message.attachment import (
    CLAIM_US,
    UPLOAD_LIFE_US,
    Attachment,
    Upload,
)
from postroom.message.channel import Capabilities

MOST_FILES: Final = 10
MOST_FILE_BYTES: Final = 50 * 1000 * 1000
_MOST_FILES_BYTES: Final = 100 * 1000 * 1000
MOST_DATA_BYTES: Final = 256 * 1024
_ATTACHMENTS: Final = "attachments"
_NAME_MISMATCH: Final = "name_mismatch"
_NOT_FOUND: Final = "not_found"
_NO_LIMIT: Final = 2**62
DAY_US: Final = 86_400 * SECOND_US
_QUESTION_WORDS_US: Final = 30 * DAY_US


@dataclass(frozen=True, slots=True, kw_only=True)
class FileTaking:
    """`outboxes` are the folders of single butlers, beside those for all."""

    store: FolderFiles
    record: StoredUploads
    clock: Clock
    mint: Callable[[int], str]
    most_bytes_a_day: int
    outbox: tuple[Path, ...] = ()
    outboxes: Mapping[str, tuple[Path, ...]] = field(default_factory=dict)
    arrived_life_us: int = _QUESTION_WORDS_US
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
        given = _GivenFile(field="file", name=clean_name(name), media_type=media_type)
        one = _Source(given=given, name=clean_name(name), size=0, source=source)
        async with self._drafted(one) as taken:
            return (await self._store([taken], owner, key))[0]

    async def take_arrived(self, content: bytes, *, name: str, owner: str, key: str) -> Upload:
        """What a person sent along. A name that promises another kind of file loses its ending."""
        clean = clean_name(name)
        try:
            return await self._arrived(content, clean, owner, key)
        except ValidationError as error:
            if not any(one.code == _NAME_MISMATCH for one in error.fields):
                raise
        return await self._arrived(content, clean.rpartition(".")[0] or NAMELESS, owner, key)

    async def hand_on(self, files: Sequence[Attachment], owner: str) -> tuple[Attachment, ...]:
        """What a person sent, to the agent it is for: as an upload of its own, which it may send on."""
        if not files:
            return ()
        now_us, life_us = self.clock.now_us(), self.arrived_life_us
        new = [self._upload(one, owner, now_us, f"arrived:{one.upload_id}", life_us) for one in files]
        stored = await self.record.add(new, most_bytes=_NO_LIMIT, since_us=now_us)
        return tuple(one.attached() for one in stored)

    async def content(self, upload_id: str, owner: str) -> tuple[Upload, bytes] | None:
        """Of an upload of this owner's, as long as it is kept; another's is as unknown as one that never was."""
        found = [one for one in await self.record.find([upload_id]) if one.owner == owner]
        if not found or not await self.store.holds(found[0].attached()):
            return None
        return found[0], await self.store.read(found[0].attached())

    async def _arrived(self, content: bytes, name: str, owner: str, key: str) -> Upload:
        given = _GivenFile(field="file", name=name)
        async with self._drafted(_Source(given=given, name=name, size=len(content), source=BytesIO(content))) as taken:
            return (await self._store([taken], owner, key, self.arrived_life_us))[0]

    async def _uploads(self, wanted: Sequence[_GivenFile], owner: str) -> Mapping[str, Upload]:
        ids = [one.upload_id for one in wanted if one.upload_id]
        if len(set(ids)) != len(ids):
            raise _refused("attachments", "names one upload twice", "upload_used")
        found = {one.id: one for one in await self.record.find(ids)} if ids else {}
        now_us = self.clock.now_us()
        for one in wanted:
            if one.upload_id:  # whether it is used already is for the ledger to say, which knows the key
                _check_usable(found.get(one.upload_id), owner, now_us, field=one.at("upload_id"))
        return found

    def _source(self, given: _GivenFile, owner: str, known: Mapping[str, Upload], stack: AsyncExitStack) -> _Source:
        if given.upload_id is not None:
            upload = known[given.upload_id]
            return _Source(given=given, name=given.name or upload.name, size=upload.size, upload=upload)
        if given.data is not None:
            return _Source(given=given, name=given.name or "", size=len(given.data), source=BytesIO(given.data))
        opened = self._opened(given, owner, stack)
        name = given.name or clean_name(given.path or "")
        return _Source(given=given, name=name, size=opened.size, source=opened.source, outbox=opened)

    def _opened(self, given: _GivenFile, owner: str, stack: AsyncExitStack) -> OpenedFile:
        try:
            found = places(given.path or "", (*self.outboxes.get(owner, ()), *self.outbox))
            for place in found[:-1]:
                try:
                    return stack.enter_context(opened_below(place.folder, place.parts))
                except OutboxRefusal as refusal:
                    if refusal.code != _NOT_FOUND:
                        raise
            return stack.enter_context(opened_below(found[-1].folder, found[-1].parts))
        except OutboxRefusal as refusal:
            raise _refused(given.at("path"), refusal.error, refusal.code) from None

    @asynccontextmanager
    async def _drafted(self, one: _Source) -> AsyncIterator[_Taken]:
        """Thrown away at the end, unless it was kept."""
        fields = _fields_of(one)
        inspection = _Inspection(fields.content, MOST_FILE_BYTES)
        draft = await self.store.draft(one.source, inspection.look)
        try:
            if one.outbox is not None and (draft.size != one.outbox.size or not one.outbox.unchanged()):
                raise _refused(
                    fields.content, "changed while it was read; try again when it is finished", "file_changed"
                )
            media_type = inspection.media_type(one.name, one.given.media_type, fields.media_type, fields.name)
            yield _Taken(draft=draft, sha256=draft.sha256, name=one.name, media_type=media_type, size=draft.size)
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

    def _upload(self, one: _Taken | Attachment, owner: str, now_us: int, key: str | None, life_us: int) -> Upload:
        return Upload(
            id=self.mint(now_us),
            owner=owner,
            sha256=one.sha256,
            name=one.name,
            media_type=one.media_type,
            size=one.size,
            created_at_us=now_us,
            expires_at_us=now_us + life_us,
            key=key,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Source:
    """One file that is about to be taken over; `given` says what it was called."""

    given: _GivenFile
    name: str
    size: int
    source: BinaryIO = field(default_factory=BytesIO)
    outbox: OpenedFile | None = None
    upload: Upload | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Taken:
    """A file as it lies in its draft."""

    draft: Draft
    sha256: str
    name: str
    media_type: str
    size: int


@dataclass(frozen=True, slots=True, kw_only=True)
class _FieldNames:
    """What the caller called the bytes, the type and the name of one file."""

    content: str
    media_type: str
    name: str


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
        raise _refused(one.given.at("media_type"), told, "type_mismatch")
    return upload.attached(one.given.name, media_type)


class _Inspection:
    """`field` is what the caller called the file."""

    def __init__(self, field: str, most_bytes: int) -> None:
        self._field = field
        self._most = most_bytes
        self._size = 0
        self._sniffer = Sniffer()
        self._secrets = SecretScan()

    def look(self, chunk: bytes) -> None:
        """Raises ValidationError as soon as one byte too many, or a secret, is seen."""
        self._size += len(chunk)
        if self._size > self._most:
            raise _refused(self._field, f"has more than {self._most:,} bytes", "too_large")
        if (secret := self._secrets.feed(chunk)) is not None:
            raise _refused(self._field, f"looks like {secret}, which is not sent to anybody", "secret_content")
        self._sniffer.feed(chunk)

    def media_type(self, name: str, declared: str | None, type_field: str, name_field: str) -> str:
        """A declared type that the bytes contradict is refused, and so is a name that promises something else."""
        if self._size == 0:
            raise _refused(self._field, "is empty", "empty_file")
        found = self._sniffer.found(name)
        agreed = agreed_type(found, declared)
        if agreed is None:
            raise _refused(type_field, f"is {declared}, but the file is {found}", "type_mismatch")
        if name_contradicts(name, found):
            raise _refused(name_field, f"is called {name}, but the file is {found}", _NAME_MISMATCH)
        return agreed


# -- What acceptance asks: the file is there, it is the sender's, and it is not too old ---


@dataclass(frozen=True, slots=True, kw_only=True)
class CarriedFiles:
    """What acceptance asks about the files of a message, and only of one that has any."""

    record: StoredUploads
    store: FolderFiles
    clock: Clock

    async def check(self, new: NewDelivery) -> None:
        """Raises ValidationError for files that this message cannot have."""
        found = {one.id: one for one in await self.record.find([one.upload_id for one in new.attachments])}
        for index, one in enumerate(new.attachments):
            await self._check(one, found.get(one.upload_id), new, f"{_ATTACHMENTS}[{index}]")

    async def claim(self, new: NewDelivery) -> None:
        """Checked, and taken for this delivery alone; the same key may take them again."""
        await self.check(new)
        ids = [one.upload_id for one in new.attachments]
        if not await self.record.claim(ids, new.origin_butler, new.idempotency_key, self.clock.now_us()):
            raise _used(_ATTACHMENTS)

    async def _check(self, one: Attachment, upload: Upload | None, new: NewDelivery, field: str) -> None:
        now_us = self.clock.now_us()
        upload = _check_usable(upload, new.origin_butler, now_us, field=f"{field}.upload_id")
        # The delivery of one taken long ago may never have been written; the ledger has the last word.
        abandoned = upload.used_at_us is not None and upload.used_at_us + CLAIM_US <= now_us
        if upload.used_by not in (None, new.idempotency_key) and not abandoned:
            raise _used(f"{field}.upload_id")
        if (one.sha256, one.size) != (upload.sha256, upload.size):
            raise _refused(field, "is not the file that was uploaded", "upload_mismatch")
        if clean_name(one.name) != one.name:
            raise _refused(f"{field}.name", "is no name of a file", "invalid_name")
        if agreed_type(upload.media_type, one.media_type) != one.media_type:
            told = f"is not what the file is ({upload.media_type})"
            raise _refused(f"{field}.media_type", told, "type_mismatch")
        if not await self.store.holds(one):
            raise InternalError(f"the bytes of {field} are gone; upload it again")


def _used(field: str) -> ValidationError:
    return _refused(field, "has gone with another message; upload it again", "upload_used")


def _check_usable(upload: Upload | None, owner: str, now_us: int, *, field: str) -> Upload:
    """Another caller's upload is as unknown as one that never was."""
    if upload is None or upload.owner != owner:
        raise _refused(field, "is not an upload of yours", "unknown_upload")
    if upload.used_by is None and upload.expires_at_us <= now_us:
        raise _refused(field, "has expired; upload it again", "upload_expired")
    return upload


# -- How many files, and how large: ours for every message, and the channel's own ---


def check_fit(sizes: Sequence[int], channel: str, can: Capabilities | None) -> None:
    """Raises ValidationError; `can` is None while the channel is not chosen yet."""
    if not sizes:
        return
    if can is not None and not can.files:
        raise _refused(_ATTACHMENTS, f"{channel} carries no files", "no_files")
    most, each, together = _limits(can)
    where = f" on {channel}" if can is not None else ""
    if len(sizes) > most:
        raise _refused(_ATTACHMENTS, f"at most {most} files go with one message{where}", "too_many_files")
    for index, size in enumerate(sizes):
        if size > each:
            told = f"has {size:,} bytes; at most {each:,} are carried{where}"
            raise _refused(f"{_ATTACHMENTS}[{index}]", told, "too_large")
    if sum(sizes) > together:
        told = f"have {sum(sizes):,} bytes together; at most {together:,} are carried{where}"
        raise _refused(_ATTACHMENTS, told, "too_large")


def _limits(can: Capabilities | None) -> tuple[int, int, int]:
    own = (can.most_files, can.most_file_bytes, can.most_files_bytes) if can else (None, None, None)
    ours = (MOST_FILES, MOST_FILE_BYTES, _MOST_FILES_BYTES)
    most, each, together = (min(limit, theirs or limit) for limit, theirs in zip(ours, own, strict=True))
    return most, each, together


def _refused(field: str, error: str, code: str) -> ValidationError:
    return ValidationError.of([FieldError(field, error, code)])


# -- `attachments` as callers write them, read field by field ---

_SOURCES: Final = ("path", "upload_id", "data")
_FIELDS: Final = (*_SOURCES, "name", "media_type")
_MOST_ENCODED: Final = MOST_DATA_BYTES * 4 // 3 + 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class _GivenFile:
    """Exactly one of `path`, `upload_id` and `data` is set."""

    field: str
    path: str | None = None
    upload_id: str | None = None
    data: bytes | None = None
    name: str | None = None
    media_type: str | None = None

    def at(self, name: str) -> str:
        return f"{self.field}.{name}"


def read_given(given: object) -> tuple[_GivenFile, ...]:
    """Raises ValidationError naming each field as it was written; nothing and an empty list are no files."""
    if isinstance(given, str):
        given = _decoded(given)
    if given is None:
        return ()
    if not isinstance(given, list | tuple):
        raise _refused(_ATTACHMENTS, "must be a list of objects with path, upload_id or data", "list_required")
    if len(given) > MOST_FILES:
        raise _refused(_ATTACHMENTS, f"at most {MOST_FILES} files go with one message", "too_many_files")
    top = Fields({})
    found = [_one(Fields(one, f"{_ATTACHMENTS}[{index}]", top.complaints)) for index, one in enumerate(given)]
    top.finish()
    return tuple(one for one in found if one)


def _decoded(text: str) -> object:
    """Some runtimes send the list as a JSON string."""
    try:
        return json.loads(text) if text.strip() else None
    except (ValueError, RecursionError):
        return text


def _one(fields: Fields) -> _GivenFile | None:
    before = len(fields.complaints)
    fields.refuse_unknown(_FIELDS)
    given = [name for name in _SOURCES if fields.has(name)]
    if len(given) != 1:
        fields.complain(None, "must have exactly one of path, upload_id and data", "one_source")
        return None
    path = fields.text("path", maximum=4096, required=False) or None
    upload_id = fields.text("upload_id", maximum=64, required=False).strip().lower() or None
    if upload_id is not None and not is_uuid(upload_id):
        fields.complain("upload_id", "is not the id of an upload", "unknown_upload")
    name = fields.optional_text("name", maximum=1000)
    if fields.has("data") and name is None and len(fields.complaints) == before:
        fields.complain("name", "is required with data", "required")
    data = _data(fields) if fields.has("data") else None
    media_type = _media_type(fields)
    if len(fields.complaints) > before:
        return None
    return _GivenFile(
        field=fields.path(None),
        path=path,
        upload_id=upload_id,
        data=data,
        name=clean_name(name) if name else None,
        media_type=media_type,
    )


def _data(fields: Fields) -> bytes | None:
    text = fields.raw("data")
    if not isinstance(text, str):
        fields.complain("data", "must be the bytes in base64", "base64_required")
        return None
    if len(text) > _MOST_ENCODED:
        _too_large(fields)
        return None
    try:
        data = base64.b64decode("".join(text.split()), validate=True)
    except (binascii.Error, ValueError):
        fields.complain("data", "is not base64", "base64_required")
        return None
    if len(data) > MOST_DATA_BYTES:
        _too_large(fields)
    return data


def _too_large(fields: Fields) -> None:
    fields.complain("data", f"holds more than {MOST_DATA_BYTES:,} bytes; give a path or upload it", "too_large")


def _media_type(fields: Fields) -> str | None:
    """Parameters such as a charset say nothing about what a file is."""
    text = (fields.optional_text("media_type", maximum=200) or "").partition(";")[0].strip().lower()
    if text and not is_media_type(text):
        fields.complain("media_type", "is not a media type such as image/png", "media_type_required")
    return text or None


# -- How long things stay before they leave the ledger ---

_AUDIT_US: Final = 365 * DAY_US
_QUESTION_US: Final = 365 * DAY_US  # who was asked, when, and how it ended
_UNITS_US: Final = {"h": 3600 * SECOND_US, "d": DAY_US, "w": 7 * DAY_US}
_SPAN: Final = re.compile(r"(\d{1,6})\s*([hdw])", re.ASCII)


@dataclass(frozen=True, slots=True, kw_only=True)
class Retention:
    """
    What was settled before the first moment is removed.

    Of questions that ended before `words_before_us` the words are erased; older ones go altogether.
    """

    settled_before_us: int
    now_us: int
    words_before_us: int = 0
    questions_before_us: int = 0
    audit_before_us: int = 0  # who did what


def retention(now_us: int, settled_us: int, words_us: int = _QUESTION_WORDS_US, audit_us: int = _AUDIT_US) -> Retention:
    return Retention(
        settled_before_us=now_us - settled_us,
        now_us=now_us,
        words_before_us=now_us - words_us,
        questions_before_us=now_us - max(words_us, _QUESTION_US),
        audit_before_us=now_us - audit_us,
    )


def read_span(text: str) -> int:
    """`90d`, `12h` or `4w` in microseconds; raises ValueError on anything else."""
    found = _SPAN.fullmatch(text.strip().lower())
    if found is None or int(found[1]) == 0:
        raise ValueError("it is a whole number with its unit: 12h, 90d or 4w")
    return int(found[1]) * _UNITS_US[found[2]]
