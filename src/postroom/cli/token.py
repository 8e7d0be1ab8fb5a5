"""`postroom token`: who may call."""

from __future__ import annotations

import asyncio
from typing import Annotated, Any

import typer

from postroom.cli.caller import Butler, Connector, Operator, Person, Program, User, caller, known, one_caller
from postroom.cli.noted import noted
from postroom.cli.output import Database, Home, Json, complain, say, say_json
from postroom.domain.agent_address import parse_address
from postroom.domain.audit import AuditKind
from postroom.domain.principal import OWNER, Principal, Role
from postroom.domain.settings_error import SettingsError
from postroom.doors.guard.token_document import Held, token_id
from postroom.doors.guard.tokens import TokenFile
from postroom.system.settings.load import from_process
from postroom.work.inbox.owner import inbox_of

app = typer.Typer(help="Make, list and revoke the tokens callers identify themselves with.", no_args_is_help=True)

For = Annotated[str | None, typer.Option("--for", help="Whose inbox a program writes to and reads; with --program.")]
Label = Annotated[str, typer.Option("--label", help="The device or machine it is for, to know it again in the list.")]
Email = Annotated[
    str | None, typer.Option("--email", help="Where that person's e-mail copies go; with --person or --user.")
]
Agent = Annotated[str | None, typer.Option("--agent", help="The agent address a connector's tokens speak for.")]
Id = Annotated[str | None, typer.Argument(metavar="ID", help="One token, by its id in the list or the start of it.")]


@app.command("create")
def create(
    person: Person = None,
    program: Program = None,
    serves: For = None,
    user: User = None,
    butler: Butler = None,
    connector: Connector = None,
    operator: Operator = False,
    label: Label = "",
    email: Email = None,
    agent: Agent = None,
    home: Home = None,
    database: Database = None,
    json: Json = False,
) -> None:
    """Make one more token; the caller's others keep working."""
    principal = caller(
        person=person,
        program=program,
        serves=serves,
        user=user,
        butler=butler,
        connector=connector,
        operator=operator,
    )
    if principal is None:
        raise one_caller()
    if principal.role is Role.PROGRAM and principal.person is None:
        raise SettingsError("--program needs --for PERSON: whose inbox it writes to; --for owner for your own.")
    principal = _of_known_person(principal, home, database)
    if email is not None:
        _remember(principal, email, home, database)
    token = _file(home).create(principal, label=label.strip(), agent=_agent(principal, agent))
    _note(home, database, "made a token", principal, label.strip())
    _print(Held(principal=principal, token=token, label=label.strip()), json)


@app.command("show")
def show(
    id: Id = None,
    person: Person = None,
    program: Program = None,
    user: User = None,
    butler: Butler = None,
    connector: Connector = None,
    operator: Operator = False,
    home: Home = None,
    json: Json = False,
) -> None:
    """Print a token that was made before, the caller's newest; who may read the file may do this."""
    named = caller(person=person, program=program, user=user, butler=butler, connector=connector, operator=operator)
    _print(_chosen(_file(home), id, named, home)[-1], json)


@app.command("list")
def list_tokens(home: Home = None, json: Json = False) -> None:
    """Who has a token, since when, and when it was last used."""
    file = _file(home)
    used = file.last_use.read()
    if json:
        say_json([_shape(one, used.get(one.id)) for one in file.held()])
        return
    rows = [_row(one, used.get(one.id)) for one in file.held()]
    widths = [max((len(row[column]) for row in rows), default=0) for column in range(3)]
    for row in rows:
        say("  ".join([*(cell.ljust(width) for cell, width in zip(row, widths, strict=False)), *row[3:]]))


@app.command("revoke")
def revoke(
    id: Id = None,
    person: Person = None,
    program: Program = None,
    user: User = None,
    butler: Butler = None,
    connector: Connector = None,
    operator: Operator = False,
    home: Home = None,
    json: Json = False,
) -> None:
    """Take back one token, or all of a caller, at once, with the caller's console sessions."""
    named = caller(person=person, program=program, user=user, butler=butler, connector=connector, operator=operator)
    file = _file(home)
    gone = _chosen(file, id, named, home)
    principal = gone[0].principal
    file.revoke(principal) if named else file.revoke_one(gone[0].id)
    _note(home, None, "revoked a token", principal, gone[0].label)
    if json:
        say_json({"revoked": str(principal), "ids": [one.id for one in gone]})
    elif left := len(file.ids_of(principal)):
        say(f"Revoked; {principal} has {left} other token{'' if left == 1 else 's'}.")
    else:
        say(f"{principal} has no token any more.")


