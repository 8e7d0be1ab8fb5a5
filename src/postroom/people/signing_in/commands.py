"""`postroom token` and `postroom login`: who may call, and who signs in."""

from __future__ import annotations

import asyncio
import os
import shlex
import socket
from collections.abc import Callable, Iterable, Mapping, Sequence
from inspect import Parameter, Signature, signature
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from postroom.cli.application import noted
from postroom.kernel.audit import AuditKind
from postroom.kernel.guard.tokens import Held, TokenFile, token_id
from postroom.kernel.running.clock import SystemClock
from postroom.kernel.running.terminal import Database, Home, Json, complain, say, say_json
from postroom.kernel.values.errors import Mistyped, SettingsError
from postroom.kernel.values.fields import did_you_mean
from postroom.kernel.values.ids import parse_text
from postroom.kernel.values.principal import HOUSEHOLD_OWNER, OPERATOR, OWNER, Principal, Role, parse_address
from postroom.kernel.values.zones import relative
from postroom.people.model import inbox_of
from postroom.settings import Settings
from postroom.settings.connections import Connection, changing, connection_of
from postroom.settings.glance import SettingsGlance
from postroom.settings.load import from_process

if TYPE_CHECKING:
    from postroom.household.store import Store
    from postroom.people.model import Person as ModelPerson


For = Annotated[str | None, typer.Option("--for", help="Whose inbox a program writes to and reads; with --program.")]
Label = Annotated[str, typer.Option("--label", help="The device or machine it is for, to know it again in the list.")]
Email = Annotated[
    str | None, typer.Option("--email", help="Where that person's e-mail copies go; with --person or --user.")
]
Agent = Annotated[str | None, typer.Option("--agent", help="The agent address a connector's tokens speak for.")]
Id = Annotated[str | None, typer.Argument(metavar="ID", help="One token, by its id in the list or the start of it.")]
As = Annotated[
    str | None, typer.Option("--as", help="Invite this person, by name, alias or id, who sees only what is theirs.")
]
End = Annotated[bool, typer.Option("--end", help="Instead, sign this person out everywhere.")]
app = typer.Typer(help="Make, list and revoke the tokens callers identify themselves with.", no_args_is_help=True)


# Whom a token is for, in the same options at every command; their names are those of the roles.

_CALLERS: Final[Mapping[Role, Any]] = {
    Role.PERSON: typer.Option("--person", help="A person, by id; decides and answers."),
    Role.PROGRAM: typer.Option("--program", help="A program that serves one person, by name."),
    Role.USER: typer.Option("--user", help="A token of an earlier kind: a person, by id, for the inbox alone."),
    Role.BUTLER: typer.Option("--butler", help="A butler, by name."),
    Role.CONNECTOR: typer.Option("--connector", help="A connector, by name."),
    Role.OPERATOR: typer.Option(
        "--operator", help="The owner, for commands and programs on the household's own machine."
    ),
}


def naming_a_caller(run: Callable[..., None]) -> Callable[..., None]:
    """In the place of the parameter `named` stand the options that name a caller; it gets whom they name."""

    def command(**typed: Any) -> None:
        run(named=_caller({role: typed.pop(role) for role in _CALLERS}), **typed)

    options = [
        Parameter(role, Parameter.KEYWORD_ONLY, default=default, annotation=Annotated[kind, option])
        for role, option in _CALLERS.items()
        for kind, default in [(bool, False) if role is Role.OPERATOR else (str | None, None)]
    ]
    parameters = [
        each
        for one in signature(run, eval_str=True).parameters.values()
        for each in (options if one.name == "named" else [one.replace(kind=Parameter.KEYWORD_ONLY)])
    ]
    command.__doc__, command.__name__ = run.__doc__, run.__name__
    command.__signature__ = Signature(parameters)  # type: ignore[attr-defined]
    command.__annotations__ = {one.name: one.annotation for one in parameters}
    return command


def _caller(given: Mapping[Role, Any]) -> Principal | None:
    """None when the options name no caller; of a program it is not known yet whom it serves."""
    chosen = [
        OPERATOR if role is Role.OPERATOR else Principal(role, _name(role, name))
        for role, name in given.items()
        if name is not None and name is not False
    ]
    if len(chosen) > 1:
        raise one_caller()
    return chosen[0] if chosen else None


def one_caller() -> Mistyped:
    return Mistyped(
        "Name exactly one caller: --person ID, --program NAME --for PERSON, --butler NAME, --connector NAME, "
        "--operator or --user ID."
    )


def known(held: Iterable[Held], principal: Principal) -> Principal:
    """As the file has it: a program's name alone says whom it serves."""
    callers = list(dict.fromkeys(one.principal for one in held))
    found = next((one for one in callers if (one.role, one.name) == (principal.role, principal.name)), None)
    if found is None:
        near = did_you_mean(str(principal), [str(one) for one in callers])
        raise SettingsError(
            f"{principal} has no token{near if near != '.' else '; `postroom token list` shows who has one.'}"
        )
    return found


