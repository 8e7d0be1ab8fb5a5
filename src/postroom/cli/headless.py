"""`postroom headless -- claude -p …`: the answer may take days, and the machine may restart meanwhile."""

from __future__ import annotations

import math
import os
import shlex
import shutil
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from postroom.cli.output import Home, complain
from postroom.cli.own_program import home_options, own_program
from postroom.domain.errors import UserError
from postroom.programs.connect.clients import Scope
from postroom.programs.connect.live_check import answers
from postroom.programs.connections import connection_of, home_of
from postroom.programs.headless.record import RunRecord
from postroom.programs.headless.runner import HeadlessRunner
from postroom.programs.headless.words import understood
from postroom.programs.hook.phone import LONGEST_DEADLINE, PersonAsker
from postroom.programs.small_http import Caller

CLIENT = "claude"
ASKED = "Bash|PowerShell|Edit|Write|NotebookEdit|WebFetch|AskUserQuestion|ExitPlanMode|mcp__(?!postroom__).*"
_WAIT_SECONDS = 86_400
_SPARE_SECONDS = 60

Words = Annotated[list[str], typer.Argument(metavar="-- claude -p PROMPT …", help="The command line of Claude Code.")]


def headless(
    words: Words,
    ask: Annotated[str, typer.Option("--ask", help="Which tools you are asked about, as a matcher of hooks.")] = ASKED,
    wait_seconds: Annotated[
        int, typer.Option("--wait-seconds", min=1, max=LONGEST_DEADLINE, help="How long to wait for each answer.")
    ] = LONGEST_DEADLINE,
    anew: Annotated[bool, typer.Option("--anew", help="Forget the run that was interrupted, and begin again.")] = False,
    home: Home = None,
) -> None:
    """Run Claude Code without a screen: it ends at a permission, asks on the phone, and is resumed with the answer."""
    said = understood(words, _hook(ask, home))
    if shutil.which(said.program) is None:
        raise UserError(f"There is no program {said.program} here: install it, or name it by its path.")
    at = home_of(os.environ, home)
    phone, typed = _phone(at, wait_seconds), _typed(said.prompt)
    record = RunRecord(at, Path.cwd(), words, typed)
    runner = HeadlessRunner(home=at, words=said, record=record, phone=phone, say=complain, typed=typed)
    raise typer.Exit(runner.run(anew=anew))


def _hook(ask: str, home: str | None) -> dict[str, Any]:
    words = [*own_program(Scope.USER), "hook", CLIENT, "--defer", *home_options(home)]
    command = shlex.join([*words, "--wait-seconds", str(_WAIT_SECONDS)])
    timeout = _WAIT_SECONDS + _SPARE_SECONDS
    return {"matcher": ask, "hooks": [{"type": "command", "command": command, "timeout": timeout}]}


def _phone(home: Path, wait_seconds: int) -> PersonAsker:
    """Without a household Claude Code would be refused everything, so it is not even started."""
    connection = connection_of(home, CLIENT)
    if connection is None:
        raise UserError(f"Claude Code is not connected here: `postroom connect {CLIENT}` does it.")
    if wrong := answers(connection):
        raise UserError(f"Claude Code was not started: {wrong}. `postroom connect --list` looks closer.")
    return PersonAsker(caller=Caller(connection), wait_seconds=wait_seconds, silence_seconds=math.inf, parent=None)


def _typed(prompt: str | None) -> str:
    if prompt is not None:
        return ""
    typed = "" if sys.stdin is None or sys.stdin.isatty() else sys.stdin.read()
    if not typed.strip():
        raise UserError("Say what to do directly after -p, or on standard input.")
    return typed
