"""How fast a popup appears, and how fast its answer is back: a real window on a private display."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

from anyio.from_thread import BlockingPortal, start_blocking_portal
from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client

from benchmarks.page import made, verdict, write_part

SOURCE = Path(__file__).parents[1] / "src"
ROUNDS = 20
SHOWN_TARGET_MS = 300
ANSWERED_TARGET_MS = 50


def main() -> None:
    with (
        tempfile.TemporaryDirectory() as folder,
        display() as environ,
        start_blocking_portal() as portal,
        portal.wrap_async_context_manager(connected(environ, folder)) as session,
    ):
        rounds = [one_round(portal, session, environ, number) for number in range(ROUNDS + 1)][1:]
    shown, answered = zip(*rounds, strict=True)
    write_part(
        "desk",
        [
            made(f"{ROUNDS} windows one after the other, Tk under Xvfb with a window manager"),
            "",
            "| what | p50, ms | p95, ms | target, p95 |",
            "|---|--:|--:|--:|",
            line("call → the window is visible", shown, SHOWN_TARGET_MS),
            line("Return is pressed → the call has the answer", answered, ANSWERED_TARGET_MS),
        ],
    )


def one_round(
    portal: BlockingPortal, session: ClientSession, environ: dict[str, str], number: int
) -> tuple[float, float]:
    """Milliseconds to the window and to the answer, the runs of xdotool that see and press included."""
    title = f"Round {number}"
    started = time.perf_counter()
    call: Future[Any] = portal.start_task_soon(session.call_tool, "notify", {"message": "Fast?", "title": title})
    while not xdotool(environ, "search", "--onlyvisible", "--name", f"^{title}$"):
        time.sleep(0.002)
    shown = time.perf_counter() - started
    while xdotool(environ, "getactivewindow", "getwindowname") != title:
        time.sleep(0.005)
    xdotool(environ, "type", "yes")
    pressed = time.perf_counter()
    xdotool(environ, "key", "Return")
    [content] = call.result(10).content
    answered = time.perf_counter() - pressed
    assert content.text == "User response: yes", content.text
    return shown * 1000, answered * 1000


def line(what: str, milliseconds: tuple[float, ...], target: int) -> str:
    cuts = statistics.quantiles(milliseconds, n=20, method="inclusive")
    return f"| {what} | {cuts[9]:.0f} | {cuts[18]:.0f} | {target} ms, {verdict(cuts[18] <= target)} |"


@asynccontextmanager
async def connected(environ: dict[str, str], folder: str) -> Any:
    own = {"PYTHONPATH": str(SOURCE), "POSTROOM_HOME": folder, "VOICEMODE_BASE_DIR": f"{folder}/voicemode"}
    server = StdioServerParameters(
        command=sys.executable, args=["-P", "-m", "postroom.desk"], env={**environ, **own}, cwd=folder
    )
    async with stdio_client(server) as (reading, writing), ClientSession(reading, writing) as session:
        await session.initialize()
        yield session


@contextmanager
def display() -> Iterator[dict[str, str]]:
    reading, writing = os.pipe()
    command = ["Xvfb", "-displayfd", str(writing), "-screen", "0", "1280x800x24", "-nolisten", "tcp", "-noreset"]
    server = subprocess.Popen(command, pass_fds=(writing,), stderr=subprocess.DEVNULL)
    os.close(writing)
    with os.fdopen(reading) as numbers:
        environ = {**os.environ, "DISPLAY": f":{numbers.readline().strip()}", "POSTROOM_DESK__TOOLKIT": "tk"}
    manager = subprocess.Popen(["openbox"], env=environ, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        while "window id" not in run(environ, "xprop", "-root", "_NET_SUPPORTING_WM_CHECK"):
            time.sleep(0.02)
        yield environ
    finally:
        for process in (manager, server):
            process.terminate()
            process.wait(10)


def xdotool(environ: dict[str, str], *arguments: str) -> str:
    return run(environ, "xdotool", *arguments)


def run(environ: dict[str, str], *command: str) -> str:
    done = subprocess.run(command, env=environ, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, timeout=30)
    return done.stdout.decode().strip()


if __name__ == "__main__":
    main()
