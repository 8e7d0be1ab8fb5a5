"""The screen: could a popup be shown here?"""

from __future__ import annotations

import asyncio
import sys

from postroom.cli.doctor_checks.finding import Finding

_SECONDS = 10.0
# In a process of its own: a display that does not answer would hold up this one. The window is never shown.
_TRY = "import tkinter; root = tkinter.Tk(); root.withdraw(); root.destroy()"


async def look_at_display() -> Finding:
    """Only `postroom desk` needs one, so there is no problem without it."""
    told = await _error()
    if told is None:
        return Finding("display", True, "popups can be shown")
    if "tkinter" in told and "No module" in told:
        return Finding("display", True, "no popups: Python has no tkinter", "apt install python3-tk")
    advice = "only `postroom desk` needs a display; run it in the person's own session"
    return Finding("display", True, "no popups: there is no display here", advice)


async def _error() -> str | None:
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-c",
        _TRY,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.PIPE,
    )
    try:
        _, errors = await asyncio.wait_for(process.communicate(), _SECONDS)
    except TimeoutError:
        process.kill()
        await process.wait()
        return "the display does not answer"
    return None if process.returncode == 0 else errors.decode(errors="replace")
