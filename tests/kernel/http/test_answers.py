from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from postroom.kernel.http.answers import DEFAULT_SECONDS, LONGEST, provider_words, refusal, wait_seconds
from postroom.kernel.values.errors import (
    LONGEST_SECONDS,
    CredentialsRefused,
    PostroomError,
    ProviderFailed,
    ProviderThrottled,
    TargetUnavailable,
    ValidationError,
)


@pytest.mark.parametrize(
    ("said", "words"),
    [
        ("Bad Request: chat not found", "Bad Request: chat not found"),
        ("token s3cret! twice s3cret!", "token *** twice ***"),
        ("line\r\nInjected: yes\x1b[31m", "line Injected: yes [31m"),
        ("you wrote the whole letter", ""),
        ("you wrote its second line", ""),
        (None, ""),
        ({"no": "text"}, ""),
    ],
)
def test_words_are_safe_to_repeat(said: object, words: str) -> None:
    assert provider_words(said, secrets=["s3cret!", ""], private=["the whole letter\nits second line"]) == words


@given(st.text())
def test_words_are_one_short_printable_line(said: str) -> None:
    words = provider_words(said)

    assert len(words) <= LONGEST
    assert words.isprintable()


NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (302, TargetUnavailable),
        (400, ValidationError),
        (401, CredentialsRefused),
        (403, CredentialsRefused),
        (404, ValidationError),
        (410, ValidationError),
        (422, ValidationError),
        (429, ProviderThrottled),
        (500, ProviderFailed),
        (502, ProviderFailed),
        (503, TargetUnavailable),
        (504, ProviderFailed),
        (507, TargetUnavailable),
    ],
)
def test_each_status_means_one_thing(status: int, kind: type[PostroomError]) -> None:
    error = refusal("the service", status, None, NOW, ours="key")

    assert type(error) is kind
    assert str(status) in error.message


def test_a_wait_past_reason_is_cut_and_says_so() -> None:
    error = refusal("the service", 429, "86400", NOW, ours="key")

    assert error.retry_after_seconds == 3600.0
    assert "it asked for a wait of" in error.message


RETRY_AFTER_NOW = datetime(2026, 3, 1, 12, 0, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("told", "header", "expected"),
    [
        pytest.param(35, "9", 35.0, id="body before header"),
        pytest.param(None, "9", 9.0, id="header in seconds"),
        pytest.param(None, "Sun, 01 Mar 2026 12:01:00 GMT", 60.0, id="header as a date"),
        pytest.param(None, "Sun, 01 Mar 2026 12:01:00 -0000", 60.0, id="date without a zone"),
        pytest.param(None, "Sun, 01 Mar 2026 11:00:00 GMT", 0.0, id="date that has passed"),
        pytest.param(None, None, DEFAULT_SECONDS, id="nothing"),
        pytest.param("soon", "soon", DEFAULT_SECONDS, id="words"),
        pytest.param(True, None, DEFAULT_SECONDS, id="boolean"),
        pytest.param(float("nan"), "inf", DEFAULT_SECONDS, id="not a number"),
        pytest.param(-5, None, 0.0, id="negative"),
        pytest.param(10**400, None, LONGEST_SECONDS, id="absurd number"),
        pytest.param(None, "999999999999", LONGEST_SECONDS, id="absurd header"),
        pytest.param(None, "Fri, 31 Dec 9999 23:59:59 GMT", LONGEST_SECONDS, id="absurd date"),
    ],
)
def test_the_wait_is_what_the_provider_meant(told: object, header: str | None, expected: float) -> None:
    assert wait_seconds(told, header, RETRY_AFTER_NOW) == expected


@given(st.none() | st.text() | st.integers() | st.floats(), st.none() | st.text())
def test_the_wait_is_always_bounded(told: object, header: str | None) -> None:
    assert 0.0 <= wait_seconds(told, header, RETRY_AFTER_NOW) <= LONGEST_SECONDS
