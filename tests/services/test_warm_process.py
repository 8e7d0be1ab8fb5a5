"""A warm process is a process: with its own words, environment, files, session and end."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

from tests.household.processes import command, environment
from tests.services import warm_process


def test_a_command_says_and_ends_as_in_a_new_process(home: Path) -> None:
    variables = environment(home)
    for words in (["nonsense"], ["config", "show"]):
        cold = subprocess.run(
            [sys.executable, "-m", "postroom", *words], env=variables, capture_output=True, text=True, timeout=60
        )
        warm = warm_process.run(variables, *words)

        assert (warm.returncode, warm.stdout, warm.stderr) == (cold.returncode, cold.stdout, cold.stderr), words


def test_it_has_a_session_of_its_own_and_leaves_nothing_of_another_open(home: Path) -> None:
    with command(environment(home), "up", "--only=sandbox") as one, command(environment(home), "up", "--only=sandbox"):
        assert os.getsid(one.pid) == one.pid != os.getsid(0)
        one.send_signal(signal.SIGTERM)
        assert one.wait(60) == 0
        assert one.stdout.read().endswith("Stopped.\n")


def test_a_killed_one_ends_with_its_signal(home: Path) -> None:
    with command(environment(home), "up", "--only=sandbox") as process:
        process.kill()
        assert process.wait(60) == -signal.SIGKILL


def test_a_shell_pipes_into_one_and_gets_its_words_and_its_code(home: Path) -> None:
    postroom = warm_process.shell_command()
    script = f"{postroom} token show | grep -c token; {postroom} nonsense 2>/dev/null; echo $?"

    done = subprocess.run(["sh", "-c", script], env=environment(home), capture_output=True, text=True, timeout=60)

    assert done.stdout.split() == ["0", "2"]
