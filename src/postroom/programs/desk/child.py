"""The window's process, seen from the server."""

from __future__ import annotations

import asyncio
import contextlib
import json
import subprocess
import sys
import threading
from typing import Any

from postroom.programs.desk import wire

_CLOSE_SECONDS = 2.0


class WindowProcess:
    """
    Started at once and told what to show a little later, so that both sides prepare side by side.

    It is started in a session of its own: a message without a question may
    outlive the server by some seconds, and so may text copied from the window.
    """

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._events: asyncio.Queue[dict[str, Any] | None] = asyncio.Queue()
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-m", "postroom.programs.desk.window"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
            creationflags=getattr(subprocess, "CREATE_NO_WINDOW", 0),
        )
        self._gone = threading.Event()
        threading.Thread(target=self._read, daemon=True).start()

    def show(self, sheet: wire.Sheet) -> None:
        self._write(wire.encode_sheet(sheet))

    async def event(self) -> dict[str, Any] | None:
        """The next thing the window says; None once it has nothing more to say."""
        return await self._events.get()

    def close(self) -> None:
        """Asks the window to go and makes sure that it does. Returns at once, so it is safe while being cancelled."""
        threading.Thread(target=self._see_it_out, daemon=True).start()

    def kill(self) -> None:
        self._process.kill()

    def _write(self, line: bytes) -> None:
        stdin = self._process.stdin
        with contextlib.suppress(OSError, ValueError):
            if stdin is not None:
                stdin.write(line)
                stdin.flush()

    def _read(self) -> None:
        for line in self._process.stdout or ():
            with contextlib.suppress(ValueError):
                self._heard(json.loads(line))
        self._process.wait()
        self._heard(None)

    def _heard(self, event: dict[str, Any] | None) -> None:
        if event is None or event.get("event") in ("ended", "failed"):
            self._gone.set()
        with contextlib.suppress(RuntimeError):  # the server's loop has ended before the window
            self._loop.call_soon_threadsafe(self._events.put_nowait, event)

    def _see_it_out(self) -> None:
        self._write(wire.encode({"close": True}))
        if not self._gone.wait(_CLOSE_SECONDS):
            self._process.kill()
