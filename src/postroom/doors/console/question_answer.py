"""What a person did on the page of a question, as an answer to it."""

from __future__ import annotations

import hashlib
import hmac
from typing import Final

from postroom.domain.question import QuestionKind, Wording
from postroom.doors.console.form import TOKEN_FIELD, Form
from postroom.doors.console.question_fields import given_fields
from postroom.work.questions.given import Given

_NOT_SAID: Final = frozenset({TOKEN_FIELD, "back"})
_LONGEST_REVISION: Final = 9


def given_of(wording: Wording, form: Form, zone: str) -> Given:
    """Total: what makes no sense is an answer that will be refused."""
    if form.all("declined"):
        return Given(declined=True)
    if form.all("text"):
        return Given(text=form.get("text").replace("\r\n", "\n"))
    if wording.kind is QuestionKind.FORM:
        return Given(fields=given_fields(wording, form, zone))
    if wording.multiple:
        return Given(selected=tuple(form.all("selected")))
    return Given(value=form.get("value"))


def revision_of(form: Form) -> int:
    """Of the wording the person had before them; 0, which no wording has, when the page does not say."""
    typed = form.get("revision")
    return int(typed) if typed.isascii() and typed.isdecimal() and len(typed) <= _LONGEST_REVISION else 0


def event_of(session_secret: str, ask_id: str, form: Form) -> str:
    """
    The same press of the same session is one event, however often the browser sends it.

    Keyed with the session, so that what was said cannot be guessed from it.
    """
    said = [ask_id, *(f"{name}={value}" for name, value in form.fields if name not in _NOT_SAID)]
    return hmac.new(session_secret.encode(), "\x1f".join(said).encode(), hashlib.sha256).hexdigest()
