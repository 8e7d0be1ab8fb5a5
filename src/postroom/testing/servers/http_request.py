"""Read one HTTP request as a server sees it, byte by byte."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class TakenRequest:
    """What a channel sent; header names are in small letters."""

    method: str
    path: str
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    content: bytes = field(default=b"", repr=False)

    @property
    def body(self) -> Any:
        """Of a request in JSON."""
        return json.loads(self.content or b"{}")


async def read_head(reader: asyncio.StreamReader) -> TakenRequest:
    lines = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
    method, path, _ = lines[0].split(" ")
    pairs = (line.split(":", 1) for line in lines[1:] if line)
    return TakenRequest(method=method, path=path, headers={name.lower(): value.strip() for name, value in pairs})


async def read_request(reader: asyncio.StreamReader) -> TakenRequest:
    head = await read_head(reader)
    return await with_content(head, reader)


async def with_content(head: TakenRequest, reader: asyncio.StreamReader) -> TakenRequest:
    if head.headers.get("transfer-encoding", "").lower() == "chunked":
        content = await _chunks(reader)
    else:
        content = await reader.readexactly(int(head.headers.get("content-length", "0")))
    return TakenRequest(method=head.method, path=head.path, headers=head.headers, content=content)


async def _chunks(reader: asyncio.StreamReader) -> bytes:
    collected = bytearray()
    while size := int((await reader.readuntil(b"\r\n")).split(b";")[0], 16):
        collected += await reader.readexactly(size)
        await reader.readexactly(2)
    await reader.readuntil(b"\r\n")
    return bytes(collected)
