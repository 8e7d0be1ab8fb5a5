"""`postroom desk`: a popup that asks the person at the screen."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from postroom.system.settings import SettingsError


def desk(
    http: Annotated[bool, typer.Option("--http", help="Serve MCP over HTTP instead of stdio.")] = False,
    host: Annotated[str, typer.Option("--host")] = "127.0.0.1",
    port: Annotated[int, typer.Option("--port")] = 40105,
    check: Annotated[bool, typer.Option("--check", help="Tell whether a popup can be shown, and how.")] = False,
    screenshot: Annotated[Path | None, typer.Option("--screenshot", help="With --check: a picture of it.")] = None,
) -> None:
    """Serve the popup tool `notify` to an MCP client on this machine."""
    from postroom.programs.desk.__main__ import run

    if screenshot is not None and not check:
        raise SettingsError("--screenshot needs --check.")
    raise typer.Exit(run(http=http, host=host, port=port, check=check, picture=screenshot))
