"""One error, and every shape in which a caller can meet it."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

import postroom
from postroom.kernel.values.errors import (
    CircuitOpenError,
    Code,
    DeliveryTimeout,
    FieldError,
    InternalError,
    OverloadRejected,
    PostroomError,
    ProviderThrottled,
    Refused,
    StoreUnavailable,
    ValidationError,
    error_answer,
    error_object,
    failure_document,
    shortened,
)

WRONG = FieldError("a", "is wrong", "wrong")
SHOWN = {"field": "a", "error": "is wrong", "code": "wrong"}


@pytest.mark.parametrize(
    ("error", "more"),
    [
        (OverloadRejected("x", limit_type="global", retry_after_seconds=1.23456), {"retry_after_seconds": 1.235}),
        (OverloadRejected("x", limit_type="global", retry_after_seconds=1), {"limit_type": "global"}),
        (ProviderThrottled("x", retry_after_seconds=5), {"limit_type": "provider"}),
        (CircuitOpenError("x", retry_after_seconds=5), {"type": "CircuitOpenError"}),
        (
            ValidationError.of([FieldError("a", "is wrong", "wrong")]),
            {"fields": [{"field": "a", "error": "is wrong", "code": "wrong"}]},
        ),
    ],
    ids=repr,
)
def test_an_error_brings_what_a_caller_can_use(error: PostroomError, more: dict[str, Any]) -> None:
    shape = error_object(error)

    assert shape.items() >= more.items()
    assert {"class", "message", "retryable"} <= shape.keys()


def test_a_tool_s_answer_repeats_the_class_and_whether_asking_again_can_help() -> None:
    answer = error_answer(StoreUnavailable("disk full"))

    assert (answer["status"], answer["error_class"], answer["retryable"]) == ("error", "target_unavailable", True)
    assert answer["error"]["class"] == "target_unavailable"


@pytest.mark.parametrize(
    ("error", "status", "code", "category", "retryable"),
    [
        (ValidationError("x"), 422, "validation_error", "validation", False),
        (StoreUnavailable("x"), 503, "upstream_unavailable", "transport", True),
        (DeliveryTimeout("x"), 503, "upstream_unavailable", "transport", True),
        (InternalError("x"), 500, "internal_error", "internal", True),
        (Refused(Code.AUTH_FAILED, "x"), 401, "auth_failed", "auth", False),
        (Refused(Code.DELIVERY_FAILED, "x"), 502, "delivery_failed", "transport", True),
    ],
    ids=repr,
)
def test_every_error_has_a_code_of_the_documented_table(
    error: PostroomError, status: int, code: str, category: str, retryable: bool
) -> None:
    told = failure_document(error)

    assert (told["ok"], error.code.status) == (False, status)
    assert (told["error"]["code"], told["error"]["category"], told["error"]["retryable"]) == (code, category, retryable)


@pytest.mark.parametrize("error", [ValidationError.of([WRONG]), Refused.of(Code.SCHEMA_INVALID, [WRONG])], ids=repr)
def test_wrong_fields_are_named_in_every_shape(error: PostroomError) -> None:
    assert error.message == "a: is wrong"
    assert error_object(error)["fields"] == failure_document(error)["error"]["fields"] == [SHOWN]


def test_renamed_fields_are_renamed_in_the_sentence_too() -> None:
    told = Refused.of(Code.SCHEMA_INVALID, [WRONG]).renamed(str.upper)

    assert (told.code, told.message, told.fields[0].field) == (Code.SCHEMA_INVALID, "A: is wrong", "A")


def test_a_sentence_of_its_own_stays_when_fields_are_renamed() -> None:
    assert (
        Refused(Code.RECIPIENT_REQUIRED, "name somebody", fields=[WRONG]).renamed(str.upper).message == "name somebody"
    )


def test_the_parts_of_an_error_are_written_into_answers_here_alone() -> None:
    written = re.compile(r'"(class|category|error_class|fields)": .*\b(error|item|one)\.')
    root = Path(str(postroom.__file__)).parent
    places = {str(file.relative_to(root)) for file in root.rglob("*.py") if written.search(file.read_text())}

    assert places == {"kernel/values/errors.py", "message/wire.py"}


def test_a_wait_that_is_cut_says_what_was_asked_and_what_follows() -> None:
    words = "it asked for a wait of 3 days, which is cut to 1 hour and asked again then"
    assert shortened(3 * 86_400.0) == words
