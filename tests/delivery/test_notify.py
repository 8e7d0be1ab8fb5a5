"""The `notify` tool, from a butler's MCP port through switchboard and messenger to the sandbox's phone and mailbox."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Mapping
from typing import Any

import pytest
import pytest_asyncio
from tests.household.living import LIFTED, QUICK, Living, living
from tests.support.envelopes import CONTEXT, notify_route
from tests.support.kinds import KINDS

from postroom.delivery.notify import Notifier, read_arguments, wait_seconds
from postroom.household.peers import OverMcp
from postroom.kernel.running.clock import SystemClock
from postroom.kernel.values.errors import (
    DeliveryTimeout,
    InternalError,
    OutcomeUncertain,
    PostroomError,
    TargetUnavailable,
    ValidationError,
)
from postroom.kernel.values.fields import text_problem
from postroom.message.acts import Notify

pytestmark = pytest.mark.asyncio(loop_scope="module")
CHANNELS = KINDS


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def home_life(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Living]:
    async with living(tmp_path_factory.mktemp("home"), LIFTED, QUICK) as one:
        yield one


class Switchboard:
    """A Peer that keeps what it is asked, and answers or fails as it was told."""

    def __init__(self, answer: dict[str, Any] | PostroomError | None = None) -> None:
        self.answer = answer if answer is not None else {"status": "ok"}
        self.calls: list[dict[str, Any]] = []

    async def call(self, tool: str, arguments: Mapping[str, Any], timeout_seconds: float) -> dict[str, Any]:
        self.calls.append({"tool": tool, **arguments})
        if isinstance(self.answer, PostroomError):
            raise self.answer
        return self.answer


async def asked(switchboard: Switchboard, **arguments: Any) -> dict[str, Any]:
    """Of calls that are right: nothing is noted as refused."""
    clock = SystemClock()
    notifier = Notifier(
        channels=CHANNELS,
        outbound=OverMcp("switchboard", switchboard, clock),
        refusals=None,  # type: ignore[arg-type]
        clock=clock,
        default_wait_seconds=20.0,
    )
    return await notifier.notify(Notify(**arguments), origin_butler="health", request_id="r-1")


# -- the tool ----------------------------------------------------------------------------------------------------


@pytest.mark.requirement(
    "notify:send-intent-envelope",
    "notify:origin-butler-identity",
    "notify:origin-butler-set-automatically",
    "notify:notify-routed-through-switchboard",
    "notify:supported-channel",
)
async def test_a_send_becomes_an_envelope_for_the_switchboard() -> None:
    switchboard = Switchboard()

    await asked(switchboard, channel="telegram", message="Hello", intent="send")

    assert switchboard.calls == [
        {
            "tool": "deliver",
            "notify_request": {
                "schema_version": "notify.v1",
                "origin_butler": "health",
                "delivery": {"intent": "send", "channel": "telegram", "message": "Hello"},
            },
            "request_id": "r-1",
            "wait_seconds": 20.0,
        }
    ]


@pytest.mark.requirement(
    "notify:request-context-propagation",
    "notify:request-context-forwarded-to-envelope",
    "notify:request-context-from-runtime-session",
    "notify:valid-request-context",
)
@pytest.mark.parametrize("context", [CONTEXT, json.dumps(CONTEXT)], ids=["object", "as JSON text"])
async def test_the_request_context_is_forwarded_as_it_is(context: Any) -> None:
    switchboard = Switchboard()

    await asked(switchboard, channel="telegram", message="Yes", intent="reply", request_context=context)

    assert switchboard.calls[0]["notify_request"]["request_context"] == CONTEXT


@pytest.mark.requirement(
    "notify:successful-delivery-response",
    "notify:messenger-routing-via-switchboard",
    "messenger:channel-tool-surface",
    "notify:supported-channel",
)
async def test_a_message_arrives_on_the_phone(home_life: Living) -> None:
    answer = await home_life.notify(message="Take your pills", recipient="2001")

    assert (answer["schema_version"], answer["status"]) == ("notify_response.v1", "ok")
    assert answer["delivery"]["channel"] == "telegram"
    [message] = [one for one in await home_life.received() if one["chat_id"] == "2001"]
    assert message["text"] == "Take your pills"
    assert str(message["message_id"]) == answer["delivery"]["provider_delivery_id"]
    [row] = [row for row in home_life.rows("delivery_requests") if row["id"] == answer["delivery"]["delivery_id"]]
    assert (row["origin_butler"], row["status"]) == ("health", "delivered")


@pytest.mark.requirement("notify:reply-intent-requires-request-context", "notify:request-context-propagation")
async def test_a_reply_arrives_under_the_message_it_answers(home_life: Living) -> None:
    first = await home_life.notify(message="Question?", recipient="2002")
    context = {**CONTEXT, "source_thread_identity": f"2002:{first['delivery']['provider_delivery_id']}"}

    answer = await home_life.notify(intent="reply", message="Answer", request_context=json.dumps(context))

    assert (answer["status"], answer["request_context"]["request_id"]) == ("ok", "inbound-1")
    messages = [one for one in await home_life.received() if one["chat_id"] == "2002"]
    reply = next(one for one in messages if one["text"] == "Answer")
    assert str(reply["reply_to_message_id"]) == first["delivery"]["provider_delivery_id"]


@pytest.mark.requirement("messenger:key-derivation", "messenger:idempotent-delivery-requests")
async def test_the_same_request_in_other_letters_is_answered_once(home_life: Living) -> None:
    first = await home_life.notify(message="Question?", recipient="2004")
    context = {**CONTEXT, "source_thread_identity": f"2004:{first['delivery']['provider_delivery_id']}"}

    answers = [
        await home_life.notify(intent="reply", message="Once", request_context={**context, "request_id": name})
        for name in ("Inbound-7", " inbound-7 ", "INBOUND-7")
    ]

    assert len({one["delivery"]["delivery_id"] for one in answers}) == 1
    assert [one["text"] for one in await home_life.received() if one["chat_id"] == "2004"] == ["Question?", "Once"]


@pytest.mark.requirement("notify:react-intent-requires-emoji-and-thread-identity")
async def test_a_reaction_is_set_on_the_message(home_life: Living) -> None:
    first = await home_life.notify(message="Look", recipient="2003")
    context = {**CONTEXT, "source_thread_identity": f"2003:{first['delivery']['provider_delivery_id']}"}

    answer = await home_life.notify(intent="react", message=None, emoji="👍", request_context=context)

    assert answer["status"] == "ok"
    [message] = [one for one in await home_life.received() if one["chat_id"] == "2003"]
    assert "👍" in json.dumps(message["reactions"], ensure_ascii=False)


@pytest.mark.requirement("notify:failed-delivery-response")
async def test_a_failure_is_told_as_one(home_life: Living) -> None:
    await home_life.fault(channel="telegram", times=1, status=400)

    answer = await home_life.notify(recipient="2004")

    assert answer["status"] == "error"
    assert (answer["error"]["class"], answer["error"]["retryable"]) == ("validation_error", False)
    assert answer["error"]["message"] == answer["error_message"] != ""


@pytest.mark.requirement("notify:duplicate-notify-tolerated", "notify:idempotency-and-replay-tolerance")
async def test_the_same_call_twice_is_one_message(home_life: Living) -> None:
    first = await home_life.notify(message="Once", recipient="2005", idempotency_key="once")
    again = await home_life.notify(message="Once", recipient="2005", idempotency_key="once")
    other = await home_life.notify(message="Other", recipient="2005", idempotency_key="once")

    assert first["delivery"] == again["delivery"]
    assert [one["text"] for one in await home_life.received() if one["chat_id"] == "2005"] == ["Once"]
    assert (other["status"], other["error_class"]) == ("error", "validation_error")


# -- what is refused ---------------------------------------------------------------------------------------------

SUPPORTED = "Supported channels: email, telegram."
MISSING = "Missing required 'message' parameter: say what should be delivered."
REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "no message": ({"message": None}, MISSING),
    "empty message": ({"message": ""}, MISSING),
    "blank message": ({"message": " \n"}, MISSING),
    "no message in a reply": ({"message": None, "intent": "reply", "request_context": CONTEXT}, MISSING),
    "sms": (
        {"channel": "sms"},
        f"Unsupported channel 'sms'. {SUPPORTED}",
    ),
    "no channel": (
        {"channel": None},
        f"Unsupported channel None. {SUPPORTED}",
    ),
    "channel of no kind": ({"channel": ["sms"]}, f"Unsupported channel that is no text. {SUPPORTED}"),
    "intent of no kind": ({"intent": {}}, "Unsupported intent that is no text. Supported intents: send, reply, react."),
    "shout": ({"intent": "shout"}, "Unsupported intent 'shout'. Supported intents: send, reply, react."),
    "empty intent": ({"intent": ""}, "Unsupported intent ''. Supported intents: send, reply, react."),
    "reply without context": ({"intent": "reply"}, "request_context: is required for a reply"),
    "reply without request_id": (
        {"intent": "reply", "request_context": {**CONTEXT, "request_id": None}},
        "request_context.request_id: is required",
    ),
    "reply without thread": (
        {"intent": "reply", "request_context": {**CONTEXT, "source_thread_identity": None}},
        "request_context.source_thread_identity: is required for a reply",
    ),
    "reaction without emoji": (
        {"intent": "react", "message": None, "request_context": CONTEXT},
        "emoji: is required for a reaction",
    ),
    "context that is no JSON": (
        {"intent": "reply", "request_context": "{not json"},
        "request_context: must be an object",
    ),
    "context that is a list": ({"intent": "reply", "request_context": "[1]"}, "request_context: must be an object"),
    "deep nesting": ({"intent": "reply", "request_context": "[" * 5000}, "request_context: must be an object"),
    "wait too long": ({"wait_seconds": 601}, "wait_seconds: must be a number of seconds from 0 to 600"),
    "wait backwards": ({"wait_seconds": -1}, "wait_seconds: must be a number of seconds from 0 to 600"),
    "wait in words": ({"wait_seconds": "long"}, "wait_seconds: must be a number of seconds from 0 to 600"),
}


@pytest.mark.requirement(
    "notify:missing-message-for-send-reply",
    "notify:unsupported-channel",
    "notify:channel-validation",
    "notify:unsupported-intent",
    "notify:delivery-intent-validation",
    "notify:missing-required-context-field-for-reply",
    "notify:reply-intent-requires-request-context",
    "notify:react-intent-requires-emoji-and-thread-identity",
    "notify:send-intent",
)
@pytest.mark.parametrize(("arguments", "sentence"), REFUSED.values(), ids=REFUSED.keys())
async def test_a_wrong_argument_gets_its_sentence_and_a_row_in_the_log(
    home_life: Living, arguments: dict[str, Any], sentence: str
) -> None:
    sent, logged = len(await home_life.received()), len(home_life.rows("delivery_refusals"))

    answer = await home_life.notify(**arguments)

    assert (answer["status"], answer["error"], answer["error_message"]) == ("error", sentence, sentence)
    assert (answer["error_class"], answer["retryable"]) == ("validation_error", False)
    assert len(await home_life.received()) == sent
    rows = home_life.rows("delivery_refusals")
    assert len(rows) == logged + 1
    assert (rows[-1]["origin_butler"], rows[-1]["error_message"]) == ("health", sentence)


ARGUMENTS = (
    "channel message recipient subject intent emoji request_context idempotency_key priority on_uncertain wait_seconds"
)
HOSTILE: list[Any] = [
    5,
    -1.5,
    True,
    [],
    ["a"],
    {},
    {"$ref": "#"},
    "\x00",
    "x" * 200_000,
    10**40,
    {"a": [[[[]]]]},
    "' OR 1=1 --",
    "{{7*7}}",
]


@pytest.mark.parametrize("name", ARGUMENTS.split())
async def test_no_argument_can_break_the_tool(home_life: Living, name: str) -> None:
    for value in HOSTILE:
        if name == "message" and isinstance(value, str) and "\x00" not in value and len(value) < 1000:
            continue  # a fine message
        answer = await home_life.notify(**{name: value})
        fine = name in ("idempotency_key", "subject", "emoji") and isinstance(value, str) and len(value) < 20
        fine = fine or (name == "wait_seconds" and value in (5, True) and value is not True)
        assert answer["status"] == "ok" if fine and "\x00" not in str(value) else answer["status"] == "error", value
        if answer["status"] == "error":
            assert answer["error_class"] == "validation_error"
            assert len(json.dumps(answer)) < 2000


# -- who is speaking ---------------------------------------------------------------------------------------------


async def test_nobody_can_speak_for_another_butler(home_life: Living) -> None:
    envelope = {
        "schema_version": "notify.v1",
        "origin_butler": "general",
        "delivery": {"intent": "send", "channel": "telegram", "message": "Forged", "recipient": "2009"},
    }

    answer = await home_life.call("switchboard", "deliver", {"notify_request": envelope}, caller="health")

    assert answer["error"]["fields"] == [
        {"field": "origin_butler", "error": "is not the caller (butler:health)", "code": "origin_mismatch"}
    ]
    assert "Forged" not in await home_life.texts()
    row = home_life.rows("delivery_refusals")[-1]
    assert (row["origin_butler"], row["error_class"]) == ("health", "validation_error")


async def test_all_that_is_wrong_with_a_message_comes_in_one_answer(home_life: Living) -> None:
    wrong = {
        "priority": 7,
        "format": 0,
        "needs_ack": "yes",
        "wait_seconds": True,
        "attachments": {"path": "/etc/passwd"},
    }
    later = {"wait_seconds": -1, "attachments": [{"paht": "x"}]}

    answers = [
        await home_life.call("health", "notify", {"channel": "telegram", "message": "Wrong", **one})
        for one in (wrong, later)
    ]

    named = [{one["field"] for one in answer["fields"]} for answer in answers]
    assert named == [set(wrong), {"wait_seconds", "attachments[0]", "attachments[0].paht"}]
    assert not any("passwd" in json.dumps(answer) for answer in answers)
    assert "Wrong" not in await home_life.texts()


async def test_a_request_is_not_found_again_under_a_blank_name(home_life: Living) -> None:
    delivery = {"intent": "send", "channel": "telegram", "message": "Nameless", "recipient": "2009"}
    envelope = {"schema_version": "notify.v1", "origin_butler": "health", "delivery": delivery}

    answer = await home_life.call(
        "switchboard", "deliver", {"notify_request": envelope, "request_id": "  "}, caller="health"
    )

    assert [one["field"] for one in answer["error"]["fields"]] == ["request_id"]
    assert "Nameless" not in await home_life.texts()


async def test_no_butler_can_go_past_the_switchboard(home_life: Living) -> None:
    with pytest.raises(TargetUnavailable, match="does not accept our token"):
        await home_life.call("messenger", "route.execute", {"route": {}}, caller="health")
    with pytest.raises(ValidationError, match=r"butler:messenger may not call route\.execute"):
        await home_life.call("messenger", "route.execute", {"route": {}}, caller="messenger")


async def test_a_route_for_somebody_else_s_envelope_is_refused(home_life: Living) -> None:
    envelope = {"schema_version": "notify.v1", "origin_butler": "health", "delivery": {}}
    route = notify_route(envelope)
    route["request_context"]["source_sender_identity"] = "general"

    answer = await home_life.call("messenger", "route.execute", {"route": route}, caller="switchboard")

    assert (answer["schema_version"], answer["status"]) == ("route_response.v1", "error")
    assert answer["error"]["fields"][0]["code"] == "origin_mismatch"


# -- a switchboard in trouble ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("error", "error_class", "retryable", "words"),
    [
        (TargetUnavailable("x"), "target_unavailable", True, "cannot be reached; nothing was sent"),
        (DeliveryTimeout("x"), "timeout", True, "did not answer within 30 s; it may still be delivered"),
        (OutcomeUncertain("switchboard broke off"), "timeout", True, "broke off"),
        (InternalError("bug"), "internal_error", False, "bug"),
        (ValidationError("refused"), "validation_error", False, "refused"),
    ],
    ids=repr,
)
async def test_a_switchboard_in_trouble_is_told_truly(
    error: PostroomError, error_class: str, retryable: bool, words: str
) -> None:
    answer = await asked(Switchboard(error), channel="telegram", message="Hello")

    assert (answer["status"], answer["error"]["class"], answer["retryable"]) == ("error", error_class, retryable)
    assert words in answer["error"]["message"]
    assert answer["error_message"] == answer["error"]["message"]


async def test_what_a_refused_call_wanted_to_say_is_not_on_its_record(home_life: Living) -> None:
    await home_life.notify(channel="sms", message="private words", recipient="private person", intent=5)

    row = home_life.rows("delivery_refusals")[-1]
    assert row["error_message"].startswith("Unsupported channel 'sms'") and "private" not in str(row)


@pytest.mark.parametrize("name", ["ſms\ud800", "x" * 5000, "\x00"])
async def test_a_strange_channel_is_repeated_only_as_far_as_it_can_be(name: str) -> None:
    with pytest.raises(ValidationError) as caught:
        read_arguments(Notify(channel=name, message="x"), origin_butler="health", channels=CHANNELS)

    assert len(caught.value.message) < 400
    assert text_problem(caught.value.message) is None


@pytest.mark.parametrize(("value", "seconds"), [(None, 20.0), (0, 0.0), (600, 600.0), (1.5, 1.5)])
async def test_a_wait_is_a_number_of_seconds(value: object, seconds: float) -> None:
    assert wait_seconds(value, 20.0) == seconds
