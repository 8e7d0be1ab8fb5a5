"""How a command about a question ends: the answer on standard output, words on standard error, and a code."""

from __future__ import annotations

from typing import Any, Final, NoReturn

import typer

from postroom.cli.output import complain, say, say_json
from postroom.domain.strict_json import strict_json

INTERRUPTED: Final = 130
CODES: Final = {"answered": 0, "open": 10, "expired": 11, "declined": 12, "cancelled": 13, "superseded": 13}


def end(document: dict[str, Any], *, json: bool) -> NoReturn:
    """0 answered, 10 still open, 11 expired, 12 declined, 13 cancelled or replaced."""
    if json:
        say_json(document)
    elif document["answer"] is not None:
        say(answer_line(document["answer"]))
    complain(sentence(document))
    raise typer.Exit(CODES[document["status"]])


def answer_line(answer: dict[str, Any]) -> str:
    """A value or the person's words as they are, several values one on each line, a form as JSON."""
    if answer["value"] is not None:
        return str(answer["value"])
    if answer["selected"]:
        return "\n".join(answer["selected"])
    if answer["fields"]:
        return strict_json(answer["fields"], ensure_ascii=False)
    return str(answer["text"] or "")


def sentence(document: dict[str, Any]) -> str:
    by = document["answered_by"] or {}
    name, where = by.get("name", "A person"), by.get("channel", "")
    match document["status"]:
        case "open":
            return f"Not answered yet.{_not_shown(document)} To go on waiting: postroom wait {document['ask_id']}"
        case "answered":
            kept = " The secret had been handed out before." if document["answer"] is None else ""
            return f"{name} answered via {where}.{kept}"
        case "declined":
            return f"{name} would rather not answer."
        case "expired" if document["answer"] is not None:
            return "No one answered in time: this is the default."
        case "expired":
            return "No one answered in time."
        case "cancelled":
            return "The question was taken back."
        case _:
            return "Another question took its place."


def _not_shown(document: dict[str, Any]) -> str:
    failed = [one for one in document["presentations"] if one["status"] == "not_shown"]
    return "".join(f" Not shown to {one['person']} on {one['channel']}: {one.get('reason')}." for one in failed)