def _program(named: Principal | None, serves: str) -> Principal:
    if named is None or named.role is not Role.PROGRAM:
        raise Mistyped("--for goes with --program: it says whose inbox the program writes to.")
    return Principal(Role.PROGRAM, named.name, person=_name(Role.PERSON, serves))


def _name(role: Role, text: str) -> str:
    name = text.strip()
    if not name:
        raise Mistyped(f"The {role}'s name is empty: give one.")
    if role in (Role.PERSON, Role.USER) and name == OPERATOR.name:
        raise Mistyped(f"'{name}' is no person's id; the person this household belongs to is '{OWNER}': write that.")
    return name


# `postroom token`.


@app.command("create")
@naming_a_caller
def create(
    named: Principal | None = None,
    serves: For = None,
    label: Label = "",
    email: Email = None,
    agent: Agent = None,
    home: Home = None,
    database: Database = None,
    json: Json = False,
) -> None:
    """Make one more token; the caller's others keep working."""
    principal = named if serves is None else _program(named, serves)
    if principal is None:
        raise one_caller()
    if principal.role is Role.PROGRAM and principal.person is None:
        raise Mistyped("--program needs --for PERSON: whose inbox it writes to; --for owner for your own.")
    principal = _of_known_person(principal, home, database)
    if email is not None:
        _remember(principal, email, home, database)
    token = _file(home).create(principal, label=label.strip(), agent=_agent(principal, agent))
    _note(home, database, "made a token", principal, label.strip())
    _print(Held(principal=principal, token=token, label=label.strip()), json)


@app.command("show")
@naming_a_caller
def show(
    id: Id = None,
    named: Principal | None = None,
    home: Home = None,
    json: Json = False,
) -> None:
    """Print a token that was made before, the caller's newest; who may read the file may do this."""
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
@naming_a_caller
def revoke(
    id: Id = None,
    named: Principal | None = None,
    home: Home = None,
    json: Json = False,
) -> None:
    """Take back one token, or all of a caller, at once, with the caller's console sessions."""
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
        raise Mistyped("Name a token by its id (postroom token list), or a caller such as --person ID.")
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
    from postroom.household.people import id_of

    return Principal(Role.PERSON, asyncio.run(id_of(_settings(home), named.name)) or named.name)


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
    return relative(parse_text(moment), SystemClock().now_us())


def _remember(principal: Principal, email: str, home: str | None, database: str | None) -> None:
    from postroom.cli.up import remember_address

    inbox = inbox_of(principal)
    if principal.role not in (Role.PERSON, Role.USER) or inbox is None:
        raise Mistyped("--email goes with --person or --user: only people get e-mail copies.")
    asyncio.run(remember_address(_settings(home, database), inbox, email))


def _of_known_person(principal: Principal, home: str | None, database: str | None) -> Principal:
    """With the person's id, whichever of their names was said; one who is not known yet is written down."""
    who = principal.person or principal.name
    if principal.role not in (Role.PERSON, Role.PROGRAM) or who == OWNER:
        return principal
    from postroom.household.people import known_person

    person = asyncio.run(known_person(_settings(home, database), who))
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
        raise Mistyped("--agent goes with --connector, and is an address such as agent://household/owner.")
    return address


def _file(home: str | None) -> TokenFile:
    return TokenFile(_settings(home).tokens_file)


def _settings(home: str | None, database: str | None = None) -> Settings:
    settings, _ = from_process({"home": home, "database_url": database})
    return settings


def _note(home: str | None, database: str | None, act: str, principal: Principal, label: str) -> None:
    noted(_settings(home, database), AuditKind.ACCESS, act, subject=str(principal), detail=label)


# `postroom login`: a link that opens the console, once.


def login(name: As = None, end: End = False, home: Home = None, database: Database = None, json: Json = False) -> None:
    """Print a link that signs you in to the console; it works once, for ten minutes."""
    settings = _settings(home, database)
    principal, done = asyncio.run(_login(settings, name, end=end))
    if isinstance(done, str):
        say_json({"principal": str(principal), "url": done}) if json else say(done)
        return
    subject = "" if principal == OPERATOR else f"person:{principal.name}"
    noted(settings, AuditKind.ACCESS, "signed out everywhere", subject=subject)
    say_json({"ended": done}) if json else say(f"{principal} was signed out {done} time{'' if done == 1 else 's'}.")


