"""What holds for every act at every door, whatever it does: its arguments, its words, and how it says no."""

from __future__ import annotations

from typing import Any

import jsonschema
import pytest
from tests.kernel.acts.declared import Door, doors_of, every_act, every_door, named

from postroom.butlers.routing import CarryOutRoute
from postroom.kernel.acts.declaration import Act, Command, HttpRoute, Tool, words_of
from postroom.kernel.acts.reading import answer_schema, arguments_schema, read, tool_answer_schema
from postroom.kernel.values.errors import (
    CircuitOpenError,
    Code,
    FieldError,
    InternalError,
    OverloadRejected,
    PostroomError,
    Refused,
    StoreUnavailable,
    ValidationError,
)
from postroom.message.acts import NotifyPerson

DOORS = every_door()
IDS = [named(*one) for one in DOORS]
ACTS = [pytest.param(one, id=f"{one.__module__.removeprefix('postroom.')}.{one.__name__}") for one in every_act()]
OPEN_ENDED: dict[str, str] = {}
"""Texts without a bound at the act, as `Act.argument`, each with the reason."""
TYPES: dict[str, Any] = {
    "string": 5,
    "integer": "five",
    "number": "five",
    "boolean": "perhaps",
    "array": 5,
    "object": 5,
}


def refused(kind: type[Act[Any]], sent: dict[str, Any], door: Door) -> dict[str, FieldError]:
    with pytest.raises(Refused) as caught:
        read(kind, sent, door)
    return {one.field: one for one in caught.value.fields}


def judged_here(kind: type[Act[Any]], door: Door) -> dict[str, dict[str, Any]]:
    """Arguments by name; those are left out that only the work can judge."""
    fields = {one.alias or name: one for name, one in kind.model_fields.items()}
    shown = arguments_schema(kind, door)["properties"]
    return {name: shape for name, shape in shown.items() if fields[name].annotation is not Any}


def kinds(shape: dict[str, Any]) -> set[str]:
    arms = shape.get("anyOf", [shape])
    return {one for arm in arms for one in ([arm["type"]] if isinstance(arm.get("type"), str) else arm.get("type", []))}


@pytest.mark.parametrize(("kind", "door"), DOORS, ids=IDS)
def test_an_argument_that_it_does_not_have_is_refused_by_its_name(kind: type[Act[Any]], door: Door) -> None:
    assert refused(kind, {"no_such_argument_at_all": 1}, door)["no_such_argument_at_all"].code == "unknown_field"


@pytest.mark.parametrize(("kind", "door"), DOORS, ids=IDS)
def test_a_misspelt_argument_is_told_the_one_that_was_probably_meant(kind: type[Act[Any]], door: Door) -> None:
    for name in arguments_schema(kind, door)["properties"]:
        misspelt = f"{name}x"
        assert f"did you mean '{name}'?" in refused(kind, {misspelt: 1}, door)[misspelt].error


@pytest.mark.parametrize(("kind", "door"), DOORS, ids=IDS)
def test_what_is_missing_is_all_named_at_once(kind: type[Act[Any]], door: Door) -> None:
    needed = arguments_schema(kind, door).get("required", [])
    if needed:
        complaints = refused(kind, {}, door)
        assert {name for name, one in complaints.items() if one.code == "required"} >= set(needed)


@pytest.mark.parametrize(("kind", "door"), DOORS, ids=IDS)
def test_a_value_of_a_wrong_type_is_refused_by_its_name_and_not_repeated(kind: type[Act[Any]], door: Door) -> None:
    for name, shape in judged_here(kind, door).items():
        possible = kinds(shape)
        wrong = next((value for one, value in TYPES.items() if one in possible), None)
        if wrong is None or (isinstance(wrong, str) and "string" in possible):
            continue
        if isinstance(wrong, int) and possible & {"integer", "number"}:
            continue
        complaints = refused(kind, {name: wrong}, door)
        assert any(one.partition(".")[0].partition("[")[0] == name for one in complaints), (name, complaints)
        assert not any(str(wrong) in one.error for one in complaints.values() if isinstance(wrong, str)), complaints


