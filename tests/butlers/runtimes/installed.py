"""Stand-ins for the programs that run a model, on a search path of their own, and a place to meet them."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from pathlib import Path

_ROOT = Path(__file__).parents[3]
_WAIT_SECONDS = 60.0


def install(
    folder: Path, names: Iterable[str] = ("codex", "claude", "gemini"), module: str = "tests.butlers.runtimes.stand_in"
) -> str:
    """The search path on which the named programs are found; each is the `main` of that module."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in names:
        program = folder / name
        begin = f"#!{sys.executable}\nimport sys\nsys.path[:0] = [{str(_ROOT)!r}]\n"
        program.write_text(f"{begin}from {module} import main\nmain()\n")
        program.chmod(0o755)
    return str(folder)


class MeetingPlace:
    """Programs come here by name and wait until the test lets them go."""

    def __init__(self) -> None:
        self.port = 0
        self.waiting: dict[str, asyncio.StreamWriter] = {}
        self.gone: set[str] = set()
        self._changed = asyncio.Condition()

    async def came(self, *names: str) -> None:
        async with asyncio.timeout(_WAIT_SECONDS), self._changed:
            await self._changed.wait_for(lambda: set(names) <= set(self.waiting))

    async def left(self, name: str) -> None:
        async with asyncio.timeout(_WAIT_SECONDS), self._changed:
            await self._changed.wait_for(lambda: name in self.gone)

    def is_here(self, name: str) -> bool:
        return name in self.waiting and name not in self.gone

    def let_go(self, name: str) -> None:
        self.waiting.pop(name).write(b"go\n")

    async def arrived(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        name = (await reader.readline()).decode().strip()
        async with self._changed:
            self.waiting[name] = writer
            self._changed.notify_all()
        await reader.read()  # until the program has left, or was killed
        writer.close()
        async with self._changed:
            self.gone.add(name)
            self._changed.notify_all()


@asynccontextmanager
async def meeting_place() -> AsyncIterator[MeetingPlace]:
    place = MeetingPlace()
    server = await asyncio.start_server(place.arrived, "127.0.0.1", 0)
    place.port = server.sockets[0].getsockname()[1]
    try:
        yield place
    finally:
        server.close()
