"""What an ntfy server's answers mean, in a sentence of their own."""

from __future__ import annotations

import json
from datetime import UTC, datetime

import pytest

from postroom.domain.errors import CredentialsRefused, ProviderThrottled, ValidationError
from postroom.world.channels.ntfy.answers import events, read_refusal, until_reset
from postroom.world.http.http_call import HttpAnswer

NOON = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)


def refused(code: int) -> HttpAnswer:
    return HttpAnswer(status=code // 100, body=json.dumps({"code": code, "error": "no"}).encode())


@pytest.mark.parametrize(
    ("code", "kind", "words"),
    [
        (40101, CredentialsRefused, "ntfy does not accept our token"),
        (40301, CredentialsRefused, "ntfy does not allow us this topic: the token needs access to it"),
        (40009, ValidationError, "ntfy answered 400: no"),
        (41301, ValidationError, "ntfy answered 413: no"),
        (50701, ValidationError, "ntfy answered 507: no; the topic takes no messages"),
        (42901, ProviderThrottled, "ntfy answered 429: no"),
        (42908, ProviderThrottled, "ntfy answered 429: no; the day's quota is used up"),
    ],
)
def test_each_refusal_has_its_class_and_its_sentence(code: int, kind: type[Exception], words: str) -> None:
    error = read_refusal(refused(code), "no", NOON)
    assert (type(error), error.message) == (kind, words)


@pytest.mark.parametrize(
    ("now", "wait"),
    [
        (NOON, 43_200.0),
        (datetime(2026, 3, 1, 23, 59, 30, tzinfo=UTC), 30.0),
        (datetime(2026, 3, 2, 0, 0, 1, tzinfo=UTC), 60.0),
        (datetime.fromisoformat("2026-03-01T23:00:00-05:00"), 72_000.0),
    ],
    ids=["noon", "nearly over", "their midnight is a little later", "another zone"],
)
def test_a_daily_quota_lasts_until_midnight_in_utc(now: datetime, wait: float) -> None:
    assert until_reset(now) == wait


def test_lines_that_are_no_events_are_passed_over() -> None:
    assert list(events(b'{"id":"a"}\n\n[1]\nnonsense\n{"id":"b"}')) == [{"id": "a"}, {"id": "b"}]
