"""Run what a page tells its reader to type, against a household of its own."""

from __future__ import annotations

import asyncio
import os
import re
import shutil
import sqlite3
import sys
from dataclasses import dataclass, field
from pathlib import Path

from postroom.settings.model import Ports
from tests.architecture.tree import ROOT
from tests.docs.commands import RECORDED, check
from tests.household.living import Living
from tests.services import warm_process

PATIENCE_SECONDS = 90
_END = "\x1e"
_RECORDER = """#!/bin/sh
{ printf '%s\\0' "${0##*/}" "$@"; printf '\\036\\0'; } >> "$SNIPPET_RECORD"
"""
# What would run until it is stopped is only understood; the household that it would start is running already.
_POSTROOM = """#!/bin/sh
case "$1" in up|worker|desk) exec "$SNIPPET_BIN/recorded/postroom" "$@";; esac
exec {postroom} "$@"
"""
# A refusal is a failure here, and a stream that never ends is listened to for a moment.
_CURL = """#!/bin/sh
case "$*" in */stream*) "{curl}" --fail-with-body --max-time 2 "$@"; [ $? -eq 28 ]; exit;; esac
exec "{curl}" --fail-with-body "$@"
"""
_PYTHON = """#!/bin/sh
exec "{python}" "$@"
"""
_TOP_LEVEL = """
import ast, asyncio, inspect, sys
code = compile(open(sys.argv[1]).read(), sys.argv[1], "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
found = {"__name__": "__main__"}
result = eval(code, found)
if inspect.iscoroutine(result):
    asyncio.run(result)
"""
_PLACEHOLDERS = {
    "DELIVERY_ID": "SELECT id FROM delivery_requests ORDER BY id DESC LIMIT 1",
    "REQUEST_ID": "SELECT request_id FROM delivery_requests ORDER BY id DESC LIMIT 1",
    "ACTION_ID": (
        "SELECT subject_id FROM questions WHERE subject_kind = 'approval' AND status = 'open' ORDER BY id DESC LIMIT 1"
    ),
    "ASK_ID": "SELECT id FROM questions ORDER BY id DESC LIMIT 1",
    "MSG_ID": "SELECT 'msg_' || id FROM questions ORDER BY id DESC LIMIT 1",
    "NOTICE_ID": "SELECT id FROM notices ORDER BY created_at DESC LIMIT 1",
    "INTENT_ID": "SELECT id FROM intents ORDER BY id DESC LIMIT 1",
    "MESSAGE_ID": "SELECT provider_delivery_id FROM delivery_receipts ORDER BY received_at DESC LIMIT 1",
}


@dataclass(slots=True)
class Shell:
    """One terminal: what a block leaves in the environment is there for the next one."""

    household: Living
    folder: Path
    variables: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        shims, recorded = self.folder / "bin", self.folder / "bin" / "recorded"
        recorded.mkdir(parents=True)
        _program(shims / "postroom", _POSTROOM.format(postroom=warm_process.shell_command()))
        _program(shims / "python3", _PYTHON.format(python=sys.executable))
        _program(shims / "python", _PYTHON.format(python=sys.executable))
        _program(shims / "curl", _CURL.format(curl=shutil.which("curl")))
        _program(recorded / "postroom", _RECORDER)
        for name in RECORDED:
            _program(shims / name, _RECORDER)
        self.work.mkdir()
        (self.work / ".venv").mkdir()
        (self.work / ".venv" / "bin").symlink_to(shims)
        for name in ("examples", "scripts", "packaging", "compose.yaml"):
            if (ROOT / name).exists():
                (self.work / name).symlink_to(ROOT / name)

    @property
    def work(self) -> Path:
        return self.folder / "work"

    async def run(self, script: str) -> str:
        state = self.folder / "state"
        opening = f"set -a\n[ -f '{state}' ] && . '{state}'\ntrap \"export -p > '{state}'\" EXIT\n"
        return await self._run(["bash", "-euo", "pipefail", "-c", opening + self.filled(script)])

    async def python(self, script: str) -> str:
        runner, file = self.folder / "run.py", self.folder / "snippet.py"
        runner.write_text(_TOP_LEVEL)
        file.write_text(self.filled(script))
        return await self._run([sys.executable, str(runner), str(file)])

    def filled(self, script: str) -> str:
        """The ports that this household has, and the ids that it has just given."""
        defaults = {str(port): name for name, port in Ports().model_dump().items()}
        script = re.sub(
            r"(127\.0\.0\.1|localhost):(4\d{4})", lambda found: f"{found[1]}:{self._port(defaults[found[2]])}", script
        )
        for name, query in _PLACEHOLDERS.items():
            if re.search(rf"\b{name}\b", script):
                script = re.sub(rf"(?<![$\w]){name}\b(?!=)", self._known(query), script)
        return re.sub(r"(?<=Bearer )TOKEN\b", self.household.token("operator"), script)

    def _port(self, name: str) -> str:
        return self.household.household.addresses[name].split(":")[2].split("/")[0]

    def _known(self, query: str) -> str:
        with sqlite3.connect(self.household.settings.home / "postroom.db") as connection:
            found = connection.execute(query).fetchone()
        assert found is not None, f"nothing yet: {query}"
        return str(found[0])

    async def _run(self, command: list[str]) -> str:
        record = self.folder / "record"
        process = await asyncio.create_subprocess_exec(
            *command,
            cwd=self.work,
            env=self._environment(record),
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
        )
        try:
            output, _ = await asyncio.wait_for(process.communicate(), PATIENCE_SECONDS)
        finally:
            if process.returncode is None:
                process.kill()
        assert process.returncode == 0, f"{command[-1]}\nended with {process.returncode}:\n{output.decode()}"
        self._check_recorded(record)
        return output.decode()

    def _check_recorded(self, record: Path) -> None:
        if not record.exists():
            return
        for words in record.read_text().split(f"{_END}\0"):
            if words:
                check(words.rstrip("\0").split("\0"))
        record.unlink()

    def _environment(self, record: Path) -> dict[str, str]:
        ports = {f"POSTROOM_PORTS__{name.upper()}": self._port(name) for name in Ports.model_fields}
        return {
            "PATH": f"{self.folder / 'bin'}:{os.environ['PATH']}",
            "PYTHONPATH": f"{ROOT / 'src'}:{ROOT}",
            "HOME": str(self.folder),
            "LANG": "C.UTF-8",
            "POSTROOM_HOME": str(self.household.settings.home),
            "SNIPPET_BIN": str(self.folder / "bin"),
            "SNIPPET_RECORD": str(record),
            **ports,
            **self.variables,
        }


def _program(file: Path, text: str) -> None:
    file.write_text(text)
    file.chmod(0o755)
