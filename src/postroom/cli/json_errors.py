"""Under `--json` what went wrong is JSON as well, on standard error; how a command ends stays as it is."""

from __future__ import annotations

import sys
from typing import Final

import typer
from typer._click.exceptions import ClickException, UsageError

from postroom.kernel.running.terminal import failure_document
from postroom.kernel.values.errors import PostroomError, UserError
from postroom.kernel.values.json import strict_json

USER_HINTS: Final = {
    "invalid": "The message says what to change.",
    "not_running": "Start the household with `postroom up`, or see with `postroom doctor` what is wrong.",
    "refused": "The household said no: its message says why.",
    "usage": "`--help` after the command lists what it takes.",
    "aborted": "Nothing was done; `--yes`, where a command has it, answers its question beforehand.",
}


def run(app: typer.Typer) -> int:
    """The code to end with."""
    try:
        ended = app(standalone_mode=False)
    except UserError as error:
        return _fail(error.code, str(error), USER_HINTS.get(error.code, USER_HINTS["refused"]), 1)
    except PostroomError as error:
        from postroom.kernel.values.errors import hint_of

        return _fail(str(error.code), str(error), hint_of(error), 1)
    except ClickException as error:
        return _fail("usage", error.format_message(), _usage(error), error.exit_code)
    except typer.Abort:
        return _fail("aborted", "The question was not answered with yes.", USER_HINTS["aborted"], 1)
    return ended if isinstance(ended, int) else 0


def _usage(error: ClickException) -> str:
    if isinstance(error, UsageError) and error.ctx is not None:
        return f"`{error.ctx.command_path} --help` lists what it takes."
    return USER_HINTS["usage"]


def _fail(code: str, message: str, hint: str, ending: int) -> int:
    sys.stderr.write(strict_json(failure_document(code, message, hint), ensure_ascii=False) + "\n")
    return ending
