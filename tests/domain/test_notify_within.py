"""Buttons and revisions travel between parts of one household, and through no door of an agent's."""

from __future__ import annotations

from typing import Any

import pytest

from postroom.domain.errors import ValidationError
from postroom.domain.ids import DeliveryId
from postroom.domain.markup import Button, ButtonStyle, Markup
from postroom.domain.notify import notify_document, parse_notify
from postroom.domain.notify_within import document_within, parse_within
from postroom.domain.outgoing import Outgoing
from postroom.world.channels.kinds import KINDS

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
