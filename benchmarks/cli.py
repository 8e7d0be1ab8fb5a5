"""How long a person or a script waits for the command line, against a Python that does nothing in the same rounds."""

from __future__ import annotations

import itertools
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from benchmarks.page import made, verdict, write_part

ROUNDS = int(os.environ.get("ROUNDS", "20"))
NOTHING = "python -c pass"
HOOK = "postroom hook"
TARGETS_SECONDS = {"postroom --help": 0.25, "postroom notify": 0.35, HOOK: 0.15}
_numbers = itertools.count()


@contextmanager
def household(home: Path) -> Iterator[dict[str, str]]:
    """A sandbox in a process of its own; gives the environment in which commands find it."""
    process = subprocess.Popen(
        [sys.executable, "-m", "benchmarks.cli_household", str(home)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=Path(__file__).parents[1],
    )
    assert process.stdin is not None and process.stdout is not None
    try:
        yield {**os.environ, **json.loads(process.stdout.readline())}
    finally:
        process.stdin.close()
        process.wait(30)


def seconds(command: list[str], environment: dict[str, str], said: str = "") -> float:
    began = time.perf_counter()
    subprocess.run(
        [sys.executable, *command], env=environment, input=said, text=True, stdout=subprocess.DEVNULL, check=True
    )
    return time.perf_counter() - began


def permission() -> str:
    """What Claude Code says before it uses a tool; each time another use."""
    number = next(_numbers)
    return json.dumps(
        {
            "hook_event_name": "PreToolUse",
            "session_id": "benchmark",
            "permission_mode": "default",
            "tool_name": "Bash",
            "tool_input": {"command": f"echo {number}"},
            "tool_use_id": f"toolu_{number}",
            "cwd": "/",
        }
    )


def measure(environment: dict[str, str]) -> dict[str, list[float]]:
    commands = {
        NOTHING: ["-c", "pass"],
        "postroom --help": ["-m", "postroom", "--help"],
        "postroom notify": ["-m", "postroom", "notify", "Hello"],
        HOOK: ["-m", "postroom", "hook", "claude", "--wait-seconds", "0"],
    }
    taken: dict[str, list[float]] = {name: [] for name in commands}
    for number in range(ROUNDS + 1):
        for name, command in commands.items():
            took = seconds(command, environment, permission() if name == HOOK else "")
            if number:  # the first run of all writes bytecode and warms the household
                taken[name].append(took)
    return taken


def main() -> None:
    with tempfile.TemporaryDirectory() as folder, household(Path(folder)) as environment:
        taken = measure(environment)
    nothing = min(taken[NOTHING])
    lines = ["| command | fastest | median | fastest against `python -c pass` | target |", "|---|--:|--:|--:|--:|"]
    for name, times in taken.items():
        target = TARGETS_SECONDS.get(name)
        word = f"{target} s, {verdict(min(times) <= target)}" if target else ""
        ratio = f"{min(times) / nothing:.1f}×"
        lines.append(f"| `{name}` | {min(times):.3f} s | {statistics.median(times):.3f} s | {ratio} | {word} |")
    write_part("cli", [made(f"{ROUNDS} interleaved rounds"), "", *lines])


if __name__ == "__main__":
    main()
