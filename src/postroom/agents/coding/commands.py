"""`postroom hook`, `bridge` and `headless` in the list of commands; `coding.quick` does the work of the first two."""

from __future__ import annotations

import math
import os
import shlex
import shutil
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from postroom.agents.coding import quick
from postroom.agents.coding.headless import HeadlessRunner, RunRecord, understood
from postroom.agents.coding.phone import LONGEST_DEADLINE, PersonAsker
from postroom.agents.connect.clients import Scope, answers
from postroom.agents.connect.commands import home_options, own_program
from postroom.kernel.running.terminal import Home, complain
from postroom.kernel.values.errors import Mistyped, UserError
from postroom.kernel.values.fields import did_you_mean
from postroom.settings.connections import Caller, connection_of, home_of

CLIENTS = ("claude", "codex", "gemini")


def hook(
    client: Annotated[str, typer.Argument(metavar="CLIENT", help=f"Who calls: {', '.join(CLIENTS)}.")],
    payload: Annotated[str | None, typer.Argument(help="What Codex's notify adds; else standard input.")] = None,
    wait_seconds: Annotated[
        float, typer.Option("--wait-seconds", help="How long to wait for the person's answer.")
    ] = quick.DEFAULT_WAIT_SECONDS,
    finished: Annotated[bool, typer.Option("--finished", help="Also tell the person when a turn is over.")] = False,
    defer: Annotated[bool, typer.Option("--defer", help="Do not wait: the headless agent is resumed later.")] = False,
    home: Home = None,
) -> None:
    """Answer a coding agent's hook with what the person says on the phone; says nothing in every doubt."""
    if client not in CLIENTS:
        raise Mistyped(
            f"There are no hooks of '{client}'{did_you_mean(client, list(CLIENTS))} There are {', '.join(CLIENTS)}."
        )
    quick.run_hook(
        quick.QuickCommand(
            client=client, home=home, wait_seconds=wait_seconds, finished=finished, defer=defer, payload=payload
        )
    )


def bridge(
    client: Annotated[str, typer.Argument(metavar="CLIENT", help="The client that was connected.")], home: Home = None
) -> None:
    """Carry a connected client's MCP between its standard streams and the household; clients start it."""
    quick.run_bridge(quick.QuickCommand(client=client, home=home))


# `postroom headless -- claude -p …`: the answer may take days, and the machine may restart meanwhile.

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
        raise Mistyped("Say what to do directly after -p, or on standard input.")
    return typed
