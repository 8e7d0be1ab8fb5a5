"""`postroom connect --list`: which clients are here, which are connected, and whether that works now."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path

from postroom.cli.output import say, say_json
from postroom.domain.errors import UserError
from postroom.programs.connect.changes import is_connected
from postroom.programs.connect.clients import Client, FileKind, Places, Scope, Starts
from postroom.programs.connect.files import read_text
from postroom.programs.connect.known_clients import CLIENTS
from postroom.programs.connect.live_check import answers
from postroom.programs.connections import connection_of

_ANY = Starts(program=("postroom",), finished=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    client: str
    title: str
    installed: bool
    connected: list[str]  # scopes
    problem: str | None


def list_clients(places: Places, home: Path, *, as_json: bool) -> None:
    rows = [_row(client, places, home) for client in CLIENTS.values()]
    if as_json:
        say_json([asdict(one) for one in rows])
        return
    width = max(len(one.client) for one in rows)
    for row in rows:
        say(f"{row.client.ljust(width)}  {_words(row)}")


def _row(client: Client, places: Places, home: Path) -> Row:
    connected = [str(scope) for scope in client.scopes if _is_connected(client, places, scope)]
    problem = answers(connection_of(home, client.name)) if connected else None
    installed = client.is_installed(places)
    return Row(client=client.name, title=client.title, installed=installed, connected=connected, problem=problem)


def _is_connected(client: Client, places: Places, scope: Scope) -> bool:
    targets = [one for one in client.targets(places, scope, _ANY) if one.format is not FileKind.WHOLE]
    try:
        return all(is_connected(target, read_text(target.path) or "") for target in targets)
    except UserError:
        return False


def _words(row: Row) -> str:
    if not row.connected:
        return "not connected" if row.installed else "not installed here"
    works = f"does not work: {row.problem}" if row.problem else "works"
    return f"connected ({', '.join(row.connected)}), {works}{'' if row.installed else '; not installed here'}"
