"""`postroom ask`, `wait`, `answer` and `asks`: questions from the shell, and their answers back there."""

from __future__ import annotations

import json as documents
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any, Final, NoReturn

import typer

from postroom.kernel.acts.commands import as_json, read_typed, with_options_of
from postroom.kernel.acts.declaration import Act, Command
from postroom.kernel.acts.reading import made
from postroom.kernel.running.terminal import Home, Json, complain, say, say_json, seconds_of
from postroom.kernel.text.visible import reveal
from postroom.kernel.values.errors import Mistyped, SettingsError
from postroom.kernel.values.fields import did_you_mean, strict_json
from postroom.message.outgoing import known_as
from postroom.questions.acts import AnswerAsk, AskPeople, ListAsks, WaitForAsk
from postroom.questions.model import QuestionStatus
from postroom.questions.rules.request import MAX_DEADLINE_SECONDS
from postroom.questions.shapes import AnswerBody, AskBody, AskedBody
from postroom.settings.glance import glance_from_process
from postroom.settings.reach import Elsewhere, NotReached, running_here

_INTERRUPTED: Final = 130
_CODES: Final = {"answered": 0, "open": 10, "expired": 11, "declined": 12, "cancelled": 13, "superseded": 13}
_LOOK_SECONDS: Final = 60.0  # longer than many a proxy waits
_AGAIN_SECONDS: Final = 2.0
_SLACK_SECONDS: Final = 20.0
_MOST: Final = 100
_PAGE: Final = 200
_Wait = Annotated[str, typer.Option("--wait", help="How long to wait, such as 90s, 15m or 1h; 0 only looks.")]


def _command(kind: type[Act[Any]]) -> Command:
    if (command := kind.declared.command) is None:
        raise LookupError(f"{kind.__name__} has no command")
    return command


def _wait_seconds(wait: str) -> float:
    if (seconds := seconds_of(wait, "--wait")) > MAX_DEADLINE_SECONDS:
        raise Mistyped(f"--wait: must be at most {MAX_DEADLINE_SECONDS // 86_400}d: no question lasts longer.")
    return seconds


# ---- ask ----


@with_options_of(AskPeople, _command(AskPeople))
def ask(wait: _Wait = "25s", home: Home = None, json: Json = False, **typed: Any) -> None:
    """Ask people; exits with 0 answered, 10 still open, 11 expired, 12 declined, 13 cancelled."""
    seconds, one = _wait_seconds(wait), read_typed(AskPeople, {**typed, **_as_meant(typed)}, _command(AskPeople))
    patience = Patience(there=question_household(home), wait_seconds=seconds)
    asked = patience.there.ask(one)
    if asked.status == "open" and patience.wait_seconds > 0:
        complain(f"{'Asked before' if asked.joined else 'Asked'}: {asked.ask_id}")
        asked = patience.until_over(asked.ask_id)
    _end(asked, json=json)


def _as_meant(typed: dict[str, Any]) -> dict[str, Any]:
    """What is typed otherwise than programs say it."""
    question, options = typed["question"], typed["options"] or ()
    return {
        "question": sys.stdin.read() if question == "-" else question,
        "options": [one.strip() for several in options for one in several.split(",") if one.strip()],
        "form": _form(typed["form"]),
    }


def _form(text: str | None) -> Any:
    """The act says what is wrong with a form; here it must only be JSON."""
    if text is None:
        return None
    try:
        return documents.loads(Path(text[1:]).read_text(encoding="utf-8") if text.startswith("@") else text)
    except OSError as error:
        raise SettingsError(f"--form: {text[1:]} cannot be read ({error.strerror}); name a file after the @.") from None
    except (ValueError, RecursionError):
        raise Mistyped("--form: this is not JSON; write a JSON Schema, or @FILE with one.") from None


# ---- wait ----