def _chosen(file: TokenFile, id: str | None, named: Principal | None, home: str | None) -> list[Held]:
    """One token by its id, or all of a caller; never none."""
    if (id is None) == (named is None):
        raise SettingsError("Name a token by its id (postroom token list), or a caller such as --person ID.")
    held = file.held()
    if named is not None:
        principal = known(held, _as_held(held, named, home))
        return [one for one in held if one.principal == principal]
    wanted = (id or "").strip().lower()
    found = [one for one in held if wanted and one.id.startswith(wanted)]
    if len(found) > 1:
        raise SettingsError(
            f"{len(found)} tokens begin with {wanted}: {', '.join(one.id for one in found)}. Give more of it."
        )
    if not found:
        raise SettingsError(f"There is no token {wanted or 'without an id'}; `postroom token list` shows them.")
    return found


def _as_held(held: list[Held], named: Principal, home: str | None) -> Principal:
    """A person by another of their names, when no token is made out to the words themselves."""
    if named.role is not Role.PERSON or any(one.principal == named for one in held):
        return named
    from postroom.app.known_person import id_of

    settings, _ = from_process({"home": home})
    return Principal(Role.PERSON, asyncio.run(id_of(settings, named.name)) or named.name)


def _print(one: Held, as_json: bool) -> None:
    if as_json:
        say_json({"principal": str(one.principal), "id": token_id(one.token), "label": one.label, "token": one.token})
    else:
        say(one.token)


def _shape(one: Held, used: str | None) -> dict[str, Any]:
    return {
        "id": one.id,
        "principal": str(one.principal),
        "for": one.principal.person,
        "label": one.label,
        "created_at": one.created_at,
        "last_used_at": used,
    }


def _row(one: Held, used: str | None) -> tuple[str, ...]:
    serves = f" for {one.principal.person}" if one.principal.person else ""
    made = f"made {_ago(one.created_at)}" if one.created_at else "made before this was noted"
    return one.id, f"{one.principal}{serves}", one.label, made, f"last used {_ago(used)}" if used else "not used yet"


def _ago(moment: str) -> str:
    from postroom.domain.spoken_time import relative
    from postroom.domain.time import parse_text
    from postroom.system.clock import SystemClock

    return relative(parse_text(moment), SystemClock().now_us())


def _remember(principal: Principal, email: str, home: str | None, database: str | None) -> None:
    from postroom.cli.known_address import remember_address

    inbox = inbox_of(principal)
    if principal.role not in (Role.PERSON, Role.USER) or inbox is None:
        raise SettingsError("--email goes with --person or --user: only people get e-mail copies.")
    settings, _ = from_process({"home": home, "database_url": database})
    asyncio.run(remember_address(settings, inbox, email))


def _of_known_person(principal: Principal, home: str | None, database: str | None) -> Principal:
    """With the person's id, whichever of their names was said; one who is not known yet is written down."""
    who = principal.person or principal.name
    if principal.role not in (Role.PERSON, Role.PROGRAM) or who == OWNER:
        return principal
    from postroom.app.known_person import known_person

    settings, _ = from_process({"home": home, "database_url": database})
    person = asyncio.run(known_person(settings, who))
    if person.is_new:
        complain(f"'{who}' was not known, and is now a member of this household; `postroom people show {who}`.")
    if principal.role is Role.PERSON:
        return Principal(Role.PERSON, person.id)
    return Principal(Role.PROGRAM, principal.name, person=person.id)


def _agent(principal: Principal, text: str | None) -> str | None:
    if text is None:
        return None
    address = parse_address(text)
    if principal.role is not Role.CONNECTOR or address is None:
        raise SettingsError("--agent goes with --connector, and is an address such as agent://household/owner.")
    return address


def _file(home: str | None) -> TokenFile:
    settings, _ = from_process({"home": home})
    return TokenFile(settings.tokens_file)


def _note(home: str | None, database: str | None, act: str, principal: Principal, label: str) -> None:
    settings, _ = from_process({"home": home, "database_url": database})
    noted(settings, AuditKind.ACCESS, act, subject=str(principal), detail=label)
