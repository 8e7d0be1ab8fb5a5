"""Run a command in this process, with the words it would print and the code it would end with."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

from typer.testing import CliRunner

from postroom.cli.application import app
from postroom.kernel.values.errors import PostroomError, UserError


@dataclass(frozen=True, slots=True)
class Done:
    code: int
    out: str
    error: str


def postroom(*arguments: str, typed: str | None = None) -> Done:
    result = CliRunner().invoke(app, list(arguments), input=typed)
    if isinstance(result.exception, UserError | PostroomError):
        ending = result.exception.ending if isinstance(result.exception, UserError) else 1
        return Done(ending, result.stdout, str(result.exception))
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return Done(result.exit_code, result.stdout, result.stderr)


async def postroom_beside(*arguments: str) -> Done:
    """While a household runs in this loop: the command starts a loop of its own."""
    return await asyncio.to_thread(postroom, *arguments)
