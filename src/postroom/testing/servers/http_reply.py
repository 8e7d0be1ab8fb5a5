"""Answers of an HTTP server, written out to the last byte so that a script can spoil any of them."""

from __future__ import annotations

import gzip
import json
from dataclasses import dataclass, replace
from enum import Enum, auto
from functools import lru_cache


class Trouble(Enum):
    """Instead of an answer."""

    RESET_BEFORE_READING = auto()
    READ_THEN_HANG = auto()
    READ_THEN_RESET = auto()
    READ_THEN_CLOSE = auto()
    REDIRECT = auto()  # to the same server by another name of this machine


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """
    `hold`: not before the test releases it. `early`: after the headers, before the body has been read.

    `piece_bytes` with `pause_seconds`: in pieces of this size, so long apart.
    """

    raw: bytes
    hold: bool = False
    close: bool = False
    early: bool = False
    piece_bytes: int = 0
    pause_seconds: float = 0.0


def reply(status: int, told: object, *, headers: str = "", hold: bool = False, close: bool = False) -> Reply:
    return raw_reply(status, json.dumps(told).encode(), headers=headers, hold=hold, close=close)


def raw_reply(status: int, content: bytes, *, headers: str = "", hold: bool = False, close: bool = False) -> Reply:
    """`headers` are whole lines, each ending in CRLF."""
    head = f"HTTP/1.1 {status} X\r\nContent-Type: application/json\r\nContent-Length: {len(content)}\r\n{headers}\r\n"
    return Reply(raw=head.encode() + content, hold=hold, close=close)


def with_header(answer: Reply, line: str) -> Reply:
    head, _, content = answer.raw.partition(b"\r\n\r\n")
    return replace(answer, raw=head + b"\r\n" + line.encode() + b"\r\n\r\n" + content)


def with_length(answer: Reply, length: int) -> Reply:
    """The same content under a length that is not its own."""
    head, _, content = answer.raw.partition(b"\r\n\r\n")
    lines = [line for line in head.split(b"\r\n") if not line.lower().startswith(b"content-length:")]
    return replace(answer, raw=b"\r\n".join([*lines, b"Content-Length: %d" % length]) + b"\r\n\r\n" + content)


def content_of(answer: Reply) -> bytes:
    return answer.raw.partition(b"\r\n\r\n")[2]


def cut_in_head(answer: Reply) -> Reply:
    head = answer.raw.partition(b"\r\n\r\n")[0]
    return replace(answer, raw=head[: len(head) * 2 // 3], close=True)


def cut_in_content(answer: Reply) -> Reply:
    content = content_of(answer) or b" "
    return replace(answer, raw=answer.raw[: -max(len(content) // 2, 1)], close=True)


def old_protocol(answer: Reply) -> Reply:
    """As HTTP/1.0 did it: the end of the connection is the end of the answer."""
    status = answer.raw.split(b" ", 2)[1]
    return replace(answer, raw=b"HTTP/1.0 %b X\r\n\r\n%b" % (status, content_of(answer)), close=True)


def after_early_hints(answer: Reply) -> Reply:
    hints = b"HTTP/1.1 103 Early Hints\r\nLink: </style.css>; rel=preload\r\n\r\n"
    return replace(answer, raw=hints + answer.raw)


@lru_cache(maxsize=32)
def swollen(answer: Reply, extra_bytes: int) -> Reply:
    """A small answer on the wire that unpacks to a huge one, with what matters at its end."""
    packed = gzip.compress(b" " * extra_bytes + content_of(answer))
    status = int(answer.raw.split(b" ", 2)[1])
    return raw_reply(status, packed, headers="Content-Encoding: gzip\r\n", close=True)
