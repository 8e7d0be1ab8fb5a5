"""How long a person or a script waits for the command line, against a Python that does nothing in the same rounds."""

from __future__ import annotations

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

ROUNDS = int(os.environ.get("ROUNDS", "20"))
NOTHING = "python -c pass"
TARGETS_SECONDS = {"postroom --help": 0.25, "postroom notify": 0.35}


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


def seconds(command: list[str], environment: dict[str, str]) -> float:
    began = time.perf_counter()
    subprocess.run([sys.executable, *command], env=environment, stdout=subprocess.DEVNULL, check=True)
    return time.perf_counter() - began


def measure(environment: dict[str, str]) -> dict[str, list[float]]:
    commands = {
        NOTHING: ["-c", "pass"],
        "postroom --help": ["-m", "postroom", "--help"],
        "postroom notify": ["-m", "postroom", "notify", "Hello"],
    }
    taken: dict[str, list[float]] = {name: [] for name in commands}
    for command in commands.values():  # the first run of all writes bytecode and warms the household
        seconds(command, environment)
    for _ in range(ROUNDS):
        for name, command in commands.items():
            taken[name].append(seconds(command, environment))
    return taken


def main() -> None:
    with tempfile.TemporaryDirectory() as folder, household(Path(folder)) as environment:
        taken = measure(environment)
    nothing = min(taken[NOTHING])
    for name, times in taken.items():
        line = f"  {name:<16} fastest {min(times):.3f} s, median {statistics.median(times):.3f} s"
        line += f", fastest against nothing {min(times) / nothing:.1f}×"
        if target := TARGETS_SECONDS.get(name):
            line += f" ({'met' if min(times) <= target else 'missed'}: {target} s)"
        print(line)


if __name__ == "__main__":
    main()
