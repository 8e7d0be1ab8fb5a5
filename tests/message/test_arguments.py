"""Whatever is declared of a message is an argument of notify at every door, and goes through its envelope."""

from __future__ import annotations

from typing import Any

import pytest
from tests.support.envelopes import SEND
from tests.support.kinds import KINDS

from postroom.delivery.notify import read_arguments
from postroom.kernel.acts.reading import arguments_schema, read
from postroom.kernel.values.errors import ValidationError
from postroom.message.acts import COMMAND, Notify, NotifyPerson
from postroom.message.arguments import Argument, arguments_of
from postroom.message.outgoing import Outgoing
from postroom.message.wire import notify_document, parse_notify
from postroom.message.wishes import AttentionWish

DECLARED = {**arguments_of(Outgoing), **arguments_of(AttentionWish)}
IN_A_CONVERSATION = {"emoji"}
"""What a person's program does not say: it starts no reaction."""


def example(one: Argument) -> Any:
    schema = one.schema
    if "enum" in schema:
        return next(value for value in schema["enum"] if value != one.default)
    return {"string": "it", "boolean": True, "integer": schema.get("minimum")}[schema["type"]]


@pytest.mark.parametrize("name", DECLARED)
def test_what_is_declared_of_a_message_is_an_argument_at_every_door(name: str) -> None:
    route, one = NotifyPerson.declared.route, DECLARED[name]
    shown = {**one.schema, "description": one.words}

    assert arguments_schema(Notify)["properties"][name] == shown
    for door in (NotifyPerson.declared.tool, route, COMMAND):
        assert (name in arguments_schema(NotifyPerson, door)["properties"]) is (name not in IN_A_CONVERSATION)


@pytest.mark.parametrize("name", DECLARED)
def test_what_is_said_goes_through_the_envelope_as_it_was_said(name: str) -> None:
    said = {"channel": "telegram", "message": "Hello", name: example(DECLARED[name])}
    outgoing = read_arguments(read(Notify, said)[0], origin_butler="health", channels=KINDS)

    assert outgoing == parse_notify(notify_document(outgoing), KINDS)
    value = outgoing if name in arguments_of(Outgoing) else outgoing.wish
    assert getattr(value, name) == said[name]


@pytest.mark.parametrize("name", DECLARED)
@pytest.mark.parametrize("wrong", [{}, 1.5, "x" * 501, "\x00"], ids=["object", "fraction", "long", "NUL"])
def test_what_is_wrong_is_refused_by_its_name(name: str, wrong: Any) -> None:
    envelope = (
        {**SEND, name: wrong} if DECLARED[name].beside else {**SEND, "delivery": {**SEND["delivery"], name: wrong}}
    )
    with pytest.raises(ValidationError) as refused:
        parse_notify(envelope, KINDS)

    place = name if DECLARED[name].beside else f"delivery.{name}"
    assert [one.field for one in refused.value.fields] == [place]
