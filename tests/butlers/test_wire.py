"""Buttons and revisions travel between parts of one household, and through no door of an agent's."""

from __future__ import annotations

import copy
import random
from typing import Any

import pytest
from tests.support.envelopes import SEND, STRANGE, notify_route
from tests.support.kinds import KINDS

from postroom.butlers.wire import document_within, parse_route, parse_within, route_response
from postroom.kernel.values.errors import ValidationError
from postroom.kernel.values.ids import DeliveryId
from postroom.message.markup import Button, ButtonStyle, Markup
from postroom.message.outgoing import Outgoing
from postroom.message.wire import notify_document, notify_error, parse_notify

CHANNELS = KINDS
DELIVERY = DeliveryId("0198c0de-0000-7000-8000-000000000001")
PLAIN = Outgoing(origin_butler="health", channel="telegram", message="Ship it?", recipient="1000")
MARKUP = Markup(buttons=((Button(label="Yes", token="q1:x", style=ButtonStyle.SUCCESS),),))


def outgoing(**changes: Any) -> Outgoing:
    given: dict[str, Any] = {"origin_butler": "health", "channel": "telegram", "message": "Ship it?"}
    return Outgoing(**(given | changes))


def test_a_plain_message_is_plain_notify_v1() -> None:
    assert document_within(PLAIN) == notify_document(PLAIN)
    assert parse_within(notify_document(PLAIN), CHANNELS) == PLAIN


@pytest.mark.parametrize(
    "sent",
    [
        outgoing(markup=MARKUP),
        outgoing(markup=Markup(force_reply=True, placeholder="Why?")),
        outgoing(revises=DELIVERY),
        outgoing(revises=DELIVERY, message="", markup=MARKUP),
    ],
    ids=["buttons", "a reply", "a revision", "a revision of buttons alone"],
)
@pytest.mark.requirement("house:buttons-are-the-households-own")
def test_what_only_the_household_may_say_arrives_whole_and_an_agents_door_refuses_it(sent: Outgoing) -> None:
    document = document_within(sent)

    assert parse_within(document, CHANNELS) == sent
    with pytest.raises(ValidationError) as refused:
        parse_notify(document, CHANNELS)
    assert "household" in [one.field for one in refused.value.fields]


@pytest.mark.parametrize(
    ("own", "field"),
    [
        ([], "household"),
        ({"buttons": []}, "household"),
        ({"markup": {"buttons": [[{"label": "Yes"}]]}}, "household.markup"),
        ({"revises": "77"}, "household.revises"),
        ({"revises": 77}, "household.revises"),
    ],
)
def test_a_wrong_part_is_named(own: object, field: str) -> None:
    with pytest.raises(ValidationError) as refused:
        parse_within({**notify_document(PLAIN), "household": own}, CHANNELS)

    assert [one.field for one in refused.value.fields] == [field]


def test_without_a_revision_a_message_needs_its_text() -> None:
    with pytest.raises(ValidationError):
        parse_within(document_within(outgoing(message="", markup=MARKUP)), CHANNELS)


ROUTE = notify_route(SEND)


@pytest.mark.requirement("notify:messenger-routing-via-switchboard")
def test_a_notify_travels_inside_a_route() -> None:
    route = parse_route(ROUTE, "messenger")

    assert (route.request_id, route.sender) == ("r-1", "health")
    assert route.context == {"notify_request": SEND}
    assert ROUTE["target"] == {"butler": "messenger", "tool": "route.execute"}


@pytest.mark.parametrize(
    ("path", "value", "field"),
    [
        ("schema_version", "route.v2", "schema_version"),
        ("extra", 1, "extra"),
        ("request_context", None, "request_context"),
        ("request_context.request_id", " ", "request_context.request_id"),
        ("request_context.source_sender_identity", 5, "request_context.source_sender_identity"),
        ("request_context.extra", 5, "request_context.extra"),
        ("input", [], "input"),
        ("input.prompt", None, "input.prompt"),
        ("target.butler", "health", "target.butler"),
        ("target.extra", 1, "target.extra"),
        ("target", "messenger", "target"),
    ],
)
def test_a_wrong_route_is_refused_with_the_path(path: str, value: Any, field: str) -> None:
    route = copy.deepcopy(ROUTE)
    *parents, name = path.split(".")
    where = route
    for parent in parents:
        where = where[parent]
    where[name] = value

    with pytest.raises(ValidationError) as caught:
        parse_route(route, "messenger")

    assert [one.field for one in caught.value.fields] == [field]


def test_whatever_comes_is_a_route_or_a_validation_error() -> None:
    dice = random.Random(7)
    for _ in range(2_000):
        route: Any = copy.deepcopy(ROUTE)
        for _ in range(dice.randint(1, 3)):
            where = dice.choice([route, route["request_context"], route["input"]])
            if isinstance(where, dict):
                where[dice.choice([*where, "extra"])] = dice.choice(STRANGE)
            if not all(isinstance(route.get(name), dict) for name in ("request_context", "input")):
                break
        try:
            parse_route(route, "messenger")
        except ValidationError as error:
            assert error.fields


@pytest.mark.parametrize(
    ("inner", "outer"),
    [("ok", "ok"), ("error", "error"), ("accepted", "accepted"), ("pending_approval", "accepted")],
)
def test_the_route_s_status_follows_the_notify_s(inner: str, outer: str) -> None:
    answer = notify_error(ValidationError("x"), request_id="r", channel="email") | {"status": inner}

    response = route_response({"request_id": "r"}, answer, 1.23456)

    assert (response["status"], response["timing"]) == (outer, {"duration_ms": 1.235})
    assert response["result"]["notify_response"] == answer
    assert ("error" in response) is (inner == "error")
