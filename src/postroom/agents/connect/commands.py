"""`postroom connect`: let the coding agent you already use reach you."""

from __future__ import annotations

import os
import shutil
import sys
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from postroom.agents.coding.card import skill_text
from postroom.agents.connect.clients import (
    CLIENTS,
    Client,
    ClientFile,
    FileKind,
    Places,
    Scope,
    Starts,
    answers,
    client_named,
)
from postroom.agents.connect.files import Change, Keeping, connected, is_connected, read_text
from postroom.kernel.running.terminal import Home, Json, complain, say, say_json
from postroom.kernel.values.errors import Mistyped, UserError
from postroom.kernel.values.principal import OWNER
from postroom.people.signing_in.commands import ensure_connection, forget_connection
from postroom.settings.connections import connection_of, home_of
from postroom.settings.glance import glance_from_process

Document = dict[str, Any]
Name = Annotated[str | None, typer.Argument(metavar="CLIENT", help=f"One of {', '.join(CLIENTS)}.")]


def connect(
    client: Name = None,
    list_all: Annotated[bool, typer.Option("--list", help="Say what is connected, and whether it answers.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show the change and write nothing.")] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Write it without asking.")] = False,
    remove: Annotated[bool, typer.Option("--remove", help="Take exactly our entries out again.")] = False,
    user: Annotated[bool, typer.Option("--user", help="For all your projects; this is the default.")] = False,
    project: Annotated[bool, typer.Option("--project", help="Only for the project in this folder.")] = False,
    skill: Annotated[bool, typer.Option("--skill", help="Also install a skill that says when to ask.")] = False,
    finished: Annotated[bool, typer.Option("--finished", help="Also tell you each time it is done.")] = False,
    wait_seconds: Annotated[
        int | None, typer.Option("--wait-seconds", min=5, help="How long a hook waits for your phone.")
    ] = None,
    serves: Annotated[str, typer.Option("--for", help="The person it asks.")] = OWNER,
    home: Home = None,
    json: Json = False,
) -> None:
    """Connect a coding agent: its own files are shown, written and, with --remove, restored."""
    if list_all:
        _list_clients(_places(), home_of(os.environ, home), as_json=json)
        return
    if client is None:
        raise Mistyped(f"Name a client ({', '.join(CLIENTS)}), or say --list.")
    chosen, scope = client_named(client, CLIENTS), _scope(user, project)
    if scope not in chosen.scopes:
        raise Mistyped(f"{chosen.title} has no settings of a project: leave out --project.")
    starts = Starts(
        program=own_program(scope), options=home_options(home), wait_seconds=wait_seconds, finished=finished
    )
    targets = _targets(chosen, scope, starts, skill=skill or remove)
    keeping = Keeping(home=home_of(os.environ, home), client=chosen.name, scope=scope)
    work = ClientWork(
        client=chosen, keeping=keeping, targets=targets, home=home, dry_run=dry_run, yes=yes, as_json=json
    )
    document = _remove(work) if remove else _connect(work, serves)
    if json:
        say_json({"client": chosen.name, "scope": str(scope), **document})


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientWork:
    """What is to be done about one client; with `as_json` people are spoken to beside the answer."""

    client: Client
    keeping: Keeping
    targets: list[ClientFile]
    home: str | None
    dry_run: bool
    yes: bool
    as_json: bool

    def say(self, text: str) -> None:
        complain(text) if self.as_json else say(text)

    def show(self, changes: list[Change], nothing: str) -> bool:
        """Whether there is anything to write."""
        for change in changes:
            if not change.is_none and not (self.as_json and self.yes):
                self.say(change.shown().rstrip("\n"))
        if any(not one.is_none for one in changes):
            return True
        if not self.as_json:
            say(nothing)
        return False


