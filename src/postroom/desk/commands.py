"""`postroom desk`: a popup that asks the person at the screen."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from postroom.kernel.values.errors import SettingsError

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
    from postroom.desk.__main__ import run
    from postroom.desk.asks.asking import Named

    if json and not check:
        raise SettingsError("--json needs --check: otherwise the desk serves until it is stopped.")
    named = Named(url=household, token=token)
    code = run(
        http=http,
        host=host,
        port=port,
        check=check,
        asked=named,
        owners_token=_owners_token,
        as_json=json,
    )
    raise typer.Exit(code)


def _owners_token(settings: Settings) -> str | None:
    """None when there is no household here, when its owner has no token, or when another account keeps it."""
    from postroom.kernel.guard.tokens import TokenFile, TokenFileError
    from postroom.kernel.values.principal import OWNER, Principal, Role

    try:
        return TokenFile(settings.tokens_file).token_of(Principal(Role.PERSON, OWNER))
    except TokenFileError:
        return None
