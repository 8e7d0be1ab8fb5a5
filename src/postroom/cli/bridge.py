"""`postroom bridge`: the face of it in the list of commands; `postroom.cli.quick` does the work."""

from __future__ import annotations

from typing import Annotated

import typer

from postroom.cli import quick
from postroom.cli.output import Home


def bridge(
    client: Annotated[str, typer.Argument(metavar="CLIENT", help="The client that was connected.")], home: Home = None
) -> None:
    """Carry a connected client's MCP between its standard streams and the household; clients start it."""
    quick.run_bridge(quick.QuickCommand(client=client, home=home))
