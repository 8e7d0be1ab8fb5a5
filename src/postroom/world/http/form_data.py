"""A form with files (RFC 7578), byte for byte the same whenever it is made of the same things."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True, kw_only=True)
class FormFile:
    """`sha256` is the content's own, so that no content can hold the line that ends it."""

    form_field: str
    name: str
    media_type: str
    sha256: str
    content: bytes = field(repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class MultipartForm:
    content_type: str
    content: bytes = field(repr=False)


def form_of(fields: Mapping[str, str], files: Sequence[FormFile]) -> MultipartForm:
    boundary = _boundary(fields, files)
    pieces = [*_texts(fields, boundary), *_contents(files, boundary), f"--{boundary}--\r\n".encode()]
    return MultipartForm(content_type=f"multipart/form-data; boundary={boundary}", content=b"".join(pieces))


def _boundary(fields: Mapping[str, str], files: Sequence[FormFile]) -> str:
    about = [*fields.items(), *((one.form_field, one.name, one.sha256) for one in files)]
    return f"postroom-{hashlib.sha256(repr(about).encode('utf-8', 'backslashreplace')).hexdigest()[:40]}"


def _texts(fields: Mapping[str, str], boundary: str) -> Iterator[bytes]:
    for name, text in fields.items():
        yield f'--{boundary}\r\nContent-Disposition: form-data; name="{name}"\r\n\r\n{text}\r\n'.encode()


def _contents(files: Sequence[FormFile], boundary: str) -> Iterator[bytes]:
    for one in files:
        yield (
            f"--{boundary}\r\n"
            f'Content-Disposition: form-data; name="{one.form_field}"; filename="{_quoted(one.name)}"\r\n'
            f"Content-Type: {one.media_type}\r\n\r\n"
        ).encode()
        yield one.content
        yield b"\r\n"


def _quoted(name: str) -> str:
    """In UTF-8 as it stands; RFC 7578 forbids the encoded form that other headers have."""
    line = "".join(one if one.isprintable() else "_" for one in name)
    return line.replace("\\", "\\\\").replace('"', '\\"')
