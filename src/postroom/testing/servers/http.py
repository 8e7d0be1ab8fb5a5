"""An HTTP server that plays a script over a real socket."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from postroom.testing.servers.fake_server import FakeProvider
from postroom.testing.servers.http_reply import Reply, Trouble, raw_reply
from postroom.testing.servers.http_request import TakenRequest, read_head, with_content
from postroom.testing.servers.written import write_pieces

Aside = Callable[[TakenRequest], Reply | None]
HttpStep = Reply | Trouble


class HttpProvider(FakeProvider):
    """
    Plays one step for each message; the last step repeats.

    `aside` answers what is no message (opening a conversation, reading back): that is neither counted nor scripted.
    Where a step comes before the content it is asked with the head alone.
    """

    def __init__(self, *script: HttpStep, aside: Aside | None = None) -> None:
        super().__init__()
        self.script: list[HttpStep] = list(script) or [raw_reply(200, b"{}")]
        self.requests: list[TakenRequest] = []
        self.asides: list[TakenRequest] = []
        self.aside = aside

    def behave(self, script: HttpStep, *then: HttpStep) -> None:
        self.script = [script, *then]

    @property
    def messages(self) -> list[TakenRequest]:
        return self.requests

    @property
    def asked_aside(self) -> int:
        return len(self.asides)

    async def converse(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if self.script[0] is Trouble.RESET_BEFORE_READING and self.aside is None:
            await reader.readexactly(1)  # so that the client surely has begun to write
            self._reset_at_once(writer)
            return
        while await self._exchange(reader, writer):
            pass

    async def _exchange(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        """Whether the conversation goes on."""
        head = await read_head(reader)
        step = self.script[0]
        if step is Trouble.RESET_BEFORE_READING and not self._is_aside(head):
            self._reset_at_once(writer)
            return False
        if early := isinstance(step, Reply) and step.early and not self._is_aside(head):
            await self._write(step, writer)
        request = await with_content(head, reader)
        if self.aside is not None and (answer := self.aside(request)) is not None:
            self.asides.append(request)
            return await self._write(answer, writer)
        self.requests.append(request)
        step = self.script.pop(0) if len(self.script) > 1 else self.script[0]
        self.arrived.set()
        return early or await self._play(step, writer)

    def _reset_at_once(self, writer: asyncio.StreamWriter) -> None:
        self.arrived.set()
        self.reset(writer)

    def _is_aside(self, head: TakenRequest) -> bool:
        return self.aside is not None and self.aside(head) is not None

    async def _play(self, step: HttpStep, writer: asyncio.StreamWriter) -> bool:
        match step:
            case Reply():
                return await self._write(step, writer)
            case Trouble.REDIRECT:
                where = f"Location: http://localhost:{self.port}/elsewhere\r\n"
                return await self._write(raw_reply(307, b"", headers=where), writer)
            case Trouble.READ_THEN_HANG:
                await self.hang()
            case Trouble.READ_THEN_RESET:
                self.reset(writer)
            case _:
                writer.close()
        return False

    async def _write(self, answer: Reply, writer: asyncio.StreamWriter) -> bool:
        if answer.hold:
            await self.release.wait()
        await write_pieces(writer, answer.raw, answer.piece_bytes or len(answer.raw), answer.pause_seconds)
        return not answer.close
