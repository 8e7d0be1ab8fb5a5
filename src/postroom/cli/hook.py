"""`postroom hook`: the face of it in the list of commands; `postroom.cli.quick` does the work."""

from __future__ import annotations

from typing import Annotated

import typer

from postroom.cli import quick
from postroom.cli.output import Home
from postroom.domain.errors import UserError
from postroom.domain.nearest import did_you_mean

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
        raise UserError(
            f"There are no hooks of '{client}'{did_you_mean(client, list(CLIENTS))} There are {', '.join(CLIENTS)}."
        )
    quick.run_hook(
        quick.QuickCommand(
            client=client, home=home, wait_seconds=wait_seconds, finished=finished, defer=defer, payload=payload
        )
    )
