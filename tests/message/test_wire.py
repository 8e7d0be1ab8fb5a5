"""The envelope of a message and the answer to it: read, written, and refused by field."""

from __future__ import annotations

import copy
import json
import random
from dataclasses import replace
from importlib.resources import files
from typing import Any

import jsonschema_rs
import pytest
from tests.support.envelopes import CONTEXT, GOOD, REACT, REPLY, SEND, spoiled
from tests.support.kinds import KINDS

from postroom.delivery.model import Snapshot, WaitKind, WaitReason, outcome_of
from postroom.kernel.values.errors import (
    CircuitOpenError,
    DeliveryTimeout,
    ErrorClass,
    FieldError,
    InternalError,
    OverloadRejected,
    PostroomError,
    ProviderThrottled,
    TargetUnavailable,
    ValidationError,
)
from postroom.kernel.values.ids import DeliveryId
from postroom.message.delivery import DeliveryFailure, Format, Intent, OnUncertain, Priority, Status
from postroom.message.outgoing import refused
from postroom.message.wire import (
    MAX_MARKDOWN_CHARACTERS,
    NotifyRequestContextInput,
    notify_document,
    notify_response,
    parse_notify,
    plain_words,
    read_response,
)

CHANNELS = KINDS
SCHEMA = jsonschema_rs.validator_for(
    json.loads(files("postroom").joinpath("intents/schemas/notify.v1.json").read_text()), validate_formats=True
)


def changed(envelope: dict[str, Any], path: str, value: Any) -> dict[str, Any]:
    """A copy with one field replaced; `...` removes it."""
    copied = copy.deepcopy(envelope)
    *parents, name = path.split(".")
    where = copied
    for parent in parents:
        where = where[parent]
    if value is ...:
        del where[name]
    else:
        where[name] = value
    return copied


def complaints(envelope: Any) -> list[tuple[str, str]]:
    with pytest.raises(ValidationError) as caught:
        parse_notify(envelope, CHANNELS)
    return [(one.field, one.code) for one in caught.value.fields]


@pytest.mark.requirement("notify:notify-v1-envelope-schema", "notify:delivery-intent-validation")
@pytest.mark.parametrize("envelope", GOOD.values(), ids=GOOD.keys())
def test_a_good_envelope_is_read_and_can_be_written_again(envelope: dict[str, Any]) -> None:
    notify = parse_notify(envelope, CHANNELS)

    assert parse_notify(notify_document(notify), CHANNELS) == notify
    assert SCHEMA.is_valid(notify_document(notify))
    assert notify.intent == envelope["delivery"]["intent"]
    assert (notify.context is not None) is ("request_context" in envelope)
    assert SCHEMA.is_valid(envelope)


def test_what_is_not_said_has_a_default() -> None:
    notify = parse_notify(SEND, CHANNELS)

    assert (notify.priority, notify.on_uncertain, notify.subject, notify.idempotency_key) == (
        Priority.MEDIUM,
        None,
        None,
        None,
    )
    assert parse_notify(GOOD["mail"], CHANNELS).on_uncertain is OnUncertain.HOLD


