from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from postroom.domain.errors import CredentialsRefused, OutcomeUncertain, TargetUnavailable, ValidationError
from postroom.world.channels.slack.refusals import AWAY, CREDENTIALS, PERMISSIONS, SENTENCES, UNSURE, refusal
from postroom.world.http.http_call import HttpAnswer

NOW = datetime(2026, 3, 1, tzinfo=UTC)


def said(code: object, status: int = 200, **more: Any) -> Exception:
    return refusal(HttpAnswer(status=status, body=b""), {"ok": False, "error": code, **more}, NOW)


@pytest.mark.requirement("house:slack-refusals")
@pytest.mark.parametrize("code", SENTENCES)
def test_a_refused_message_or_recipient_is_final_and_says_why(code: str) -> None:
    error = said(code)

    assert isinstance(error, ValidationError)
    assert str(error) == f"{SENTENCES[code]} ({code})"


@pytest.mark.requirement("house:slack-refusals")
@pytest.mark.parametrize(
    ("codes", "kind", "words"),
    [
        (CREDENTIALS, CredentialsRefused, "Slack does not accept our token"),
        (PERMISSIONS, CredentialsRefused, "the Slack app lacks a permission"),
        (AWAY, TargetUnavailable, "Slack cannot do this now"),
        (UNSURE, OutcomeUncertain, "it may have been carried out"),
    ],
)
def test_what_is_no_messages_fault_is_told_apart(codes: frozenset[str], kind: type[Exception], words: str) -> None:
    for code in codes:
        error = said(code)
        assert type(error) is kind
        assert words in str(error)


def test_a_missing_permission_is_named() -> None:
    assert (
        str(said("missing_scope", needed="im:history"))
        == "the Slack app lacks a permission (missing_scope: im:history)"
    )
    assert str(said("missing_scope", needed="what <you> said")) == "the Slack app lacks a permission (missing_scope)"


@pytest.mark.parametrize("code", ["A sentence that quotes the message", 7, None, "x" * 65])
def test_what_is_no_code_is_not_repeated(code: object) -> None:
    assert str(said(code)) == "Slack refused this and did not say why"
    assert str(said(code, status=400)) == "Slack answered 400"
