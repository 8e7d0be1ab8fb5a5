"""`postroom wait`: go on waiting for a question that was asked before."""

from __future__ import annotations

from typing import Annotated

import typer

from postroom.cli.duration import seconds_of
from postroom.cli.elsewhere import Elsewhere
from postroom.cli.output import Home, Json
from postroom.cli.question_end import end
from postroom.cli.question_household import question_household
from postroom.cli.question_wait import DEFAULT_WAIT, Patience, Wait
from postroom.domain.settings_error import SettingsError


def wait(
    ask_id: Annotated[str | None, typer.Argument(metavar="ID", help="The question, by id.")] = None,
    key: Annotated[str | None, typer.Option("--key", help="The key it was asked with, instead of its id.")] = None,
    wait: Wait = DEFAULT_WAIT,
    home: Home = None,
    json: Json = False,
) -> None:
    """Wait for an answer; exits with 0 answered, 10 still open, 11 expired, 12 declined, 13 cancelled."""
    if (ask_id is None) == (key is None):
        raise SettingsError("Name the question by its id or with --key, and not both.")
    there, seconds = question_household(home), seconds_of(wait, "--wait")
    found = ask_id if ask_id is not None else _under(there, key or "")
    end(Patience(there=there, wait_seconds=seconds).until_over(found), json=json)


def _under(there: Elsewhere, key: str) -> str:
    found = there.get("/v1/asks", idempotency_key=key)["asks"]
    if not found:
        raise SettingsError(f"You have asked nothing under the key '{key}'; `postroom asks` lists what you asked.")
    return str(found[0]["ask_id"])