@pytest.mark.requirement(
    "notify:send-intent",
    "notify:reply-intent-requires-request-context",
    "notify:react-intent-requires-emoji-and-thread-identity",
    "notify:missing-required-context-field-for-reply",
    "notify:unsupported-intent",
    "notify:channel-validation",
    "notify:notifyrequestcontextinput-schema",
)
@pytest.mark.parametrize(
    ("envelope", "expected"),
    [
        (changed(SEND, "delivery.message", ...), [("delivery.message", "message_required")]),
        (changed(SEND, "delivery.message", ""), [("delivery.message", "blank")]),
        (changed(SEND, "delivery.message", " \n"), [("delivery.message", "blank")]),
        (changed(SEND, "delivery.message", 5), [("delivery.message", "string_required")]),
        (changed(SEND, "delivery.message", "a\x00"), [("delivery.message", "invalid_text")]),
        (changed(SEND, "delivery.message", "\ud800"), [("delivery.message", "invalid_text")]),
        (changed(SEND, "delivery.message", "x" * 100_001), [("delivery.message", "too_long")]),
        (changed(SEND, "delivery.intent", "shout"), [("delivery.intent", "not_allowed")]),
        (changed(SEND, "delivery.channel", "sms"), [("delivery.channel", "not_allowed")]),
        (changed(SEND, "delivery.channel", ...), [("delivery.channel", "required")]),
        (changed(SEND, "delivery", ...), [("delivery", "object_required")]),
        (changed(SEND, "delivery.extra", 1), [("delivery.extra", "unknown_field")]),
        (changed(SEND, "extra\ud800", 1), [("extra\\ud800", "unknown_field")]),
        (changed(SEND, "extra\x00\n", 1), [("extra\\x00\\x0a", "unknown_field")]),
        (changed(SEND, "schema_version", "notify.v2"), [("schema_version", "not_allowed")]),
        (changed(SEND, "origin_butler", " "), [("origin_butler", "blank")]),
        (changed(SEND, "delivery.subject", "a\nb"), [("delivery.subject", "line_break")]),
        (changed(SEND, "priority", "urgent"), [("priority", "not_allowed")]),
        (changed(REPLY, "request_context", ...), [("request_context", "reply_context_required")]),
        *(
            (changed(REPLY, f"request_context.{name}", ...), [(f"request_context.{name}", "required")])
            for name in ("request_id", "source_channel", "source_endpoint_identity", "source_sender_identity")
        ),
        (
            changed(REPLY, "request_context.source_thread_identity", ...),
            [("request_context.source_thread_identity", "reply_thread_required")],
        ),
        (
            changed(REPLY, "request_context.source_thread_identity", "55"),
            [("request_context.source_thread_identity", "thread_format")],
        ),
        (
            changed(REPLY, "request_context.received_at", "yesterday"),
            [("request_context.received_at", "rfc3339_string_required")],
        ),
        (changed(REACT, "delivery.emoji", ...), [("delivery.emoji", "react_emoji_required")]),
        (changed(REACT, "request_context", ...), [("request_context", "react_context_required")]),
        (
            changed(REACT, "request_context.source_thread_identity", ...),
            [("request_context.source_thread_identity", "react_thread_required")],
        ),
        (changed(REACT, "delivery.channel", "email"), [("delivery.intent", "react_unsupported")]),
    ],
    ids=lambda value: value[0][0] + " " + value[0][1] if isinstance(value, list) else "",
)
def test_a_wrong_field_is_named(envelope: dict[str, Any], expected: list[tuple[str, str]]) -> None:
    assert complaints(envelope) == expected


@pytest.mark.parametrize("envelope", [None, 5, "text", [], [SEND]], ids=repr)
def test_what_is_no_object_is_refused(envelope: Any) -> None:
    assert complaints(envelope)[0] == ("notify_request", "object_required")
    assert ("delivery", "object_required") in complaints({**SEND, "delivery": envelope})


def test_everything_that_is_wrong_is_told_at_once() -> None:
    wrong = {"origin_butler": 5, "delivery": {"intent": "shout", "channel": "sms", "subject": 1}, "extra": 1}

    assert {field for field, _ in complaints(wrong)} == {
        "extra",
        "schema_version",
        "origin_butler",
        "delivery.intent",
        "delivery.channel",
        "delivery.message",
        "delivery.subject",
    }


def test_a_flood_of_unknown_fields_is_answered_briefly() -> None:
    flood = {**SEND, **{f"field-{number}": number for number in range(100_000)}}

    with pytest.raises(ValidationError) as caught:
        parse_notify(flood, CHANNELS)

    assert len(caught.value.fields) == 21
    assert caught.value.fields[-1].error == "99980 more unknown fields"


