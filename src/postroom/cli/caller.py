"""Which caller the options of a command name."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated

import typer

from postroom.domain.nearest import did_you_mean
from postroom.domain.principal import OPERATOR, OWNER, Principal, Role
from postroom.domain.settings_error import SettingsError
from postroom.doors.guard.token_document import Held

Person = Annotated[str | None, typer.Option("--person", help="A person, by id; decides and answers.")]
Program = Annotated[str | None, typer.Option("--program", help="A program that serves one person, by name.")]
User = Annotated[
    str | None, typer.Option("--user", help="A token of an earlier kind: a person, by id, for the inbox alone.")
]
Butler = Annotated[str | None, typer.Option("--butler", help="A butler, by name.")]
Connector = Annotated[str | None, typer.Option("--connector", help="A connector, by name.")]
Operator = Annotated[
    bool, typer.Option("--operator", help="The owner, for commands and programs on the household's own machine.")
]


def caller(
    *,
    person: str | None,
    program: str | None,
    user: str | None,
    butler: str | None,
    connector: str | None,
    operator: bool,
    serves: str | None = None,
) -> Principal | None:
    """None when the options name no caller; of a program `serves` may be missing here."""
    named = (
        (Role.PERSON, person),
        (Role.PROGRAM, program),
        (Role.USER, user),
        (Role.BUTLER, butler),
        (Role.CONNECTOR, connector),
    )
    chosen = [Principal(role, _name(role, name)) for role, name in named if name is not None]
    chosen += [OPERATOR] if operator else []
    if len(chosen) > 1:
        raise one_caller()
    if serves is not None:
        return _program(chosen, serves)
    return chosen[0] if chosen else None


def one_caller() -> SettingsError:
    return SettingsError(
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


def _program(chosen: list[Principal], serves: str) -> Principal:
    if not chosen or chosen[0].role is not Role.PROGRAM:
        raise SettingsError("--for goes with --program: it says whose inbox the program writes to.")
    return Principal(Role.PROGRAM, chosen[0].name, person=_name(Role.PERSON, serves))


def _name(role: Role, text: str) -> str:
    name = text.strip()
    if not name:
        raise SettingsError(f"The {role}'s name is empty: give one.")
    if role in (Role.PERSON, Role.USER) and name == OPERATOR.name:
        raise SettingsError(
            f"'{name}' is no person's id; the person this household belongs to is '{OWNER}': write that."
        )
    return name
