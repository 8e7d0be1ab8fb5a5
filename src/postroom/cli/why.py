"""`postroom why`: one paragraph on why a message or a question is where it is."""

from __future__ import annotations

import asyncio
from dataclasses import asdict
from typing import Annotated, Any

import typer

from postroom.cli.elsewhere import Elsewhere, elsewhere, path_of
from postroom.cli.output import Database, Home, Json, say, say_json
from postroom.system.settings import Settings
from postroom.system.settings.load import from_process


def why(
    identifier: Annotated[
        str,
        typer.Argument(metavar="ID", help="A delivery, a request, a note, a question or a message to a butler."),
    ],
    home: Home = None,
    database: Database = None,
    json: Json = False,
) -> None:
    """Say in plain English why a message or question is where it is, from the ledger or from POSTROOM_URL."""
    settings, _ = from_process({"home": home, "database_url": database})
    told = _reasons(settings, identifier, elsewhere(settings, home, database))
    if json:
        say_json(told)
        return
    for number, one in enumerate(told):
        if len(told) > 1:
            say(f"{'' if number == 0 else chr(10)}{one['id']}")
        say(one["why"])


def _reasons(settings: Settings, identifier: str, there: Elsewhere | None) -> list[dict[str, Any]]:
    if there is not None:
        found: list[dict[str, Any]] = there.get(path_of("deliveries", identifier, "why"))["reasons"]
        return found
    return asyncio.run(_from_ledger(settings, identifier))


async def _from_ledger(settings: Settings, identifier: str) -> list[dict[str, Any]]:
    from postroom.app.ledger_view import ledger_view

    async with ledger_view(settings) as view:
        return [asdict(one) for one in await view.why(identifier)]
