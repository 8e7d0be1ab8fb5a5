"""route.v1 and the answers that come back through it."""

from __future__ import annotations

import copy
import random
from typing import Any

import pytest
from tests.domain.envelopes import SEND, STRANGE

from postroom.domain.errors import (
    ValidationError,
)
from postroom.domain.notify_response import notify_error
from postroom.domain.route import build_notify_route, parse_route, route_response

ROUTE = build_notify_route(request_id="r-1", received_at="2026-01-01T00:00:00Z", envelope=SEND)


@pytest.mark.requirement("notify:messenger-routing-via-switchboard")
def test_a_notify_travels_inside_a_route() -> None:
    route = parse_route(ROUTE)

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
        parse_route(route)

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
            parse_route(route)
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
