"""`postroom ask`: put a question to people from the shell, and go on with what they say."""

from __future__ import annotations

import json as documents
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from postroom.cli.duration import seconds_of
from postroom.cli.output import Home, Json, complain
from postroom.cli.question_end import end
from postroom.cli.question_household import question_household
from postroom.cli.question_wait import DEFAULT_WAIT, Patience, Wait
from postroom.domain.settings_error import SettingsError


def ask(
    question: Annotated[str, typer.Argument(help="What to ask; - reads it from standard input.")],
    options: Annotated[str | None, typer.Option("--options", help="What may be chosen, such as yes,no.")] = None,
    to: Annotated[
        list[str] | None, typer.Option("--to", help="A person; several times for several. The owner by default.")
    ] = None,
    kind: Annotated[str | None, typer.Option("--kind", help="text, choice, approve or form.")] = None,
    context: Annotated[str | None, typer.Option("--context", help="What one must know to answer.")] = None,
    format: Annotated[str | None, typer.Option("--format", help="Of question and context: plain or markdown.")] = None,
    multiple: Annotated[bool, typer.Option("--multiple", help="More than one option may be chosen.")] = False,
    form: Annotated[str | None, typer.Option("--form", help="A flat JSON Schema, or @FILE with one.")] = None,
    only_options: Annotated[bool, typer.Option("--only-options", help="No answers in other words.")] = False,
    secret: Annotated[bool, typer.Option("--secret", help="Answered only in the console or at the desk.")] = False,
    channel: Annotated[
        list[str] | None, typer.Option("--channel", "-c", help="Where to show it; several times for several.")
    ] = None,
    urgency: Annotated[
        str | None, typer.Option("--urgency", help="passive, normal, time_sensitive or critical.")
    ] = None,
    deadline: Annotated[str | None, typer.Option("--deadline", help="How long it stays open; 1d by default.")] = None,
    default: Annotated[str | None, typer.Option("--default", help="What stands when no one answers in time.")] = None,
    remind: Annotated[str | None, typer.Option("--remind", help="Remind once after this time.")] = None,
    escalate_to: Annotated[list[str] | None, typer.Option("--escalate-to", help="Whom to ask as well later.")] = None,
    escalate_after: Annotated[str | None, typer.Option("--escalate-after", help="When to ask them.")] = None,
    wait: Wait = DEFAULT_WAIT,
    key: Annotated[str | None, typer.Option("--key", help="Ask once for this key, however often it is called.")] = None,
    home: Home = None,
    json: Json = False,
) -> None:
    """Ask people; exits with 0 answered, 10 still open, 11 expired, 12 declined, 13 cancelled."""
    patience = Patience(there=question_household(home), wait_seconds=seconds_of(wait, "--wait"))
    body: dict[str, Any] = {
        "question": sys.stdin.read() if question == "-" else question,
        "kind": kind,
        "options": [one.strip() for one in options.split(",") if one.strip()] if options else None,
        "multiple": multiple or None,
        "form": _form(form),
        "allow_text": False if only_options else None,
        "secret": secret or None,
        "to": to or None,
        "channels": channel or None,
        "context": context,
        "format": format,
        "urgency": urgency,
        "deadline_seconds": _seconds(deadline, "--deadline"),
        "default": default,
        "remind_after_seconds": _seconds(remind, "--remind"),
        "escalate_to": escalate_to or None,
        "escalate_after_seconds": _seconds(escalate_after, "--escalate-after"),
        "idempotency_key": key,
    }
    asked = patience.there.post("/v1/asks", {name: value for name, value in body.items() if value is not None})
    if asked["status"] == "open" and patience.wait_seconds > 0:
        complain(f"{'Asked before' if asked['joined'] else 'Asked'}: {asked['ask_id']}")
        asked = patience.until_over(asked["ask_id"])
    end(asked, json=json)


def _seconds(text: str | None, option: str) -> float | int | None:
    if text is None:
        return None
    seconds = seconds_of(text, option)
    return int(seconds) if seconds.is_integer() else seconds


def _form(text: str | None) -> Any:
    """The household says what is wrong with a form; here it must only be JSON."""
    if text is None:
        return None
    try:
        return documents.loads(Path(text[1:]).read_text(encoding="utf-8") if text.startswith("@") else text)
    except OSError as error:
        raise SettingsError(f"--form: {text[1:]} cannot be read ({error.strerror}); name a file after the @.") from None
    except (ValueError, RecursionError):
        raise SettingsError("--form: this is not JSON; write a JSON Schema, or @FILE with one.") from None