def _connect(work: ClientWork, serves: str) -> Document:
    client = work.client
    changes = [connected(target, read_text(target.path)) for target in work.targets]
    any_change = work.show(changes, f"{client.title} is connected already; nothing to change.")
    if work.dry_run:
        return _document(changes, written=False)
    if any_change:
        _agree(work.yes)
    made = ensure_connection(glance_from_process({"home": work.home}), client.name, serves)
    for change in changes:
        work.keeping.apply(change)
    if any_change and not work.as_json:
        say(f"{client.title} is connected. {client.note}".rstrip())
    if (wrong := answers(made)) and not work.as_json:
        complain(f"But {wrong}. `postroom up` starts a household, `postroom service install` keeps one running.")
        _offer_service(work.home, yes=work.yes)
    return _document(changes, written=True, connected=True, problem=wrong)


def _remove(work: ClientWork) -> Document:
    client, keeping = work.client, work.keeping
    changes = [keeping.removal(target) for target in work.targets]
    any_change = work.show(changes, f"{client.title} is not connected; nothing to remove.")
    if work.dry_run or not any_change:
        return _document(changes, written=False)
    _agree(work.yes)
    for change in changes:
        keeping.remove(change)
    if not work.as_json:
        say(f"{client.title} is not connected any more.")
    if not keeping.is_elsewhere():
        forget_connection(glance_from_process({"home": work.home}), client.name)
    return _document(changes, written=True, connected=False)


def _document(
    changes: list[Change], *, written: bool, connected: bool | None = None, problem: str | None = None
) -> Document:
    """`connected` is how it is afterwards; None when nothing was done."""
    files = [{"file": str(one.path), "changes": not one.is_none, "diff": one.shown()} for one in changes]
    wrote = written and any(one["changes"] for one in files)
    return {"written": wrote, "connected": connected, "problem": problem, "files": files}


def _agree(yes: bool) -> None:
    if yes:
        return
    if not sys.stdin.isatty():
        raise UserError("Nothing was written: say --yes, or --dry-run to look only.")
    if not typer.confirm("Write this?", err=True):
        raise UserError("Nothing was written; --yes answers this beforehand.")


def _offer_service(home: str | None, *, yes: bool) -> None:
    if yes or not sys.stdin.isatty() or not typer.confirm("Install the service now?", err=True):
        return
    from postroom.cli.up import install

    install(home=home)


def _targets(client: Client, scope: Scope, starts: Starts, *, skill: bool) -> list[ClientFile]:
    places = _places()
    targets = list(client.targets(places, scope, starts))
    if skill and client.skills is not None:
        file = client.skills(places, scope) / "postroom" / "SKILL.md"
        targets.append(ClientFile(path=file, format=FileKind.WHOLE, text=skill_text()))
    return targets


def _scope(user: bool, project: bool) -> Scope:
    if user and project:
        raise Mistyped("Choose --user or --project, not both.")
    return Scope.PROJECT if project else Scope.USER


def _places() -> Places:
    environment = dict(os.environ)
    home = Path(environment.get("HOME") or Path.home())
    return Places(home=home, project=Path.cwd(), environment=environment, platform=sys.platform)


# `postroom connect --list`: which clients are here, which are connected, and whether that works now.


_ANY = Starts(program=("postroom",), finished=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    client: str
    title: str
    installed: bool
    connected: list[str]  # scopes
    problem: str | None


def _list_clients(places: Places, home: Path, *, as_json: bool) -> None:
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


# How another program starts this one: the words that go into its files.


def own_program(scope: Scope) -> tuple[str, ...]:
    """Programs with windows have another PATH, so the whole path; but others who share a project have another one."""
    on_path = shutil.which("postroom")
    if scope is Scope.PROJECT and on_path:
        return ("postroom",)
    beside = Path(sys.executable).with_name("postroom")
    if beside.exists():
        return (str(beside),)
    return (on_path,) if on_path else (sys.executable, "-m", "postroom")


def home_options(home: str | None) -> tuple[str, ...]:
    """A household that is not at its usual place is named: the client's environment may be another."""
    usual = home_of({name: one for name, one in os.environ.items() if name != "POSTROOM_HOME"}, None)
    chosen = home_of(os.environ, home)
    return () if chosen == usual else ("--home", str(chosen.absolute()))
