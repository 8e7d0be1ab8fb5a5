"""A page that starts a household of its own is followed to its end, with real processes."""

from __future__ import annotations

import asyncio
import re
import subprocess
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests.architecture.tree import ROOT, shown
from tests.contract.beeper import BeeperGateway
from tests.docs.pages import Block, blocks, pages
from tests.household.processes import environment, wait_for
from tests.services import warm_process
from tests.services.ports import free_port

PATIENCE_SECONDS = 60
BUTLER = ROOT / "docs" / "how-to" / "add-a-butler.md"
CHANNEL = ROOT / "docs" / "how-to" / "add-a-channel.md"

pytestmark = pytest.mark.timeout(180)


@dataclass(frozen=True, slots=True)
class Reader:
    """Types what the page says into one terminal, and what runs until it is stopped into another."""

    folder: Path
    variables: Mapping[str, str]
    others: Mapping[str, str]
    said: list[str] = field(default_factory=list)

    @contextmanager
    def following(self, page: Path) -> Iterator[str]:
        """What was printed; the household still runs."""
        with ExitStack() as stack:
            for block in blocks(page):
                if file := block.told("file"):
                    self.write(file, block)
                elif block.told("apart") or "postroom init" in block.text:
                    for line in block.text.splitlines():
                        self.type(line, stack)
            yield "".join(self.said)

    def write(self, file: str, block: Block) -> None:
        place = self.folder / file
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(self.own(block.text))

    def type(self, line: str, stack: ExitStack) -> None:
        shell = ["bash", "-c", self.own(line)]
        if re.search(r"\bpostroom up\b", line):
            shell[-1] = re.sub(r"\bpostroom up\b", "exec env postroom up", shell[-1])
            process = subprocess.Popen(
                shell, cwd=self.folder, env=self.variables, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
            )
            stack.callback(stop, process)
            wait_for(process, "Postroom is up.")
        else:
            done = subprocess.run(
                shell, cwd=self.folder, env=self.variables, capture_output=True, text=True, timeout=PATIENCE_SECONDS
            )
            assert done.returncode == 0, f"{line}: {done.stdout}{done.stderr}"
            self.said.append(done.stdout)

    def own(self, text: str) -> str:
        """The addresses of this household, and the id of what waits."""
        for one, other in self.others.items():
            text = text.replace(one, other)
        return text.replace("ACTION_ID", self.said[-1].split()[0] if self.said and self.said[-1].split() else "")


def stop(process: subprocess.Popen[str]) -> None:
    process.terminate()
    try:
        process.communicate(timeout=PATIENCE_SECONDS)
    finally:
        process.kill()


@pytest.fixture
def variables(tmp_path: Path) -> dict[str, str]:
    """A terminal in an empty folder, which is the home as well; `examples` is there as in a clone."""
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    program = tmp_path / "bin" / "postroom"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec {warm_process.shell_command()} "$@"\n')
    program.chmod(0o755)
    own = environment(tmp_path)
    return {**own, "PATH": f"{program.parent}:{own['PATH']}"}


def test_a_butler_of_your_own_speaks_and_has_a_token(tmp_path: Path, variables: dict[str, str]) -> None:
    with Reader(tmp_path, variables, {"40110": str(free_port())}).following(BUTLER) as said:
        assert "roster: garden," in said
        assert re.search(r"^delivered: .*\npr_butler_\S+$", said, re.M)

    assert (tmp_path / "my-household" / "postroom.db").exists(), "the data is where the settings are"


async def test_a_message_over_a_channel_of_your_own_leaves_once_it_is_approved(
    tmp_path: Path, variables: dict[str, str]
) -> None:
    async with BeeperGateway() as server:
        reader = Reader(tmp_path, variables, {"https://beepers.example.org": f"http://127.0.0.1:{server.port}"})
        said = await asyncio.to_thread(until_it_arrived, reader, server)

        assert [request.body for request in server.requests] == [{"beeper": "kitchen", "text": "Tea is ready"}]
    assert said.startswith("Waits for an approval: ")


def until_it_arrived(reader: Reader, server: BeeperGateway) -> str:
    with reader.following(CHANNEL) as said:
        deadline = time.monotonic() + PATIENCE_SECONDS
        while not server.requests:
            assert time.monotonic() < deadline, "nothing arrived"
            time.sleep(0.02)
    return said


def test_every_page_that_starts_a_household_of_its_own_is_followed_here() -> None:
    found = {shown(page) for page in pages() if any(block.told("apart") for block in blocks(page))}

    assert found == {shown(BUTLER), shown(CHANNEL), "docs/tutorial/first-household.md"}  # the last by its own test
