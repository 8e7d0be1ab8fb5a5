"""`postroom ask`, `wait`, `answer` and `asks`: questions from the shell, and their answers back there."""

from __future__ import annotations

import json as documents
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Final, NoReturn

import typer

from postroom.kernel.running.terminal import Home, Json, complain, no_owner_token, say, say_json, seconds_of
from postroom.kernel.text.visible import reveal
from postroom.kernel.values.errors import SettingsError
from postroom.kernel.values.fields import did_you_mean, strict_json
from postroom.kernel.values.principal import OPERATOR
from postroom.questions.model import QuestionStatus
from postroom.settings.glance import SettingsGlance, glance_from_process
from postroom.settings.reach import Elsewhere, NotReached, elsewhere, path_of

_DEFAULT_WAIT: Final = "25s"
_INTERRUPTED: Final = 130
_CODES: Final = {"answered": 0, "open": 10, "expired": 11, "declined": 12, "cancelled": 13, "superseded": 13}
_LOOK_SECONDS: Final = 60.0  # the longest the household lets one look take
_AGAIN_SECONDS: Final = 2.0
_SLACK_SECONDS: Final = 20.0
_MOST: Final = 100
_PAGE: Final = 200
_Wait = Annotated[str, typer.Option("--wait", help="How long to wait, such as 90s, 15m or 1h; 0 only looks.")]
_Values = Annotated[
    list[str] | None, typer.Argument(metavar="VALUE", help="The option; several when several may be chosen.")
]
_Fields = Annotated[list[str] | None, typer.Option("--field", help="One value of a form, as NAME=VALUE.")]


# ---- ask ----


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
    wait: _Wait = _DEFAULT_WAIT,
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
    _end(asked, json=json)


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


# ---- wait ----


def wait(
    ask_id: Annotated[str | None, typer.Argument(metavar="ID", help="The question, by id.")] = None,
    key: Annotated[str | None, typer.Option("--key", help="The key it was asked with, instead of its id.")] = None,
    wait: _Wait = _DEFAULT_WAIT,
    home: Home = None,
    json: Json = False,
) -> None:
    """Wait for an answer; exits with 0 answered, 10 still open, 11 expired, 12 declined, 13 cancelled."""
    if (ask_id is None) == (key is None):
        raise SettingsError("Name the question by its id or with --key, and not both.")
    there, seconds = question_household(home), seconds_of(wait, "--wait")
    found = ask_id if ask_id is not None else _under(there, key or "")
    _end(Patience(there=there, wait_seconds=seconds).until_over(found), json=json)


def _under(there: Elsewhere, key: str) -> str:
    found = there.get("/v1/asks", idempotency_key=key)["asks"]
    if not found:
        raise SettingsError(f"You have asked nothing under the key '{key}'; `postroom asks` lists what you asked.")
    return str(found[0]["ask_id"])


# ---- answer ----


def answer(
    ask_id: Annotated[str, typer.Argument(metavar="ID", help="The question, by id.")],
    values: _Values = None,
    text: Annotated[str | None, typer.Option("--text", help="An answer in your own words.")] = None,
    field: _Fields = None,
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


# ---- asks ----


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
    ended = f" → {_short(_answer_line(one['answer']))}" if one["answer"] else ""
    who = f" ({_short(by['name'])} via {by['channel']})" if by else ""
    about = f" – {_short(asked['context'])}" if asked["context"] else ""
    asker = "Your household" if asked["asked_by"] == str(OPERATOR) else _short(asked["asked_by"])
    told = f"{asker} asks {_short(people)}: {_short(asked['question'])}{about}"
    return f"{one['ask_id']}  {one['status']:10}  {told}{ended}{who}"


def _short(text: str) -> str:
    line = reveal(" ".join(text.split()))
    return line if len(line) <= _MOST else f"{line[: _MOST - 1]}…"


# ---- the household, and waiting for it ----


def question_household(home: str | None) -> Elsewhere:
    settings = glance_from_process({"home": home})
    return elsewhere(settings, home) or _here(settings)


def _here(settings: SettingsGlance) -> Elsewhere:
    from postroom.kernel.guard.tokens import TokenFile

    token = TokenFile(settings.tokens_file).token_of(OPERATOR)
    if token is None:
        raise no_owner_token(settings.tokens_file)
    return Elsewhere(url=settings.own_api_url, token=token)


@dataclass(frozen=True, slots=True, kw_only=True)
class Patience:
    """Ctrl-C ends the waiting and leaves the question as it is."""

    there: Elsewhere
    wait_seconds: float
    now: Callable[[], float] = time.monotonic
    pause: Callable[[float], None] = time.sleep

    def until_over(self, ask_id: str) -> dict[str, Any]:
        """Looks at least once; a household that is away meanwhile is asked again until the time is up."""
        try:
            return self._until_over(ask_id)
        except KeyboardInterrupt:
            complain(f"Stopped waiting; the question stays open. To go on: postroom wait {ask_id}")
            raise typer.Exit(_INTERRUPTED) from None

    def _until_over(self, ask_id: str) -> dict[str, Any]:
        until, was_away = self.now() + self.wait_seconds, False
        while True:
            left = max(until - self.now(), 0.0)
            try:
                found = self._look(ask_id, min(left, _LOOK_SECONDS))
            except NotReached as error:
                if left <= 0:
                    raise
                if not was_away:
                    complain(f"{error} Still waiting.")
                was_away = True
                self.pause(min(left, _AGAIN_SECONDS))
                continue
            if found["status"] != "open" or until <= self.now():
                return found

    def _look(self, ask_id: str, seconds: float) -> dict[str, Any]:
        return self.there.look(path_of("asks", ask_id), seconds + _SLACK_SECONDS, wait=round(seconds, 3))


# ---- how a command ends: the answer on standard output, words on standard error, and a code ----


def _end(document: dict[str, Any], *, json: bool) -> NoReturn:
    """0 answered, 10 still open, 11 expired, 12 declined, 13 cancelled or replaced."""
    if json:
        say_json(document)
    elif document["answer"] is not None:
        say(_answer_line(document["answer"]))
    complain(sentence(document))
    raise typer.Exit(_CODES[document["status"]])


def _answer_line(answer: dict[str, Any]) -> str:
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