@pytest.mark.requirement("notify:valid-request-context", "notify:notifyrequestcontextinput-schema")
def test_the_typed_dict_lists_the_fields_of_a_context() -> None:
    required = {"request_id", "source_channel", "source_endpoint_identity", "source_sender_identity"}

    assert NotifyRequestContextInput.__required_keys__ == required
    assert NotifyRequestContextInput.__optional_keys__ == {"source_thread_identity", "received_at"}
    only_required = {name: value for name, value in CONTEXT.items() if name in required}
    assert parse_notify({**SEND, "request_context": only_required}, CHANNELS).context is not None


@pytest.mark.requirement("messenger:envelope-validation")
def test_ten_thousand_spoiled_envelopes_are_judged_alike_by_the_validator_and_the_schema() -> None:
    dice = random.Random(20260101)
    accepted = 0
    for _ in range(10_000):
        envelope = spoiled(dice)
        try:
            parse_notify(envelope, CHANNELS)
        except ValidationError as error:
            assert error.fields
            assert all(one.field and one.error and one.code for one in error.fields)
            assert not SCHEMA.is_valid(envelope), (envelope, error.message)
        else:
            accepted += 1
            assert SCHEMA.is_valid(envelope), (envelope, [one.message for one in SCHEMA.iter_errors(envelope)])

    assert 100 < accepted < 5_000  # both sides of the line were really visited


@pytest.mark.requirement("chan:auto")
def test_auto_is_a_channel_for_sending_and_for_nothing_else() -> None:
    sent = changed(SEND, "delivery.channel", "auto")

    assert parse_notify(sent, CHANNELS).channel == "auto"
    assert SCHEMA.is_valid(sent)
    for envelope in (REPLY, REACT):
        answered = changed(envelope, "delivery.channel", "auto")
        assert complaints(answered) == [("delivery.channel", "auto_sends_only")]
        assert not SCHEMA.is_valid(answered)


@pytest.mark.requirement("content:format-carried", "content:plain-exact")
def test_a_format_goes_with_the_message_and_plain_is_what_is_not_said() -> None:
    written = parse_notify(changed(SEND, "delivery.format", "markdown"), CHANNELS)

    assert written.format is Format.MARKDOWN
    assert notify_document(written)["delivery"]["format"] == "markdown"
    assert SCHEMA.is_valid(notify_document(written))
    assert parse_notify(SEND, CHANNELS) == parse_notify(changed(SEND, "delivery.format", "plain"), CHANNELS)
    assert "format" not in notify_document(parse_notify(SEND, CHANNELS))["delivery"]


@pytest.mark.requirement("content:format-refused")
def test_an_unknown_format_and_markdown_that_is_too_long_are_refused_by_name() -> None:
    assert complaints(changed(SEND, "delivery.format", "html")) == [("delivery.format", "not_allowed")]
    assert not SCHEMA.is_valid(changed(SEND, "delivery.format", "html"))
    long = changed(SEND, "delivery.message", "x" * (MAX_MARKDOWN_CHARACTERS + 1))
    assert complaints(changed(long, "delivery.format", "markdown")) == [("delivery.message", "too_long")]
    assert parse_notify(long, CHANNELS).message


SNAPSHOT = Snapshot(
    id=DeliveryId("d"),
    idempotency_key="k",
    fingerprint="f",
    request_id="other",
    origin_butler="health",
    channel="telegram",
    intent=Intent.SEND,
    status=Status.DELIVERED,
    attempts=1,
    possible_duplicate=False,
    not_before_us=0,
    waiting=None,
    provider_delivery_id="77",
    failure=None,
)


@pytest.mark.requirement("notify:successful-delivery-response", "notify:notify-response-envelope")
def test_a_delivered_message_is_ok() -> None:
    assert notify_response(outcome_of(SNAPSHOT, request_id="r")) == {
        "schema_version": "notify_response.v1",
        "status": "ok",
        "request_context": {"request_id": "r"},
        "delivery": {
            "channel": "telegram",
            "delivery_id": "d",
            "status": "delivered",
            "provider_delivery_id": "77",
        },
    }


