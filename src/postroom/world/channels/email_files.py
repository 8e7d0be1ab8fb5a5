"""Files in a mail: each a part of its own, under a name that every reader can read (RFC 2231)."""

from __future__ import annotations

import base64
from collections.abc import Iterator, Sequence
from typing import Final
from urllib.parse import quote

from postroom.domain.attachment import Attachment
from postroom.world.channels.carried_files import UNTYPED, plain_name, plain_type

_PIECE: Final = 60  # of a long name, so that no line grows beyond what mail servers take
_NOT_IN_BASE64: Final = ("multipart/", "message/")


def file_parts(boundary: str, files: Sequence[tuple[Attachment, bytes]]) -> Iterator[bytes]:
    for file, content in files:
        lines = [f"--{boundary}", f"Content-Type: {_type(file, content)}", *_disposition(plain_name(file))]
        yield "\r\n".join([*lines, "Content-Transfer-Encoding: base64", "", ""]).encode("ascii")
        yield base64.encodebytes(content).replace(b"\n", b"\r\n")
        yield b"\r\n"
    yield f"--{boundary}--\r\n".encode("ascii")


def _type(file: Attachment, content: bytes) -> str:
    kind = plain_type(file)
    if kind.startswith(_NOT_IN_BASE64):
        return UNTYPED
    if not kind.startswith("text/"):
        return kind
    return f'{kind}; charset="utf-8"' if _is_utf8(content) else UNTYPED


def _is_utf8(content: bytes) -> bool:
    try:
        content.decode()
    except UnicodeDecodeError:
        return False
    return True


def _disposition(name: str) -> Iterator[str]:
    if name.isascii() and len(name) <= _PIECE:
        quoted = name.replace("\\", "\\\\").replace('"', '\\"')
        yield f'Content-Disposition: attachment; filename="{quoted}"'
        return
    yield "Content-Disposition: attachment;"
    pieces = list(_pieces(quote(name, safe="")))
    if len(pieces) == 1:
        yield f" filename*=utf-8''{pieces[0]}"
        return
    for number, piece in enumerate(pieces):
        charset, end = ("" if number else "utf-8''"), ("" if number == len(pieces) - 1 else ";")
        yield f" filename*{number}*={charset}{piece}{end}"


def _pieces(encoded: str) -> Iterator[str]:
    """No piece ends inside of an encoded byte."""
    while len(encoded) > _PIECE:
        end = encoded.rfind("%", _PIECE - 2, _PIECE)
        end = _PIECE if end < 0 else end
        yield encoded[:end]
        encoded = encoded[end:]
    yield encoded
