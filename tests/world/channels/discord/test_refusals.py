"""Each of Discord's refusals has a sentence of its own, and the right class."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from postroom.domain.errors import (
    CredentialsRefused,
    PostroomError,
    ProviderThrottled,
    ValidationError,
)
from postroom.world.channels.discord.refusals import inner_words, read_refusal

NOW = datetime(2026, 3, 1, tzinfo=UTC)


def read(status: int, code: int | None = None, words: str = "", **told: Any) -> PostroomError:
    return read_refusal(status, ({"code": code} if code is not None else {}) | told, None, words, NOW)


@pytest.mark.parametrize(
    ("status", "code", "kind", "said"),
    [
        (401, 0, CredentialsRefused, "does not accept our bot token"),
        (403, 50014, CredentialsRefused, "does not accept our bot token"),
        (403, 50007, ValidationError, "takes no direct messages"),
        (403, 50278, ValidationError, "shares no Discord server"),
        (404, 10003, ValidationError, "no such channel"),
        (403, 50001, ValidationError, "cannot see this"),
        (403, 50013, ValidationError, "lacks the right"),
        (404, 10008, ValidationError, "is gone"),
        (400, 240000, ValidationError, "harmful links"),
        (403, 20016, ProviderThrottled, "slow mode"),
        (403, 40003, ProviderThrottled, "direct messages too fast"),
        (400, 50083, ValidationError, "archived"),
        (404, 424242, ValidationError, "Discord answered 404"),
    ],
)
@pytest.mark.requirement("house:discord-refusals")
def test_a_refusal_has_its_own_sentence(status: int, code: int, kind: type[PostroomError], said: str) -> None:
    error = read(status, code)

    assert type(error) is kind
    assert said in error.message


def test_the_whole_bots_limit_is_said() -> None:
    assert "no requests at all" in read(429, retry_after=3.5, **{"global": True}).message


def test_a_form_error_says_what_is_wrong_with_which_field() -> None:
    errors = {"components": {"0": {"components": {"1": {"url": {"_errors": [{"code": "X", "message": "not a URL"}]}}}}}}

    assert inner_words({"message": "Invalid Form Body", "errors": errors}) == "components.0.components.1.url: not a URL"


@pytest.mark.parametrize("errors", [None, {}, [], {"a": {"_errors": []}}, {"a": 1}, {"_errors": ["x"]}])
def test_odd_form_errors_are_no_trouble(errors: object) -> None:
    assert inner_words({"message": "Invalid Form Body", "errors": errors}) == "Invalid Form Body"
