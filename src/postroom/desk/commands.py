"""`postroom desk`: a popup that asks the person at the screen."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from postroom.kernel.values.errors import Mistyped

if TYPE_CHECKING:
    from postroom.settings import Settings

Household = Annotated[
    str | None,
    typer.Option("--household", metavar="URL", help="Whose open questions are shown here, by its API's address."),
]
Token = Annotated[
    str | None,
    typer.Option("--token", help="Of the person who answers them; POSTROOM_TOKEN keeps it out of sight."),
]


def desk(
    http: Annotated[bool, typer.Option("--http", help="Serve MCP over HTTP instead of stdio.")] = False,
    host: Annotated[str, typer.Option("--host")] = "127.0.0.1",
    port: Annotated[int, typer.Option("--port")] = 40105,
    check: Annotated[bool, typer.Option("--check", help="Tell whether a popup can be shown, and how.")] = False,
    household: Household = None,
    token: Token = None,
    json: Annotated[bool, typer.Option("--json", help="With --check: print JSON, for scripts.")] = False,
) -> None:
    """Serve the popup tool `notify` to an MCP client on this machine, and show the household's questions to you."""
    from postroom.desk.asks.asking import Named, whose_questions
    from postroom.desk.model import from_settings
    from postroom.kernel.running.telemetry import configure_log
    from postroom.settings.load import from_process

    if json and not check:
        raise Mistyped("--json needs --check: otherwise the desk serves until it is stopped.")
    household_settings, _ = from_process()
    settings = from_settings(household_settings, os.environ, working_directory=Path.cwd(), user_home=Path.home())
    where = whose_questions(household_settings, Named(url=household, token=token), _owners_token)
    if check:
        from postroom.desk.check import check as examine

        raise typer.Exit(examine(settings, household=where, as_json=json))
    from postroom.desk.server import run_http, run_stdio

    configure_log("WARNING")
    if http:
        run_http(settings, host=host, port=port, household=where)
    else:
        run_stdio(settings, where)


def _owners_token(settings: Settings) -> str | None:
    """None when there is no household here, when its owner has no token, or when another account keeps it."""
    from postroom.kernel.guard.tokens import TokenFile, TokenFileError
    from postroom.kernel.values.principal import OWNER, Principal, Role

    try:
        return TokenFile(settings.tokens_file).token_of(Principal(Role.PERSON, OWNER))
    except TokenFileError:
        return None
