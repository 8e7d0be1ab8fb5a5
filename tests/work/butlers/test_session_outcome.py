from __future__ import annotations

import pytest

from postroom.domain.errors import ErrorClass, TargetUnavailable
from postroom.domain.runtime import Ended
from postroom.domain.session import SessionEvent
from postroom.domain.transcript import Transcript
from postroom.work.butlers.session_outcome import judge, not_started

GOOD, BAD = Transcript(finished=True, text="Done."), Transcript(finished=False)


def ended(exit_code: int | None = 0, timed_out: bool = False, stderr: bytes = b"") -> Ended:
    return Ended(exit_code=exit_code, timed_out=timed_out, stdout=b"", stderr=stderr)


@pytest.mark.parametrize(
    ("transcript", "end", "event", "error_class"),
    [
        pytest.param(GOOD, ended(), SessionEvent.FINISH, None, id="good"),
        pytest.param(GOOD, ended(1), SessionEvent.FINISH, None, id="good in spite of its exit code"),
        pytest.param(BAD, ended(0), SessionEvent.FAIL, ErrorClass.UNAVAILABLE, id="bad in spite of its exit code"),
        pytest.param(GOOD, ended(None, True), SessionEvent.TIME_OUT, ErrorClass.TIMEOUT, id="too late"),
    ],
)
def test_what_the_model_did_decides(
    transcript: Transcript, end: Ended, event: SessionEvent, error_class: ErrorClass | None
) -> None:
    outcome = judge(transcript, end, timeout_seconds=300.0)

    assert (outcome.event, outcome.error_class) == (event, error_class)


def test_last_words_are_kept_in_part_and_without_control_characters() -> None:
    complaint = b"\x1b[31mno key\x00\xff " + b"x" * 9_000

    kept = judge(BAD, ended(41, stderr=complaint), timeout_seconds=1.0).transcript

    assert kept["exit_code"] == 41
    assert len(kept["complaint"]) == 2_000
    assert "\x1b" not in kept["complaint"] and "\x00" not in kept["complaint"]


def test_what_could_not_be_started_says_why() -> None:
    outcome = not_started(TargetUnavailable("not installed"))

    assert (outcome.event, outcome.error_message) == (SessionEvent.FAIL, "not installed")