async def _login(settings: Settings, name: str | None, *, end: bool) -> tuple[Principal, str | int]:
    """The link, or how many sessions ended."""
    from postroom.household.store import open_store
    from postroom.people.signing_in.rules import principal_of
    from postroom.people.signing_in.store import ConsoleSessions

    tokens = TokenFile(settings.tokens_file)
    principal = _principal(name, tokens)
    if not end and not settings.url and settings.ports.api == 0:
        raise SettingsError("ports.api is 0, so only the household knows its port: use the link `postroom up` prints.")
    if not end and principal == OPERATOR:
        tokens.ensure([OPERATOR])  # before the first start there is none
    async with open_store(settings) as store:
        sessions, now_us = ConsoleSessions(store.database, tokens), SystemClock().now_us()
        person = None if principal else await _person(store, name or "", tokens)
        if person is not None and not end:
            return await _invited(settings, store, tokens, person, now_us)
        whom = principal_of(person.id) if person else principal or OPERATOR
        return whom, await (sessions.end_all(whom, now_us) if end else sessions.link(settings.api_url, whom, now_us))


async def _invited(
    settings: Settings, store: Store, tokens: TokenFile, person: ModelPerson, now_us: int
) -> tuple[Principal, str]:
    """Who may run this is the owner, so it invites."""
    from postroom.household.people import build_admissions
    from postroom.people.signing_in.rules import SIGNING_IN, SignInWay, principal_of

    if person.role not in SIGNING_IN:
        raise SettingsError(
            f"{person.name} is a contact, who can be written to and does not sign in. To make a member of them: "
            f"postroom people edit {shlex.quote(person.name)} --role member"
        )
    admissions = build_admissions(settings, store, tokens, settings.api_url)
    await admissions.invite(person, str(OPERATOR), now_us, door="command")
    return principal_of(person.id), await admissions.link(person, now_us, way=SignInWay.TERMINAL)


def _principal(name: str | None, tokens: TokenFile) -> Principal | None:
    """Known by a token; None for one who must be looked up among the household's people."""
    if name is None or name.strip() == OWNER:
        return OPERATOR
    name = name.strip()
    if not name or name == OPERATOR.name:
        raise Mistyped("--as names a person; without it you sign in as the owner.")
    callers = tokens.principals()
    known = (Principal(role, name) for role in (Role.PERSON, Role.USER))
    return next((one for one in known if one in callers), None)


async def _person(store: Store, name: str, tokens: TokenFile) -> ModelPerson:
    found: Sequence[ModelPerson] = await store.people.find(HOUSEHOLD_OWNER, name)
    if len(found) == 1:
        return found[0]
    if found:
        listed = ", ".join(f"{one.name} ({one.id})" for one in found[:5])
        raise SettingsError(f"Several people are called '{name}': {listed}. Name one by id.")
    people = [one.name for one in tokens.principals() if one.role in (Role.PERSON, Role.USER)]
    raise SettingsError(
        f"There is no person '{name}' in the household, and none with a token{did_you_mean(name, people)} "
        f"To add one: postroom people add {shlex.quote(name)} --role member"
    )


# The token that a client's program calls with: made on the first connect, and used again.

_OF_PEOPLE = ("pr_person_", "pr_user_", "pr_operator_")


def ensure_connection(settings: SettingsGlance, program: str, serves: str) -> Connection:
    """Noted where the program finds it; a token of this household that still counts is kept."""
    made = _elsewhere(settings, program) or _here(settings, program, serves)
    with changing(settings.home) as document:
        document["programs"][program] = {"url": made.url, "token": made.token}
    return made


def forget_connection(settings: SettingsGlance, program: str) -> bool:
    """Its token counts no more, when it is one of this machine's household."""
    known = connection_of(settings.home, program)
    if known is None:
        return False
    with changing(settings.home) as document:
        document["programs"].pop(program, None)
    return TokenFile(settings.tokens_file).revoke_one(token_id(known.token))


def _elsewhere(settings: SettingsGlance, program: str) -> Connection | None:
    token = settings.token.reveal() if settings.url and settings.token else ""
    if not token:
        return None
    if token.startswith(_OF_PEOPLE):
        raise SettingsError(
            "POSTROOM_TOKEN is a person's, and one who asks cannot answer. At the household: "
            f"postroom token create --program {program} --for owner --label {_host()}"
        )
    return Connection(url=settings.url.rstrip("/"), token=token)


def _here(settings: SettingsGlance, program: str, serves: str) -> Connection:
    tokens, url = TokenFile(settings.tokens_file), settings.own_api_url
    known = connection_of(settings.home, program)
    held = next((one for one in tokens.held() if known and one.token == known.token), None)
    principal = Principal(Role.PROGRAM, program, person=_program_token_person(settings.home, serves))
    if held is not None and held.principal == principal:
        return Connection(url=url, token=held.token)
    return Connection(url=url, token=tokens.create(principal, label=_host()))


def _program_token_person(home: Path, serves: str) -> str:
    if serves == OWNER:
        return OWNER
    from postroom.household.people import id_of

    found = asyncio.run(id_of(_settings(str(home)), serves))
    if found is None:
        raise SettingsError(f"'{serves}' is not known here; `postroom people list` shows who is.")
    return found


def _host() -> str:
    return os.environ.get("HOSTNAME") or socket.gethostname()
