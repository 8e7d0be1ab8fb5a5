"""How a session ended, judged by what the model did and not by an exit code."""

from __future__ import annotations

import re
from typing import Final

from postroom.domain.errors import ErrorClass, PostroomError
from postroom.domain.fields import text_problem
from postroom.domain.runtime import Ended
from postroom.domain.session import NO_MODEL, SessionEvent, SessionOutcome
from postroom.domain.transcript import Transcript, cut, document

MAX_COMPLAINT_CHARACTERS: Final = 2_000
_LOGIN: Final = re.compile(r"log ?in|logged|api[ _-]?key|auth|credential|\b401\b", re.IGNORECASE)


def judge(transcript: Transcript, ended: Ended, *, timeout_seconds: float, lacks: str = "") -> SessionOutcome:
    """`lacks`: what the program was not given and may need; it counts where the program complains of its login."""
    record = document(transcript) | {"exit_code": ended.exit_code, "complaint": _last_words(ended.stderr)}
    if ended.timed_out:
        return SessionOutcome(
            event=SessionEvent.TIME_OUT,
            transcript=record,
            error_class=ErrorClass.TIMEOUT,
            error_message=f"the session was ended after {timeout_seconds:g} s",
        )
    if failure := transcript.failure:
        if lacks and _LOGIN.search(f"{failure}\n{record['complaint']}"):
            failure = f"{NO_MODEL}: {lacks}; {failure}"
        return SessionOutcome(
            event=SessionEvent.FAIL,
            transcript=record,
            error_class=ErrorClass.UNAVAILABLE,
            error_message=_printable(f"{failure} (exit code {ended.exit_code})"),
        )
    return SessionOutcome(event=SessionEvent.FINISH, transcript=record)


def not_started(error: PostroomError) -> SessionOutcome:
    return SessionOutcome(
        event=SessionEvent.FAIL, transcript={}, error_class=error.error_class, error_message=error.message
    )


def _last_words(stderr: bytes) -> str:
    text = _printable(stderr.decode(errors="replace"))
    return text[-MAX_COMPLAINT_CHARACTERS:]


def _printable(text: str) -> str:
    """No control characters: they could write over a terminal, and PostgreSQL takes no NUL."""
    clean = "".join(one if one.isprintable() or one == "\n" else " " for one in text).strip()
    return "" if text_problem(clean) else cut(clean, 2 * MAX_COMPLAINT_CHARACTERS)
