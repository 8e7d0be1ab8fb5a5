from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.butlers.runtimes.installed import MeetingPlace, meeting_place
from tests.clock import FakeClock

from postroom.butlers.model import Ended, Launch
from postroom.butlers.runtimes.process import (
    MAX_OUTPUT_BYTES,
    Bounded,
    NotInstalled,
    ProcessPrograms,
    kill_stragglers,
    without,
)
from postroom.kernel.running.clock import Clock, SystemClock


@given(st.lists(st.binary(max_size=40)), st.integers(2, 64))
def test_beginning_and_end_are_kept_and_never_more_than_allowed(chunks: list[bytes], most: int) -> None:
    bounded, whole = Bounded(most), b"".join(chunks)
    for chunk in chunks:
        bounded.add(chunk)

    content, half = bounded.content(), most // 2

    assert len(content) <= 2 * half + 1
    if len(whole) <= 2 * half:
        assert content == whole
    else:
        assert content == whole[:half] + b"\n" + whole[-half:]


def test_secrets_are_covered_wherever_they_stand() -> None:
    output = b'{"key": "sk-long-enough", "again": "sk-long-enough"} short'

    assert without(["sk-long-enough", "short", ""], output) == b'{"key": "***", "again": "***"} short'


SESSION = "0190-process-test"


def launch(tmp_path: Path, script: str, stdin: str = "") -> Launch:
    environment = {"POSTROOM_SESSION_ID": f"{SESSION}-{tmp_path.name}"}
    return Launch(argv=["sh", "-c", script], stdin=stdin, environment=environment, work=tmp_path)


async def run(tmp_path: Path, script: str, stdin: str = "", secrets: tuple[str, ...] = ()) -> Ended:
    programs = ProcessPrograms(path=os.defpath, clock=SystemClock())
    return await programs.run(launch(tmp_path, script, stdin), timeout_seconds=60.0, secrets=secrets)


async def test_the_prompt_goes_in_and_both_streams_come_out(tmp_path: Path) -> None:
    ended = await run(tmp_path, "wc -c; echo trouble >&2; exit 3", stdin="ä" * 200_000)

    assert (ended.stdout.strip(), ended.stderr, ended.exit_code) == (b"400000", b"trouble\n", 3)


async def test_a_program_may_leave_without_reading_its_prompt(tmp_path: Path) -> None:
    ended = await run(tmp_path, "exit 0", stdin="x" * 1_000_000)

    assert ended.exit_code == 0


async def test_a_flood_is_bounded_and_keeps_its_end(tmp_path: Path) -> None:
    ended = await run(tmp_path, "head -c 9000000 /dev/zero | tr '\\0' x; echo; echo the end")

    assert len(ended.stdout) <= MAX_OUTPUT_BYTES + 1
    assert ended.stdout.endswith(b"\nthe end\n")


async def test_a_secret_that_is_printed_is_covered(tmp_path: Path) -> None:
    ended = await run(tmp_path, "echo key canary-key; echo canary-key >&2", secrets=("canary-key",))

    assert (ended.stdout, ended.stderr) == (b"key ***\n", b"***\n")


async def test_a_child_that_left_the_group_ends_with_the_program(tmp_path: Path) -> None:
    ended = await run(tmp_path, "setsid sleep 1000 & sleep 1000 & echo started")

    assert ended.stdout == b"started\n"
    assert kill_stragglers(f"{SESSION}-{tmp_path.name}") == 0


LEAVER = (
    "import os, socket, sys\n"
    "if os.fork(): os._exit(0)\n"
    "os.setsid()\n"
    "if os.fork(): os._exit(0)\n"
    "meeting = socket.create_connection(('127.0.0.1', int(sys.argv[1])))\n"
    "meeting.sendall(b'leaver\\n')\n"
    "meeting.recv(1)\n"
)
"""A daemon: in a session of its own, without its parents, and started with an empty environment."""


def leaving(tmp_path: Path, place: MeetingPlace, then: str) -> str:
    (tmp_path / "leaver.py").write_text(LEAVER)
    return f"env -i {sys.executable} leaver.py {place.port} >/dev/null 2>&1 </dev/null; {then}"


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux hands orphans to a keeper")
async def test_a_daemon_with_an_empty_environment_ends_with_the_program(tmp_path: Path) -> None:
    async with meeting_place() as place:
        waits = 'python3 -c \'import socket, sys; s = socket.create_connection(("127.0.0.1", int(sys.argv[1]))); '
        waits += f's.sendall(b"program\\n"); s.recv(1)\' {place.port}'
        running = start(tmp_path, SystemClock(), place, leaving(tmp_path, place, waits))
        await place.came("leaver", "program")
        place.let_go("program")
        ended = await running

        await place.left("leaver")

    assert ended.exit_code == 0


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux hands orphans to a keeper")
async def test_at_the_deadline_a_daemon_is_ended_too(tmp_path: Path, clock: FakeClock) -> None:
    async with meeting_place() as place:
        running = start(tmp_path, clock, place, leaving(tmp_path, place, "sleep 1000"))
        await place.came("leaver")
        await clock.advance(60.0)
        ended = await running

        await place.left("leaver")

    assert ended.timed_out


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux hands orphans to a keeper")
async def test_the_end_of_one_session_leaves_the_daemons_of_another_alone(tmp_path: Path, clock: FakeClock) -> None:
    async with meeting_place() as place:
        running = start(tmp_path, clock, place, leaving(tmp_path, place, "sleep 1000"))
        await place.came("leaver")
        (tmp_path / "other").mkdir()
        assert (await run(tmp_path / "other", "setsid sleep 1000 & echo done")).stdout == b"done\n"

        assert place.is_here("leaver")
        running.cancel()
        await place.left("leaver")


