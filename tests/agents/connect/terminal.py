"""A program with a terminal of its own, as a person would start it."""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import os
import pty
import re
import signal
import struct
import termios
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

_STEERING = re.compile(r"\x1b\[[0-9;?<>=]*[A-Za-z]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)|\x1b[()][A-Z0-9]|\x1b[=>78]")
_WHERE = b"\x1b[6n"


class Terminal:
    def __init__(self, ours: int) -> None:
        self._ours = ours
        self._seen = b""

    def read(self) -> None:
        with contextlib.suppress(OSError):
            new = os.read(self._ours, 65536)
            self._seen += new
            if _WHERE in new:  # programs that draw ask where they are
                os.write(self._ours, b"\x1b[1;1R")

    @property
    def drawn(self) -> bytes:
        """Everything the program wrote, steering and all."""
        return self._seen

    @property
    def text(self) -> str:
        return plain(self._seen)


def plain(drawn: bytes) -> str:
    """The words, in the order in which they were drawn."""
    return " ".join(_STEERING.sub(" ", drawn.decode("utf-8", "replace")).split())


@asynccontextmanager
async def terminal(
    words: Sequence[str], folder: Path, environment: Mapping[str, str], *, rows: int = 40, columns: int = 120
) -> AsyncIterator[Terminal]:
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
    process = await asyncio.create_subprocess_exec(
        *words, cwd=folder, env=dict(environment), stdin=theirs, stdout=theirs, stderr=theirs, start_new_session=True
    )
    os.close(theirs)
    shown, loop = Terminal(ours), asyncio.get_running_loop()
    loop.add_reader(ours, shown.read)
    try:
        yield shown
    finally:
        loop.remove_reader(ours)
        os.close(ours)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)  # what it started, too: some clients are started by a small program
        await process.wait()