@pytest.mark.parametrize(
    ("status", "told"),
    [
        (Status.DELIVERED, "ok"),
        (Status.PENDING, "accepted"),
        (Status.IN_PROGRESS, "accepted"),
        (Status.AWAITING_APPROVAL, "pending_approval"),
        (Status.FAILED, "error"),
        (Status.DEAD_LETTERED, "error"),
    ],
)
def test_every_state_has_its_word_and_no_failure_is_ok(status: Status, told: str) -> None:
    assert notify_response(outcome_of(replace(SNAPSHOT, status=status), request_id="r"))["status"] == told


@pytest.mark.requirement("notify:failed-delivery-response", "notify:notify-response-envelope")
@pytest.mark.parametrize(
    ("status", "error_class", "retryable"),
    [
        (Status.FAILED, ErrorClass.VALIDATION, False),
        (Status.FAILED, ErrorClass.INTERNAL, False),
        (Status.FAILED, ErrorClass.UNAVAILABLE, True),
        (Status.DEAD_LETTERED, ErrorClass.UNAVAILABLE, False),  # it is kept for replay: asking again would make two
    ],
)
def test_a_failure_carries_its_class(status: Status, error_class: ErrorClass, retryable: bool) -> None:
    snapshot = replace(SNAPSHOT, status=status, failure=DeliveryFailure(error_class, "why"), provider_delivery_id=None)

    answer = notify_response(outcome_of(snapshot, request_id="r"))

    assert answer["error"] == {"class": error_class, "message": "why", "retryable": retryable}
    assert (answer["error_message"], answer["error_class"], answer["retryable"]) == ("why", error_class, retryable)


def test_a_possible_duplicate_and_a_reason_to_wait_are_said() -> None:
    snapshot = replace(
        SNAPSHOT,
        status=Status.PENDING,
        possible_duplicate=True,
        waiting=WaitReason(kind=WaitKind.OURSELVES, detail="throttled"),
    )

    delivery = notify_response(outcome_of(snapshot, request_id="r"))["delivery"]

    assert (delivery["possible_duplicate"], delivery["waiting_reason"]) == (True, "throttled")


@pytest.mark.parametrize(
    "error",
    [
        ValidationError.of([FieldError("delivery.recipient", "is unknown", "unknown_recipient")]),
        ValidationError("Missing required 'message' parameter"),
        OverloadRejected("too many", limit_type="recipient", retry_after_seconds=2.5),
        TargetUnavailable("nobody answers", retry_after_seconds=1.0),
        ProviderThrottled("429", retry_after_seconds=3.0),
        CircuitOpenError("open", retry_after_seconds=60.0),
        DeliveryTimeout("late"),
        InternalError("our bug"),
    ],
    ids=lambda error: type(error).__name__,
)
def test_a_refusal_says_the_same_after_a_wire(error: PostroomError) -> None:
    told = notify_response(refused(error, request_id="r", channel="telegram"))

    assert notify_response(read_response(told)) == told


@pytest.mark.parametrize("status", Status)
def test_what_became_of_a_delivery_says_the_same_after_a_wire(status: Status) -> None:
    failure = (
        DeliveryFailure(ErrorClass.UNAVAILABLE, "503") if status in (Status.FAILED, Status.DEAD_LETTERED) else None
    )
    told = notify_response(outcome_of(replace(SNAPSHOT, status=status, failure=failure), request_id="r"))

    assert notify_response(read_response(told)) == told


@pytest.mark.parametrize("answer", [{}, {"status": "well"}, {"status": "error"}, {"status": None, "error": []}])
def test_an_answer_that_cannot_be_read_is_never_a_success(answer: dict[str, object]) -> None:
    outcome = read_response(answer)

    assert outcome.status == "error"
    assert outcome.error is not None
    assert not outcome.retryable


def test_plain_text_stays_and_markdown_reads_well() -> None:
    source = "**b** [l](https://a.example)"

    assert plain_words(source, Format.PLAIN) == source
    assert plain_words(source, Format.MARKDOWN) == "b l (https://a.example)"
    assert plain_words("", Format.MARKDOWN) == ""