@pytest.mark.parametrize(("script", "code"), [("exit 7", 7), ("kill -TERM $$", -15), ("kill -KILL $$", -9)])
async def test_the_program_s_own_end_is_what_is_reported(tmp_path: Path, script: str, code: int) -> None:
    assert (await run(tmp_path, script)).exit_code == code


async def test_a_program_that_cannot_be_started_says_so(tmp_path: Path) -> None:
    (tmp_path / "model").write_text("#!/no/such/interpreter\n")
    (tmp_path / "model").chmod(0o755)
    environment = {"POSTROOM_SESSION_ID": f"{SESSION}-{tmp_path.name}"}
    wanted = Launch(argv=["model"], stdin="", environment=environment, work=tmp_path)

    ended = await ProcessPrograms(path=str(tmp_path), clock=SystemClock()).run(wanted, timeout_seconds=60.0, secrets=())

    assert (ended.exit_code, ended.stderr) == (127, b"the program cannot be started (FileNotFoundError)\n")


async def test_a_program_sees_its_session_and_ordinary_signals(tmp_path: Path) -> None:
    ended = await run(tmp_path, "echo $POSTROOM_SESSION_ID; yes | head -1; ls /proc/self/fd | wc -l")

    assert ended.stdout.split() == [f"{SESSION}-{tmp_path.name}".encode(), b"y", b"4"]  # three, and that of `ls`


@pytest.fixture
def meeting_script(tmp_path: Path) -> str:
    """Tells a port that it is there, with children in and out of its group, and waits."""
    return (
        "setsid sleep 1000 & sleep 1000 & "
        'exec python3 -c \'import socket, sys; s = socket.create_connection(("127.0.0.1", int(sys.argv[1]))); '
        's.sendall(b"here\\n"); s.recv(1)\' {port}'
    )


async def test_at_the_deadline_the_whole_tree_is_ended(tmp_path: Path, clock: FakeClock, meeting_script: str) -> None:
    async with meeting_place() as place:
        running = start(tmp_path, clock, place, meeting_script)
        await place.came("here")
        await clock.advance(59.0)
        assert not running.done()
        await clock.advance(1.0)
        ended = await running

    assert (ended.timed_out, ended.exit_code) == (True, None)
    assert kill_stragglers(f"{SESSION}-{tmp_path.name}") == 0


async def test_when_the_household_stops_the_whole_tree_is_ended(
    tmp_path: Path, clock: FakeClock, meeting_script: str
) -> None:
    async with meeting_place() as place:
        running = start(tmp_path, clock, place, meeting_script)
        await place.came("here")
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running

    assert kill_stragglers(f"{SESSION}-{tmp_path.name}") == 0


def start(tmp_path: Path, clock: Clock, place: MeetingPlace, script: str) -> asyncio.Task[Ended]:
    wanted = launch(tmp_path, script.format(port=place.port))
    programs = ProcessPrograms(path=os.environ["PATH"], clock=clock)
    return asyncio.create_task(programs.run(wanted, timeout_seconds=60.0, secrets=()))


async def test_files_are_written_for_its_owner_alone(tmp_path: Path) -> None:
    file = tmp_path / "home" / "deep" / "settings.json"
    programs = ProcessPrograms(path=os.defpath, clock=SystemClock())
    wanted = Launch(
        argv=["cat", str(file)], stdin="", environment={"POSTROOM_SESSION_ID": "x"}, work=tmp_path, files={file: "{}"}
    )

    ended = await programs.run(wanted, timeout_seconds=60.0, secrets=())

    assert ended.stdout == b"{}"
    assert file.stat().st_mode & 0o777 == 0o600


async def test_a_program_that_is_not_there_is_named(tmp_path: Path) -> None:
    programs = ProcessPrograms(path=str(tmp_path), clock=SystemClock())

    with pytest.raises(NotInstalled, match="'sh' is not installed") as refusal:
        await programs.run(launch(tmp_path, "exit 0"), timeout_seconds=60.0, secrets=())

    assert refusal.value.error_class == "target_unavailable"


def sleeper(session_id: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen(["sleep", "1000"], env={"POSTROOM_SESSION_ID": session_id, "PATH": os.defpath})


def test_a_process_is_found_by_the_session_it_was_started_for_and_no_other_is() -> None:
    mine, other = sleeper("straggler-1"), sleeper("straggler-10")
    try:
        assert kill_stragglers("straggler-1") == 1
        assert mine.wait(10) == -9
        assert other.poll() is None
    finally:
        assert kill_stragglers("straggler-10") == 1
        other.wait(10)


def test_nothing_to_find_is_no_error() -> None:
    assert kill_stragglers("straggler-never") == 0
