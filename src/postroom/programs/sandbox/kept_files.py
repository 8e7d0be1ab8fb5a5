"""The files that came with messages: their bytes once for each hash, the newest of them."""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Final

from aiohttp import web

from postroom.programs.sandbox.ledger_file import LedgerFile

MAX_UPLOAD_BYTES: Final = 128 * 1_048_576
KEPT_BYTES: Final = 512 * 1_048_576
SHOWN_TYPES: Final = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"})
FILE_TABLES: Final = """
create table if not exists sandbox_files (
    number integer primary key autoincrement,
    sha256 text not null unique,
    content blob not null
);
"""
_TRIM: Final = (
    "delete from sandbox_files where number in (select number from"
    " (select number, sum(length(content)) over (order by number desc) as total from sandbox_files) where total > ?)"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ArrivedFile:
    """As a client handed it over."""

    name: str
    media_type: str
    content: bytes = field(repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class SandboxFile:
    name: str
    media_type: str
    size: int
    sha256: str
    is_photo: bool = False
    """Shown as a picture by a service that has both."""
    sent_as: str = ""
    """Voice, video and the like, where a service tells them from documents."""

    def listing(self) -> dict[str, Any]:
        return {name: value for name, value in asdict(self).items() if name not in ("is_photo", "sent_as")}


class FileShelf:
    def __init__(self, file: LedgerFile) -> None:
        self._file = file

    def keep(self, given: ArrivedFile) -> SandboxFile:
        sha256 = hashlib.sha256(given.content).hexdigest()
        with self._file.writing() as connection:
            connection.execute("delete from sandbox_files where sha256 = ?", (sha256,))
            connection.execute("insert into sandbox_files (sha256, content) values (?, ?)", (sha256, given.content))
            connection.execute(_TRIM, (KEPT_BYTES,))
        return SandboxFile(name=given.name, media_type=given.media_type, size=len(given.content), sha256=sha256)

    def content(self, sha256: str) -> bytes | None:
        with self._file.reading() as connection:
            row = connection.execute("select content from sandbox_files where sha256 = ?", (sha256,)).fetchone()
        return None if row is None else bytes(row[0])

    def clear(self, connection: sqlite3.Connection) -> None:
        connection.execute("delete from sandbox_files")


def files_text(files: Iterable[SandboxFile]) -> str:
    return json.dumps([asdict(one) for one in files])


def files_of_text(text: str) -> tuple[SandboxFile, ...]:
    return files_of(json.loads(text))


def files_of(listed: Iterable[Mapping[str, Any]]) -> tuple[SandboxFile, ...]:
    return tuple(SandboxFile(**one) for one in listed)


def with_room(request: web.Request) -> web.Request:
    """The same request, which may be as large as a file."""
    return request.clone(client_max_size=MAX_UPLOAD_BYTES)


def given_file(value: web.FileField) -> ArrivedFile:
    return ArrivedFile(name=value.filename, media_type=value.content_type, content=value.file.read())


def shown(content: bytes, media_type: str) -> web.Response:
    """A picture as a picture, and anything else as bytes to save: nothing in it may run."""
    is_picture = media_type in SHOWN_TYPES
    headers = {
        "Content-Security-Policy": "default-src 'none'; sandbox",
        "X-Content-Type-Options": "nosniff",
        "Content-Disposition": "inline" if is_picture else "attachment",
    }
    kind = media_type if is_picture else "application/octet-stream"
    return web.Response(body=content, content_type=kind, headers=headers)


def picture_type(content: bytes) -> str:
    """What the first bytes say, where they are a picture's."""
    for sign, kind in _SIGNS:
        if content.startswith(sign):
            return kind
    return "image/webp" if content[:4] == b"RIFF" and content[8:12] == b"WEBP" else ""


_SIGNS: Final = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
)
