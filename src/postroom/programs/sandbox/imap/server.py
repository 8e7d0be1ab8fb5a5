"""The sandbox's IMAP server: the mailbox in which what people write arrives."""

from __future__ import annotations

import asyncio
from typing import Any

from postroom.programs.sandbox.email_ledger import EmailLedger
from postroom.programs.sandbox.imap.connection import LONGEST_LINE, ImapConnection
from postroom.system.signal import Signal

_STOP_SECONDS = 5


class ImapServer:
    def __init__(self, ledger: EmailLedger, news: Signal) -> None:
        self._ledger = ledger
        self._news = news
        self._open: dict[asyncio.Task[Any], asyncio.StreamWriter] = {}
        self._server: asyncio.Server | None = None

    async def start(self, **where: Any) -> int:
        """`host` and `port`, or a bound `sock`. Answers with the port."""
        self._server = await asyncio.start_server(self._accept, limit=LONGEST_LINE, **where)
        return int(self._server.sockets[0].getsockname()[1])

    async def stop(self) -> None:
        if self._server is None:
            return
        self._server.close()
        ending = dict(self._open)
        for task, writer in ending.items():
            task.cancel()
            writer.transport.abort()
        if ending:
            await asyncio.wait(ending, timeout=_STOP_SECONDS)
        await self._server.wait_closed()
        self._server = None

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None  # noqa: S101 - the server calls this in one
        self._open[task] = writer
        try:
            await ImapConnection(reader, writer, self._ledger, self._news).serve()
        except asyncio.CancelledError:
            writer.transport.abort()  # the sandbox stops; the server's own task has nothing to say about it
        finally:
            del self._open[task]
