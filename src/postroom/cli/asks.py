"""`postroom asks`: the questions of this household, the newest first."""

from __future__ import annotations

from typing import Annotated, Any, Final

import typer

from postroom.cli.output import Home, Json, say, say_json
from postroom.cli.question_end import answer_line
from postroom.cli.question_household import question_household
from postroom.domain.nearest import did_you_mean
from postroom.domain.principal import OPERATOR
from postroom.domain.question_states import QuestionStatus
from postroom.domain.settings_error import SettingsError
from postroom.work.approvals.visible import reveal

_MOST: Final = 100
_PAGE: Final = 200


def asks(
    status: Annotated[
        str | None, typer.Option("--status", help="open, answered, declined, expired, cancelled or superseded.")
    ] = None,
    mine: Annotated[bool, typer.Option("--mine", help="Only what asks you.")] = False,
    limit: Annotated[int, typer.Option("--limit", min=1, max=10_000, help="How many at most.")] = 50,
    home: Home = None,
    json: Json = False,
) -> None:
    """List questions: of an agent what it asked, of a person what asks them, of the owner all."""
    if status is not None and status not in [*QuestionStatus]:
        names = [str(one) for one in QuestionStatus]
        raise SettingsError(
            f"--status: there is no '{status}'{did_you_mean(status, names)} There are {', '.join(names)}."
        )
    found = _found(home, status, mine, limit)
    if json:
        say_json(found)
        return
    for one in found:
        say(_line(one))
    if not found:
        say("No questions.")


def _found(home: str | None, status: str | None, mine: bool, limit: int) -> list[dict[str, Any]]:
    there, found, cursor = question_household(home), list[dict[str, Any]](), None
    while len(found) < limit:
        most = min(limit - len(found), _PAGE)
        page = there.get("/v1/asks", status=status, mine="true" if mine else None, limit=most, cursor=cursor)
        found += page["asks"]
        cursor = page["next_cursor"]
        if cursor is None:
            break
    return found


def _line(one: dict[str, Any]) -> str:
    """What people and models wrote stays on its line and cannot act on the terminal."""
    asked = one["asked"]
    people = ", ".join(person["name"] for person in asked["to"])
    by = one["answered_by"] or {}
    ended = f" → {_short(answer_line(one['answer']))}" if one["answer"] else ""
    who = f" ({_short(by['name'])} via {by['channel']})" if by else ""
    about = f" – {_short(asked['context'])}" if asked["context"] else ""
    asker = "Your household" if asked["asked_by"] == str(OPERATOR) else _short(asked["asked_by"])
    told = f"{asker} asks {_short(people)}: {_short(asked['question'])}{about}"
    return f"{one['ask_id']}  {one['status']:10}  {told}{ended}{who}"


def _short(text: str) -> str:
    line = reveal(" ".join(text.split()))
    return line if len(line) <= _MOST else f"{line[: _MOST - 1]}…"
