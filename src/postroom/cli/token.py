"""`postroom token`: who may call."""

from __future__ import annotations

import asyncio
from typing import Annotated

import typer

from postroom.cli.output import Database, Home, Json, say, say_json
from postroom.domain.agent_address import parse_address
from postroom.domain.nearest import did_you_mean
from postroom.domain.principal import OPERATOR, Principal, Role
from postroom.guard.tokens import TokenFile
from postroom.settings import SettingsError
from postroom.settings.load import from_process

app = typer.Typer(help="Make, list and revoke the tokens callers identify themselves with.", no_args_is_help=True)

User = Annotated[str | None, typer.Option("--user", help="A person, by id.")]
Butler = Annotated[str | None, typer.Option("--butler", help="A butler, by name.")]
Connector = Annotated[str | None, typer.Option("--connector", help="A connector, by name.")]
Email = Annotated[str | None, typer.Option("--email", help="Where that person's e-mail copies go; with --user.")]
Agent = Annotated[str | None, typer.Option("--agent", help="The agent address a connector's token speaks for.")]
Operator = Annotated[bool, typer.Option("--operator", help="The operator of this household.")]


@app.command("create")
def create(
    user: User = None,
    butler: Butler = None,
    connector: Connector = None,
    operator: Operator = False,
    email: Email = None,
    agent: Agent = None,
    home: Home = None,
    database: Database = None,
    json: Json = False,
) -> None:
    """Make a new token; an older one of the same caller stops working."""
    principal = _principal(user, butler, connector, operator)
    if email is not None:
        _remember(principal, email, home, database)
    _print(principal, _file(home).create(principal, agent=_agent(principal, agent)), json)


@app.command("show")
def show(
    user: User = None,
    butler: Butler = None,
    connector: Connector = None,
    operator: Operator = False,
    home: Home = None,
    json: Json = False,
) -> None:
    """Print a token that was made before; who may read the file may do this."""
    principal, file = _principal(user, butler, connector, operator), _file(home)
    token = file.token_of(principal)
    if token is None:
        raise _without_token(principal, file)
    _print(principal, token, json)


@app.command("list")
def list_tokens(home: Home = None, json: Json = False) -> None:
    """Who has a token."""
    names = [str(principal) for principal in _file(home).principals()]
    if json:
        say_json(names)
    else:
        for name in names:
            say(name)


@app.command("revoke")
def revoke(
    user: User = None,
    butler: Butler = None,
    connector: Connector = None,
    operator: Operator = False,
    home: Home = None,
    json: Json = False,
) -> None:
    """Take a token back, at once, in a running household too."""
    principal, file = _principal(user, butler, connector, operator), _file(home)
    if not file.revoke(principal):
        raise _without_token(principal, file)
    if json:
        say_json({"revoked": str(principal)})
    else:
        say(f"{principal} has no token any more.")


def _print(principal: Principal, token: str, as_json: bool) -> None:
    if as_json:
        say_json({"principal": str(principal), "token": token})
    else:
        say(token)


def _without_token(principal: Principal, file: TokenFile) -> SettingsError:
    known = [str(one) for one in file.principals()]
    return SettingsError(f"{principal} has no token{did_you_mean(str(principal), known)}")


def _remember(principal: Principal, email: str, home: str | None, database: str | None) -> None:
    from postroom.app.known_address import remember_address

    if principal.role is not Role.USER:
        raise SettingsError("--email goes with --user: only people get e-mail copies.")
    settings, _ = from_process({"home": home, "database_url": database})
    asyncio.run(remember_address(settings, principal.name, email))


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


def _principal(user: str | None, butler: str | None, connector: str | None, operator: bool) -> Principal:
    chosen = [
        Principal(role, name)
        for role, name in ((Role.USER, user), (Role.BUTLER, butler), (Role.CONNECTOR, connector))
        if name is not None
    ]
    if operator:
        chosen.append(OPERATOR)
    if len(chosen) != 1 or not chosen[0].name.strip():
        raise SettingsError("Name exactly one caller: --user ID, --butler NAME, --connector NAME or --operator.")
    return chosen[0]
