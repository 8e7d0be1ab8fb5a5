"""`postroom revise` and `postroom recall`: correct a message or a question from the shell."""

from __future__ import annotations

import sys
from typing import Annotated, Any

import typer

from postroom.cli.elsewhere import NotReached, elsewhere, path_of
from postroom.cli.output import Home, Json, complain, say, say_json
from postroom.cli.question_end import sentence
from postroom.cli.question_household import question_household
from postroom.domain.errors import InternalError
from postroom.domain.settings_error import SettingsError
from postroom.system.settings.load import from_process

_MARGIN_SECONDS = 20.0

Identifier = Annotated[
    str, typer.Argument(metavar="ID", help="The delivery that `postroom notify` printed, or a question.")
]
Key = Annotated[str | None, typer.Option("--key", help="Correct once for this key, however often it is called.")]
Wait = Annotated[float | None, typer.Option("--wait", min=0, max=600, help="Seconds to wait for the outcome.")]


def revise(
    identifier: Identifier,
    message: Annotated[str, typer.Argument(metavar="TEXT", help="What it is to say; - reads standard input.")],
    subject: Annotated[str | None, typer.Option("--subject")] = None,
    format: Annotated[str | None, typer.Option("--format", help="Of the text: plain or markdown.")] = None,
    key: Key = None,
    wait_seconds: Wait = None,
    home: Home = None,
    json: Json = False,
) -> None:
    """Give a message another text: in place, by an edit, or by a correction in its thread; exits with 1 when not."""
    text = sys.stdin.read() if message == "-" else message
    asked = {"message": text, "subject": subject, "format": format}
    _correct("revise", identifier, asked, key, wait_seconds, home, json)


def recall(
    identifier: Identifier,
    reason: Annotated[
        str | None, typer.Option("--reason", help="Kept with it; whoever was asked a question sees it.")
    ] = None,
    key: Key = None,
    wait_seconds: Wait = None,
    home: Home = None,
    json: Json = False,
) -> None:
    """Take a message back: withdraw it, delete it, or say in its thread to disregard it; exits with 1 when not."""
    _correct("recall", identifier, {"reason": reason}, key, wait_seconds, home, json)


def _correct(
    act: str,
    identifier: str,
    asked: dict[str, Any],
    key: str | None,
    wait_seconds: float | None,
    home: str | None,
    json: bool,
) -> None:
    given = {name: value for name, value in {**asked, "wait_seconds": wait_seconds}.items() if value is not None}
    answer = _answer(act, identifier, given, key, home)
    if _is_unknown(answer) and (question := _asked(act, identifier, asked, home)) is not None:
        say_json(question) if json else say(_done(act, question))
        raise typer.Exit(0 if act == "revise" or question["status"] == "cancelled" else 1)
    failed = answer["status"] in ("error", "too_late")
    if json:
        say_json(answer)
    elif failed and _names_nothing(answer):
        complain(f"Not corrected: '{identifier}' is the whole id of no message and no question of yours.")
    elif failed:
        complain(f"Not corrected: {answer.get('error_message') or answer.get('message')}")
    else:
        say(f"{answer['message']} Delivery {answer['delivery_id']}.")
    if failed:
        raise typer.Exit(1)


def _answer(act: str, identifier: str, given: dict[str, Any], key: str | None, home: str | None) -> dict[str, Any]:
    """As the owner of this household, or as the caller whose token POSTROOM_TOKEN is."""
    settings, _ = from_process({"home": home})
    patience = given.get("wait_seconds", settings.delivery.notify_wait_seconds) + _MARGIN_SECONDS
    if (there := elsewhere(settings, home)) is not None:
        return there.correct(path_of("deliveries", identifier, act), given, patience, key)
    from postroom.cli.household_peer import call

    named = {"delivery_id": identifier, **given} | ({"idempotency_key": key} if key else {})
    try:
        return call(settings, "messenger", f"{act}_delivery", named, timeout_seconds=patience)
    except InternalError as error:
        raise SettingsError(
            f"The messenger cannot do this: {error.message}. `postroom why ID` says where the message is."
        ) from None


def _is_unknown(answer: dict[str, Any]) -> bool:
    return any(one.get("code") == "unknown_delivery" for one in _fields(answer))


def _names_nothing(answer: dict[str, Any]) -> bool:
    return any(one.get("code") in ("unknown_delivery", "uuid_required") for one in _fields(answer))


def _fields(answer: dict[str, Any]) -> list[dict[str, Any]]:
    error = answer.get("error")
    return (error.get("fields") if isinstance(error, dict) else answer.get("fields")) or []


def _asked(act: str, identifier: str, asked: dict[str, Any], home: str | None) -> dict[str, Any] | None:
    """The question of that id afterwards; None when there is none."""
    path, there = path_of("asks", identifier), question_household(home)
    try:
        if there.find(path) is None:
            return None
    except NotReached:
        return None  # what the messenger said stands
    if act == "recall":
        return there.post(f"{path}/cancel", {"reason": asked["reason"]} if asked["reason"] else {})
    if asked["subject"] is not None:
        raise SettingsError("--subject: a question has none.")
    changes = {"question": asked["message"], "format": asked["format"]}
    return there.post(f"{path}/revise", {name: value for name, value in changes.items() if value is not None})


def _done(act: str, question: dict[str, Any]) -> str:
    if act == "revise":
        return f"The question was changed where it stands. Question {question['ask_id']}."
    if question["status"] == "cancelled":
        return f"The question was taken back. Question {question['ask_id']}."
    return f"Not recalled: {sentence(question)}"
