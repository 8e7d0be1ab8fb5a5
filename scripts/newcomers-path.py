"""Walk a newcomer's path in a clean clone with an empty home, and write how long each step took."""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from tests.household.processes import environment, wait_for  # noqa: E402 - the line above finds it

SECONDS: dict[str, float] = {}


def main() -> int:
    with tempfile.TemporaryDirectory(prefix="newcomer-") as folder:
        walk(Path(folder))
    sys.stdout.write(f"{_machine()}\n\n| step | seconds |\n|---|---|\n")
    for name, seconds in SECONDS.items():
        sys.stdout.write(f"| {name} | {seconds:.1f} |\n")
    sys.stdout.write(f"| all | {sum(SECONDS.values()):.1f} |\n")
    return 0


def walk(folder: Path) -> None:
    clone, own = folder / "postroom", _account(folder)
    with _timed("clone"):
        _run(["git", "clone", "--quiet", str(ROOT), str(clone)], own, folder)
    with _up("`make up`, the first time: installs, migrates, starts", clone, own):
        with _timed("`postroom notify`: the first message"):
            _postroom(clone, own, "notify", "The laundry is done", "--as", "health")
        with _timed("`postroom ask`, a press on the card, the answer"):
            _asked(clone, own)
        with _timed("`postroom connect claude`"):
            _postroom(clone, own, "connect", "claude", "--yes")
    with _up("`make up`, the second time", clone, own):
        pass


def _asked(clone: Path, own: Mapping[str, str]) -> None:
    words = [str(clone / ".venv" / "bin" / "postroom"), "ask", "Ship it?", "--options", "yes,no", "--wait", "60s"]
    asking = subprocess.Popen(words, cwd=clone, env=own, stdout=subprocess.PIPE, text=True)  # noqa: S603 - our own
    sandbox = f"http://127.0.0.1:{own['POSTROOM_PORTS__SANDBOX']}/sandbox/telegram"
    card = None
    while card is None:
        time.sleep(0.1)
        shown = json.load(urllib.request.urlopen(f"{sandbox}/messages", timeout=10))["messages"]  # noqa: S310 - local
        card = next((one["message_id"] for one in shown if "Ship it?" in one["text"]), None)
    body = json.dumps({"message_id": card, "button": "yes"}).encode()
    press = urllib.request.Request(f"{sandbox}/press", body, {"Content-Type": "application/json"})  # noqa: S310
    urllib.request.urlopen(press, timeout=10).close()  # noqa: S310
    if "yes" not in asking.communicate(timeout=60)[0]:
        raise RuntimeError("the press was no answer")


@contextmanager
def _up(name: str, clone: Path, own: Mapping[str, str]) -> Iterator[None]:
    with _timed(name):
        pipe = subprocess.PIPE
        household = subprocess.Popen(
            ["make", "up"],  # noqa: S607
            cwd=clone,
            env=own,
            stdout=pipe,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )
        wait_for(household, "Postroom is up.")
    try:
        yield
    finally:
        os.killpg(household.pid, 15)
        household.communicate(timeout=60)


@contextmanager
def _timed(name: str) -> Iterator[None]:
    begun = time.monotonic()
    yield
    SECONDS[name] = time.monotonic() - begun


def _account(folder: Path) -> dict[str, str]:
    """Nothing of this account's own, and free ports, so that a household that runs here is left alone."""
    ports = {name: value for name, value in environment(folder).items() if name.startswith("POSTROOM_PORTS__")}
    return {"HOME": str(folder), "PATH": os.environ["PATH"], "LANG": "C.UTF-8", "PYTHONUNBUFFERED": "1", **ports}


def _postroom(clone: Path, own: Mapping[str, str], *words: str) -> None:
    _run([str(clone / ".venv" / "bin" / "postroom"), *words], own, clone)


def _run(words: list[str], own: Mapping[str, str], folder: Path) -> None:
    subprocess.run(words, cwd=folder, env=own, check=True, timeout=600, stdout=subprocess.DEVNULL)  # noqa: S603


def _machine() -> str:
    cpu = next((line for line in Path("/proc/cpuinfo").read_text().splitlines() if "model name" in line), "unknown")
    said = (f"Python {platform.python_version()}", f"{os.cpu_count()} cores", cpu.split(":")[-1].strip())
    return ", ".join((*said, f"load {os.getloadavg()[0]:.1f} at the end"))


if __name__ == "__main__":
    sys.exit(main())
