"""However a test run ends, its servers end with it."""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.patience import PATIENCE_SECONDS

ROOT = Path(__file__).parents[2]
START_SECONDS = 60.0

IN_THE_BACKGROUND = ("sh", "-c", 'trap "" INT; exec "$@"', "sh")  # a shell's background job inherits an ignored Ctrl-C
RUN = """
import json, signal, sys
from tests.services.run import ServiceRun, server_url

signal.signal(signal.SIGINT, signal.default_int_handler)
run = ServiceRun()
try:
    for name in sys.argv[1:]:
        server_url(name)
    print(json.dumps({"directory": str(run.directory), "keeper": run.keeper_pid}), flush=True)
    signal.pause()
finally:
    run.close()
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    directory: Path
    keeper: int
    servers: set[int]


@pytest.mark.parametrize(
    ("number", "services"),
    [
        pytest.param(signal.SIGINT, ["redis"], id="ctrl-c"),
        pytest.param(signal.SIGTERM, ["redis"], id="terminated"),
        pytest.param(signal.SIGKILL, ["postgres", "redis"], id="killed"),
    ],
)
def test_nothing_is_left_when_the_run_is_gone(number: signal.Signals, services: list[str]) -> None:
    with _running(services) as (run, facts):
        assert len(facts.servers) >= len(services)

        run.send_signal(number)
        run.wait(PATIENCE_SECONDS)

    _await_gone({facts.keeper, *facts.servers})
    assert not facts.directory.exists()


def test_the_servers_do_not_outlive_their_keeper() -> None:
    with _running(["redis"]) as (run, facts):
        os.kill(facts.keeper, signal.SIGKILL)

        _await_gone(facts.servers)
        run.send_signal(signal.SIGINT)
        run.wait(PATIENCE_SECONDS)

    assert not facts.directory.exists()


def test_a_server_that_was_given_is_used_and_none_started() -> None:
    program = "from tests.services.run import ServiceRun, server_url; print(server_url('redis'))"
    given = "redis://127.0.0.1:1/0"
    environment = _environment() | {"POSTROOM_TEST_REDIS_URL": given}

    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, env=environment, capture_output=True, text=True)

    assert done.stdout.strip() == given


@contextmanager
def _running(services: list[str]) -> Iterator[tuple[subprocess.Popen[bytes], Facts]]:
    command = [*IN_THE_BACKGROUND, sys.executable, "-c", RUN, *services]
    with subprocess.Popen(command, cwd=ROOT, env=_environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE) as run:
        try:
            yield run, _facts(run)
        finally:
            run.kill()


def _facts(run: subprocess.Popen[bytes]) -> Facts:
    assert run.stdout is not None
    ready, _, _ = select.select([run.stdout], [], [], START_SECONDS)
    assert ready, "the run did not start its servers in time"
    said = json.loads(run.stdout.readline())
    return Facts(directory=Path(said["directory"]), keeper=said["keeper"], servers=_descendants(said["keeper"]))


def _environment() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if not name.startswith("POSTROOM_")}


def _descendants(pid: int) -> set[int]:
    children = {int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()}
    return children.union(*(_descendants(child) for child in children))


def _await_gone(pids: set[int]) -> None:
    deadline = time.monotonic() + PATIENCE_SECONDS
    while left := {pid for pid in pids if Path(f"/proc/{pid}/exe").exists()}:
        assert time.monotonic() < deadline, f"still running: {left}"
        time.sleep(0.02)
