"""`attachments` as callers write them, read field by field."""

from __future__ import annotations

import base64
import binascii
import json
from dataclasses import dataclass
from typing import Final

from postroom.domain.fields import Fields
from postroom.domain.ids import is_uuid
from postroom.work.files.file_name import clean_name
from postroom.work.files.fit import ATTACHMENTS, MOST_DATA_BYTES, MOST_FILES, refused
from postroom.work.files.media_type import is_media_type

_SOURCES: Final = ("path", "upload_id", "data")
_FIELDS: Final = (*_SOURCES, "name", "media_type")
_MOST_ENCODED: Final = MOST_DATA_BYTES * 4 // 3 + 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class GivenFile:
    """Exactly one of `path`, `upload_id` and `data` is set."""

    field: str
    path: str | None = None
    upload_id: str | None = None
    data: bytes | None = None
    name: str | None = None
    media_type: str | None = None

    def at(self, name: str) -> str:
        return f"{self.field}.{name}"


def read_given(given: object) -> tuple[GivenFile, ...]:
    """Raises ValidationError naming each field as it was written; nothing and an empty list are no files."""
    if isinstance(given, str):
        given = _decoded(given)
    if given is None:
        return ()
    if not isinstance(given, list | tuple):
        raise refused(ATTACHMENTS, "must be a list of objects with path, upload_id or data", "list_required")
    if len(given) > MOST_FILES:
        raise refused(ATTACHMENTS, f"at most {MOST_FILES} files go with one message", "too_many_files")
    top = Fields({})
    found = [_one(Fields(one, f"{ATTACHMENTS}[{index}]", top.complaints)) for index, one in enumerate(given)]
    top.finish()
    return tuple(one for one in found if one)


def _decoded(text: str) -> object:
    """Some runtimes send the list as a JSON string."""
    try:
        return json.loads(text) if text.strip() else None
    except (ValueError, RecursionError):
        return text


def _one(fields: Fields) -> GivenFile | None:
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
    return GivenFile(
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
