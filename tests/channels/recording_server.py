"""A provider made with aiohttp's own server, which shares nothing with the channels that speak to it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web


@dataclass(frozen=True, kw_only=True)
class SentFile:
    name: str | None
    media_type: str
    content: bytes


@dataclass(frozen=True, kw_only=True)
class Seen:
    method: str
    path: str
    headers: Mapping[str, str]
    fields: Mapping[str, str] = field(default_factory=dict)
    files: Mapping[str, SentFile] = field(default_factory=dict)
    json: Any = None
    content: bytes = b""


Answer = Callable[[Seen], tuple[int, Any]]


class Recorder:
    def __init__(self, answer: Answer) -> None:
        self.answer = answer
        self.seen: list[Seen] = []
        self.url = ""

    async def take(self, request: web.Request) -> web.Response:
        seen = await _read(request)
        self.seen.append(seen)
        status, told = self.answer(seen)
        return (
            web.Response(status=status, body=told)
            if isinstance(told, bytes)
            else web.json_response(told, status=status)
        )


async def _read(request: web.Request) -> Seen:
    fields: dict[str, str] = {}
    files: dict[str, SentFile] = {}
    if request.content_type in ("multipart/form-data", "application/x-www-form-urlencoded"):
        for name, value in (await request.post()).items():
            if isinstance(value, web.FileField):
                files[name] = SentFile(name=value.filename, media_type=value.content_type, content=value.file.read())
            else:
                fields[name] = str(value)
    content = b"" if fields or files else await request.read()
    told = await request.json() if request.content_type == "application/json" else None
    return Seen(
        method=request.method,
        path=request.path,
        headers=request.headers,
        fields=fields,
        files=files,
        json=told,
        content=content,
    )


@asynccontextmanager
async def recording(answer: Answer) -> AsyncIterator[Recorder]:
    recorder = Recorder(answer)
    application = web.Application(client_max_size=64 * 2**20)
    application.router.add_route("*", "/{path:.*}", recorder.take)
    runner = web.AppRunner(application)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    recorder.url = f"http://127.0.0.1:{runner.addresses[0][1]}"
    try:
        yield recorder
    finally:
        await runner.cleanup()
