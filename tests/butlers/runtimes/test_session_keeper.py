from __future__ import annotations

import asyncio
import os
import signal
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.butlers.runtimes.installed import meeting_place
from tests.butlers.runtimes.test_process import LEAVER

from postroom.butlers.runtimes import session_keeper

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="only Linux hands orphans to a keeper")

HOUSEHOLD = """
import asyncio, sys
from pathlib import Path
from postroom.kernel.running.clock import SystemClock
from postroom.butlers.runtimes.process import ProcessPrograms
from postroom.butlers.model import Launch

script = f"env -i {sys.executable} leaver.py {sys.argv[1]} >/dev/null 2>&1 </dev/null; sleep 1000"
launch = Launch(argv=["sh", "-c", script], stdin="", environment={"POSTROOM_SESSION_ID": "s"}, work=Path.cwd())
asyncio.run(ProcessPrograms(path="/usr/bin:/bin", clock=SystemClock()).run(launch, timeout_seconds=600.0, secrets=()))
"""
"""A process that runs one session, so that it can be killed."""


async def started(*arguments: str, folder: Path, **more: Any) -> asyncio.subprocess.Process:
    (folder / "leaver.py").write_text(LEAVER)
    return await asyncio.create_subprocess_exec(sys.executable, *arguments, cwd=folder, **more)


async def test_when_the_household_is_killed_everything_of_the_session_ends(tmp_path: Path) -> None:
    async with meeting_place() as place:
        household = await started("-c", HOUSEHOLD, str(place.port), folder=tmp_path)
        await place.came("leaver")
        household.send_signal(signal.SIGKILL)
        await household.wait()

        await place.left("leaver")


async def keeper(folder: Path, *program: str) -> tuple[asyncio.subprocess.Process, int]:
    kept, lifeline = os.pipe()
    arguments = ["-I", "-S", session_keeper.__file__, str(kept), "POSTROOM_SESSION_ID=s", *program]
    process = await started(*arguments, folder=folder, pass_fds=(kept,))
    os.close(kept)
    return process, lifeline


async def test_asked_to_end_it_ends_the_session_first(tmp_path: Path) -> None:
    async with meeting_place() as place:
        script = f"env -i {sys.executable} leaver.py {place.port}; sleep 1000"
        process, lifeline = await keeper(tmp_path, "/bin/sh", "-c", script)
        await place.came("leaver")
        process.send_signal(signal.SIGTERM)
        async with asyncio.timeout(60):
            await process.wait()

        await place.left("leaver")
        os.close(lifeline)


async def test_its_own_sudden_death_takes_the_program_with_it(tmp_path: Path) -> None:
    program = "import socket, sys; s = socket.create_connection(('127.0.0.1', int(sys.argv[1]))); "
    program += "s.sendall(b'program\\n'); s.recv(1)"
    async with meeting_place() as place:
        process, lifeline = await keeper(tmp_path, sys.executable, "-c", program, str(place.port))
        await place.came("program")
        process.kill()
        await process.wait()

        await place.left("program")
        os.close(lifeline)