@with_options_of(WaitForAsk, _command(WaitForAsk))
def wait(wait: _Wait = "25s", home: Home = None, json: Json = False, **typed: Any) -> None:
    """Wait for an answer; exits with 0 answered, 10 still open, 11 expired, 12 declined, 13 cancelled."""
    if (typed["ask_id"] is None) == (typed["idempotency_key"] is None):
        raise Mistyped("Name the question by its id or with --idempotency-key, and not both.")
    one: WaitForAsk = read_typed(WaitForAsk, typed, _command(WaitForAsk))
    seconds, there = _wait_seconds(wait), question_household(home)
    found = one.ask_id if one.ask_id is not None else _under(there, one.idempotency_key or "")
    _end(Patience(there=there, wait_seconds=seconds).until_over(found), json=json)


def _under(there: Elsewhere, key: str) -> str:
    found = there.ask(made(ListAsks, idempotency_key=key)).asks
    if not found:
        raise SettingsError(f"You have asked nothing under the key '{key}'; `postroom asks` lists what you asked.")
    return found[0].ask_id


# ---- answer ----


@with_options_of(AnswerAsk, _command(AnswerAsk))
def answer(
    values: Annotated[
        list[str] | None, typer.Argument(metavar="VALUE", help="The option; several when several may be chosen.")
    ] = None,
    field: Annotated[list[str] | None, typer.Option("--field", help="One value of a form, as NAME=VALUE.")] = None,
    home: Home = None,
    json: Json = False,
    **typed: Any,
) -> None:
    """Answer a question as the person it asks; exits with 0 when the answer counts."""
    if sum((bool(values), typed["text"] is not None, bool(field), bool(typed["declined"]))) != 1:
        raise Mistyped("Give one of VALUE, --text, --field and --declined.")
    if values or field:
        look: WaitForAsk = read_typed(WaitForAsk, {"ask_id": typed["ask_id"]}, _command(WaitForAsk))
        typed |= _meant(question_household(home), look, values or [], _named(field or []))
    one: AnswerAsk = read_typed(AnswerAsk, typed, replace(_command(AnswerAsk), without=()))
    done = question_household(home).ask(one)
    say_json(as_json(one, done)) if json else complain(sentence(done))


def _meant(there: Elsewhere, look: WaitForAsk, values: list[str], fields: list[str]) -> dict[str, Any]:
    """What was typed, as an answer to that question; `fields` are lines of text, which the household reads."""
    asked = there.ask(look.model_copy(update={"wait_seconds": 0})).asked
    if asked is None:
        return {"value": values[0]} if values else {}
    if fields and asked.kind != "form":
        raise SettingsError("--field: this question is no form; give the answer itself, or --text.")
    if fields:
        return {"text": "\n".join(fields)}
    if asked.kind in ("text", "form"):
        return {"text": " ".join(values)}
    return {"selected": values} if asked.multiple or len(values) > 1 else {"value": values[0]}


def _named(fields: list[str]) -> list[str]:
    named = [one.partition("=") for one in fields]
    if any(not mark for _, mark, _ in named):
        raise Mistyped("--field: write NAME=VALUE.")
    return [f"{name.strip()}: {value}" for name, _, value in named]


# ---- asks ----


@with_options_of(ListAsks, _command(ListAsks))
def asks(
    limit: Annotated[int, typer.Option("--limit", min=1, max=10_000, help="How many at most.")] = 50,
    home: Home = None,
    json: Json = False,
    **typed: Any,
) -> None:
    """List questions: of an agent what it asked, of a person what asks them, of the owner all."""
    status, names = typed["status"], [str(one) for one in QuestionStatus]
    if status is not None and status not in names:
        raise Mistyped(f"--status: there is no '{status}'{did_you_mean(status, names)} There are {', '.join(names)}.")
    first = read_typed(ListAsks, typed, _command(ListAsks))
    found = _found(question_household(home), first, limit)
    if json:
        say_json([one.model_dump(mode="json") for one in found])
        return
    for one in found:
        say(_line(one))
    if not found:
        say("No questions.")