@pytest.mark.parametrize(("kind", "door"), DOORS, ids=IDS)
def test_what_is_longer_or_larger_than_its_bound_is_refused(kind: type[Act[Any]], door: Door) -> None:
    for name, shape in judged_here(kind, door).items():
        if "maxLength" in shape and "enum" not in shape:
            assert name in refused(kind, {name: "x" * (shape["maxLength"] + 1)}, door)
        if "maximum" in shape:
            assert refused(kind, {name: shape["maximum"] + 1}, door)[name].code == "out_of_range"
        if "minimum" in shape:
            assert refused(kind, {name: shape["minimum"] - 1}, door)[name].code == "out_of_range"


@pytest.mark.parametrize(("kind", "door"), DOORS, ids=IDS)
def test_a_text_that_no_store_can_keep_is_refused_by_its_name(kind: type[Act[Any]], door: Door) -> None:
    for name, shape in judged_here(kind, door).items():
        if "string" in kinds(shape):
            for text in ("a\x00b", "a\ud800b"):
                assert refused(kind, {name: text}, door)[name].code == "invalid_text"


@pytest.mark.parametrize("kind", ACTS)
def test_every_argument_has_words_and_every_text_a_bound(kind: type[Act[Any]]) -> None:
    for door in doors_of(kind):
        for name, shape in arguments_schema(kind, door)["properties"].items():
            assert shape.get("description"), f"{kind.__name__}.{name} has no words"
            is_judged = name in judged_here(kind, door)
            if is_judged and shape.get("type") == "string" and f"{kind.__name__}.{name}" not in OPEN_ENDED:
                assert {"maxLength", "enum", "const", "examples"} & set(shape), f"{kind.__name__}.{name} has no bound"
    assert words_of(kind) != "."


@pytest.mark.parametrize("kind", ACTS)
def test_a_schema_takes_nothing_unknown_and_says_what_an_answer_holds(kind: type[Act[Any]]) -> None:
    assert arguments_schema(kind)["additionalProperties"] is False
    if kind.declared.tool is not None:
        assert tool_answer_schema(kind)["properties"]


REFUSALS: list[PostroomError] = [
    Refused(Code.NOT_FOUND, "there is no such thing"),
    Refused.of(Code.SCHEMA_INVALID, [FieldError("one", "is required", "required")]),
    ValidationError.of([FieldError("one.two", "must be text", "string_required")]),
    OverloadRejected("too much at once", limit_type="rate", retry_after_seconds=1.5),
    CircuitOpenError("the channel is down"),
    StoreUnavailable("locked"),
    InternalError("internal error"),
]


@pytest.mark.parametrize("kind", [one for one in ACTS if one.values[0].declared.tool is not None])  # type: ignore[attr-defined]
def test_every_refusal_of_a_tool_fulfils_its_output_schema(kind: type[Act[Any]]) -> None:
    for error in REFUSALS:
        jsonschema.validate(dict(kind.refused(error)), tool_answer_schema(kind))


def test_no_two_acts_share_a_door_but_those_that_are_one_act_at_two_servers() -> None:
    for door in (Tool, HttpRoute, Command):
        names = [
            one.name if isinstance(one, Tool) else one.line if isinstance(one, HttpRoute) else one.path
            for kind, one in every_door()
            if isinstance(one, door) and not (isinstance(one, Tool) and issubclass(kind, NotifyPerson | CarryOutRoute))
        ]
        assert len(names) == len(set(names)), sorted(one for one in names if names.count(one) > 1)


@pytest.mark.parametrize("kind", ACTS)
def test_an_answer_has_a_declared_shape(kind: type[Act[Any]]) -> None:
    assert answer_schema(kind).get("type") in ("object", "array", "null") or "$ref" in answer_schema(kind)


@pytest.mark.parametrize("kind", [one for one in ACTS if one.values[0].renamed])  # type: ignore[attr-defined]
def test_a_former_name_is_still_taken_and_the_answer_says_the_present_one(kind: type[Act[Any]]) -> None:
    for former, now in kind.renamed.items():
        shape = arguments_schema(kind)["properties"][now]
        both = refused(kind, {former: "x", now: "y", "no_such_argument_at_all": 1}, kind.declared.tool or None)
        assert both[former].error.startswith(f"is called {now} now") or former in shape
