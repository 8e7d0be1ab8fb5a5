"""An HTTP server whose answers arrive a few bytes at a time, as they may from any network."""

from __future__ import annotations

import asyncio
import json

from postroom.testing.servers.http import FakeServer, read_request, write_pieces


class Piecemeal(FakeServer):
    """Gives the next of its documents to each request; the last one repeats."""

    def __init__(self, *documents: object, status: int = 200, piece_bytes: int = 7, chunked: bool = False) -> None:
        super().__init__()
        self._documents = [json.dumps(document).encode() for document in documents]
        self._status = status
        self._piece_bytes = piece_bytes
        self._chunked = chunked
        self.pieces = 0

    async def converse(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while await read_request(reader):
            body = self._documents.pop(0) if len(self._documents) > 1 else self._documents[0]
            self.pieces += await write_pieces(writer, self._answer(body), self._piece_bytes)

    def _answer(self, body: bytes) -> bytes:
        length = "Transfer-Encoding: chunked" if self._chunked else f"Content-Length: {len(body)}"
        head = f"HTTP/1.1 {self._status} X\r\nContent-Type: application/json\r\n{length}\r\n\r\n".encode()
        if not self._chunked:
            return head + body
        middle = len(body) // 2
        return head + b"".join(b"%x\r\n%b\r\n" % (len(part), part) for part in (body[:middle], body[middle:], b""))