def _found(there: Elsewhere, first: ListAsks, limit: int) -> list[AskBody]:
    found, cursor = list[AskBody](), None
    while len(found) < limit:
        more = made(ListAsks, status=first.status, mine=first.mine, limit=min(limit - len(found), _PAGE), cursor=cursor)
        page = there.ask(more)
        found += page.asks
        cursor = page.next_cursor
        if cursor is None:
            break
    return found


def _line(one: AskBody) -> str:
    """What people and models wrote stays on its line and cannot act on the terminal."""
    asked, by = one.asked, one.answered_by
    ended = f" → {_short(_answer_line(one.answer))}" if one.answer else ""
    who = f" ({_short(by.name)} via {by.channel})" if by else ""
    return f"{one.ask_id}  {one.status:10}  {_asked_line(asked) if asked else ''}{ended}{who}"


def _asked_line(asked: AskedBody) -> str:
    people = ", ".join(person.name for person in asked.to)
    about = f" – {_short(asked.context)}" if asked.context else ""
    return f"{_short(known_as(asked.asked_by))} asks {_short(people)}: {_short(asked.question)}{about}"


def _short(text: str) -> str:
    line = reveal(" ".join(text.split()))
    return line if len(line) <= _MOST else f"{line[: _MOST - 1]}…"


# ---- the household, and waiting for it ----


def question_household(home: str | None) -> Elsewhere:
    return running_here(glance_from_process({"home": home}), home)


@dataclass(frozen=True, slots=True, kw_only=True)
class Patience:
    """Ctrl-C ends the waiting and leaves the question as it is."""

    there: Elsewhere
    wait_seconds: float
    now: Callable[[], float] = time.monotonic
    pause: Callable[[float], None] = time.sleep

    def until_over(self, ask_id: str) -> AskBody:
        """Looks at least once; a household that is away meanwhile is asked again until the time is up."""
        try:
            return self._until_over(ask_id)
        except KeyboardInterrupt:
            complain(f"Stopped waiting; the question stays open. To go on: postroom wait {ask_id}")
            raise typer.Exit(_INTERRUPTED) from None

    def _until_over(self, ask_id: str) -> AskBody:
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
            if found.status != "open" or until <= self.now():
                return found

    def _look(self, ask_id: str, seconds: float) -> AskBody:
        one = made(WaitForAsk, ask_id=ask_id, wait_seconds=round(seconds, 3))
        return self.there.ask(one, seconds + _SLACK_SECONDS)


# ---- how a command ends: the answer on standard output, words on standard error, and a code ----


def _end(asked: AskBody, *, json: bool) -> NoReturn:
    """0 answered, 10 still open, 11 expired, 12 declined, 13 cancelled or replaced."""
    if json:
        say_json(asked.model_dump(mode="json"))
    elif asked.answer is not None:
        say(_answer_line(asked.answer))
    complain(sentence(asked))
    raise typer.Exit(_CODES[asked.status])


def _answer_line(answer: AnswerBody) -> str:
    """A value or the person's words as they are, several values one on each line, a form as JSON."""
    if answer.value is not None:
        return answer.value
    if answer.selected:
        return "\n".join(answer.selected)
    if answer.fields:
        return strict_json(answer.fields, ensure_ascii=False)
    return answer.text or ""


def sentence(asked: AskBody) -> str:
    by = asked.answered_by
    name, where = (by.name, by.channel) if by else ("A person", "")
    match asked.status:
        case "open":
            return f"Not answered yet.{_not_shown(asked)} To go on waiting: postroom wait {asked.ask_id}"
        case "answered":
            kept = " The secret had been handed out more than five minutes ago." if asked.answer is None else ""
            return f"{name} answered via {where}.{kept}"
        case "declined":
            return f"{name} would rather not answer."
        case "expired" if asked.answer is not None:
            return "No one answered in time: this is the default."
        case "expired":
            return "No one answered in time."
        case "cancelled":
            return "The question was taken back."
        case _:
            return "Another question took its place."


def _not_shown(asked: AskBody) -> str:
    failed = [one for one in asked.presentations if one.status == "not_shown"]
    return "".join(f" Not shown to {one.person} on {one.channel}: {one.reason}." for one in failed)
