"""`postroom answer`: answer a question as the person it asks."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from postroom.cli.elsewhere import Elsewhere, path_of
from postroom.cli.output import Home, Json, complain, say_json
from postroom.cli.question_end import sentence
from postroom.cli.question_household import question_household
from postroom.domain.settings_error import SettingsError

Values = Annotated[
    list[str] | None, typer.Argument(metavar="VALUE", help="The option; several when several may be chosen.")
]
Fields = Annotated[list[str] | None, typer.Option("--field", help="One value of a form, as NAME=VALUE.")]


def answer(
    ask_id: Annotated[str, typer.Argument(metavar="ID", help="The question, by id.")],
    values: Values = None,
    text: Annotated[str | None, typer.Option("--text", help="An answer in your own words.")] = None,
    field: Fields = None,
    decline: Annotated[bool, typer.Option("--decline", help="You would rather not answer.")] = False,
    home: Home = None,
    json: Json = False,
) -> None:
    """Answer a question as the person it asks; exits with 0 when the answer counts."""
    if sum((bool(values), text is not None, bool(field), decline)) != 1:
        raise SettingsError("Give one of VALUE, --text, --field and --decline.")
    there = question_household(home)
    done = there.post(
        path_of("asks", ask_id, "answer"), _given(there, ask_id, values or [], text, field or [], decline)
    )
    say_json(done) if json else complain(sentence(done))


def _given(
    there: Elsewhere, ask_id: str, values: list[str], text: str | None, fields: list[str], decline: bool
) -> dict[str, Any]:
    if decline:
        return {"declined": True}
    if text is not None:
        return {"text": text}
    asked = there.get(path_of("asks", ask_id))["asked"]
    if fields:
        return _filled(asked, fields)
    if asked["kind"] in ("text", "form"):
        return {"text": " ".join(values)}
    return {"selected": values} if asked["multiple"] or len(values) > 1 else {"value": values[0]}


def _filled(asked: dict[str, Any], fields: list[str]) -> dict[str, Any]:
    """As lines of text, which the household reads as the form wants them."""
    if asked["kind"] != "form":
        raise SettingsError("--field: this question is no form; give the answer itself, or --text.")
    named = [one.partition("=") for one in fields]
    if any(not mark for _, mark, _ in named):
        raise SettingsError("--field: write NAME=VALUE.")
    return {"text": "\n".join(f"{name.strip()}: {value}" for name, _, value in named)}
