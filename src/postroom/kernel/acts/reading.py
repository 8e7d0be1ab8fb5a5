"""What a caller sent, read into an act: everything that is wrong with it at once, in our words; and its JSON Schema."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import cache
from types import MappingProxyType
from typing import Annotated, Any, Final, TypeVar, cast

from pydantic import AfterValidator, BeforeValidator, Field, TypeAdapter
from pydantic import ValidationError as Invalid
from pydantic.json_schema import DEFAULT_REF_TEMPLATE, GenerateJsonSchema, JsonSchemaValue
from pydantic_core import PydanticCustomError, to_json

from postroom.kernel.acts.declaration import Act, Command, HttpRoute, Tool, names_at
from postroom.kernel.values.errors import FieldError, Refused
from postroom.kernel.values.fields import did_you_mean, field_error, nearest, printable, unsendable
from postroom.kernel.values.ids import parse_text, to_text

One = TypeVar("One", bound="Act[Any]")
Door = Tool | HttpRoute | Command | None
_MOST_COMPLAINTS: Final = 20
_KINDS: Final = frozenset({f"{kind}_required" for kind in ("string", "bool", "number", "object", "list")})

# Kinds of arguments that many acts have.


def wrong(error: str, code: str = "invalid") -> PydanticCustomError:
    """What a check of ours has to say; without braces, which the library would fill in."""
    return PydanticCustomError(code, cast(Any, error))


def _not_blank(value: str) -> str:
    if not value.strip():
        raise wrong("must not be blank", "blank")
    return value


_AN_ID: Final = re.compile("[0-9a-f]{8}(-?[0-9a-f]{4}){3}-?[0-9a-f]{12}", re.ASCII)


def moment_or(*words: str) -> Callable[[str], str]:
    """`words` mean something instead of a moment."""

    def check(value: str) -> str:
        try:
            if value not in words:
                parse_text(value)
        except (ValueError, OverflowError):
            raise wrong("must be an RFC 3339 time with an offset") from None
        return value

    return check


def _ends_a_page(value: str) -> str:
    if _AN_ID.fullmatch(value) is None:
        raise wrong("must be next_cursor of an earlier page")
    return value


Text = Annotated[str, AfterValidator(_not_blank)]
Stripped = Annotated[str, AfterValidator(_not_blank), AfterValidator(str.strip)]
Name = Annotated[Stripped, Field(max_length=200)]
Moment = Annotated[str, Field(max_length=64), AfterValidator(moment_or())]
"""An RFC 3339 time with an offset, as it was written; `parse_text` makes microseconds of it."""
PageCursor = Annotated[str, Field(max_length=64), AfterValidator(_ends_a_page)]
"""The id a page ended with: ids are compared with it, so that any other text would begin somewhere without a word."""
At = Annotated[str, BeforeValidator(lambda us: to_text(us) if isinstance(us, int) else us)]
"""A moment in an answer, made of our microseconds."""
Whatever = Any
"""What only the work can judge: taken as it came, and shown as `judged` says."""


def judged(words: str, **schema: Any) -> Any:
    return Field(None, description=words, json_schema_extra=schema)


def needed(words: str, **schema: Any) -> Any:
    return Field(description=words, json_schema_extra=schema)


# Reading.


def read(
    kind: type[One], sent: Mapping[str, Any], door: Door = None, texts: Collection[str] = ()
) -> tuple[One, Mapping[str, str]]:
    """
    The call, and the arguments that came under a former name with what they are called now.

    Raises Refused with everything that is wrong. `texts` are names whose values came as texts, as in a query.
    """
    names = names_at(kind, door)
    found: list[FieldError] = []
    given, renamed = _current(kind, names, sent, found)
    for name in [one for one in given if one not in names][:_MOST_COMPLAINTS]:
        del given[name]
        meant = did_you_mean(name, names) if nearest(name, names) else ""
        found.append(FieldError(printable(name), f"unknown field{meant}", "unknown_field"))
    given = {name: one for name, one in given.items() if name in names and _is_there(kind, names[name], one, door)}
    if isinstance(door, Tool):
        given = {name: _decoded(kind, name, one) for name, one in given.items()}
    as_text = {renamed.get(name, name) for name in texts}
    given |= {name: _from_text(kind, name, given[name]) for name in as_text if name in given}
    for name in list(given):
        if complaints := unsendable(given[name], name):
            found += complaints
            del given[name]
    one = _valid(kind, given, found)
    if found:
        raise Refused.of(kind.malformed, _as_sent(found, renamed)[:_MOST_COMPLAINTS])
    return cast(One, one), renamed


def made(kind: type[One], /, **sent: Any) -> One:
    """An act of our own, with whatever is None left out."""
    return read(kind, {name: value for name, value in sent.items() if value is not None})[0]


def _current(
    kind: type[Act[Any]], names: Mapping[str, str], sent: Mapping[str, Any], found: list[FieldError]
) -> tuple[dict[str, Any], dict[str, str]]:
    """With every argument under its present name."""
    given, renamed = dict(sent), dict[str, str]()
    for former, now in kind.renamed.items():
        if former in given and former not in names and now in names:
            value = given.pop(former)
            if given.get(now) is not None and value is not None:
                found.append(FieldError(former, f"is called {now} now; give one of them", "not_allowed"))
            elif value is not None:
                given[now], renamed[former] = value, now
    return given, renamed


def _is_there(kind: type[Act[Any]], name: str, value: Any, door: Door) -> bool:
    """Models send null, and an empty text, for what they leave out."""
    if value is None:
        return name in kind.null_counts
    return value != "" or not isinstance(door, Tool) or name in kind.null_counts


def _decoded(kind: type[Act[Any]], name: str, value: Any) -> Any:
    """A list or an object that a model wrote as its JSON text, where no text is taken."""
    kinds = _kinds(kind, name)
    if not kinds or "string" in kinds or not isinstance(value, str) or value.lstrip()[:1] not in ("[", "{"):
        return value
    try:
        return json.loads(value)
    except (ValueError, RecursionError):
        return value


def _from_text(kind: type[Act[Any]], name: str, value: Any) -> Any:
    """A number or a truth that stood in a query; what is none stays the text it was, and is refused as such."""
    types: dict[str, type] = {"integer": int, "number": float, "boolean": bool}
    kinds = _kinds(kind, name)
    if len(kinds) != 1 or (meant := types.get(kinds[0])) is None:
        return value
    try:
        return TypeAdapter(meant).validate_python(value)
    except Invalid:
        return value


@cache
def _kinds(kind: type[Act[Any]], name: str) -> list[str]:
    return kinds_of(arguments_schema(kind)["properties"][name])


def kinds_of(shape: JsonSchemaValue, named: Mapping[str, Any] = MappingProxyType({})) -> list[str]:
    """What an argument may be, in the words of JSON Schema; nothing where it may be anything."""
    shape = _resolved(shape, named)
    if arms := shape.get("anyOf") or shape.get("oneOf"):
        found = [kinds_of(one, named) for one in arms]
        return list(dict.fromkeys(kind for one in found for kind in one)) if all(found) else []
    kinds = shape.get("type")
    return [kinds] if isinstance(kinds, str) else list(kinds or ())


def _valid(kind: type[One], given: dict[str, Any], found: list[FieldError]) -> One | None:
    """What does not fit together is looked for also in what is left when something is wrong by itself."""
    complained = {_argument(one) for one in found}
    wrong_fields = set(complained)
    try:
        one = _made(kind, given)
    except Invalid as error:
        for item in error.errors(include_url=False)[:_MOST_COMPLAINTS]:
            wrong_fields.add(str(item["loc"][0]))
            if item["loc"][0] not in complained:
                found.append(field_error({**item, "loc": _place(item["loc"], given)}))
        rest = {name: value for name, value in given.items() if name not in wrong_fields}
        try:
            one = _made(kind, rest)
        except Invalid:
            return None
    complained = {_argument(one) for one in found}

    def complain(name: str, words: str, code: str) -> None:
        if name not in complained and not (wrong_fields and code == "required"):  # it may be what could not be read
            found.append(FieldError(name, words, code))

    one.check(complain)
    return one


def _argument(complaint: FieldError) -> str:
    return complaint.field.partition(".")[0].partition("[")[0]


def _place(path: Sequence[str | int], given: Any) -> tuple[str | int, ...]:
    """As the caller wrote it: of several types that an argument may have, the library names each in the path."""
    place: list[str | int] = []
    for number, one in enumerate(path):
        is_inside = (isinstance(given, list) and isinstance(one, int)) or (isinstance(given, dict) and one in given)
        if is_inside:
            given = given[one]
        if is_inside or (isinstance(given, dict) and number == len(path) - 1):
            place.append(one)
    return tuple(place)


def _made(kind: type[One], given: Mapping[str, Any]) -> One:
    """From JSON: there a list may become a tuple and a word a choice, and nothing else is converted."""
    return kind.model_validate_json(to_json(given))


def _as_sent(found: list[FieldError], renamed: Mapping[str, str]) -> list[FieldError]:
    """Each complaint once, and about the name that the caller wrote; of several kinds that it may be, one names all."""
    back, complaints = {now: former for former, now in renamed.items()}, dict[tuple[str, str], FieldError]()
    for one in found:
        argument = _argument(one)
        name = back.get(argument, argument) + one.field.removeprefix(argument)
        other = next((code for field, code in complaints if field == name and {code, one.code} <= _KINDS), None)
        if other is None or one.code not in _KINDS:
            complaints[name, one.code] = FieldError(name, one.error, one.code)
        elif (kind := one.error.removeprefix("must be ")) not in complaints[name, other].error:
            complaints[name, other] = FieldError(name, f"{complaints[name, other].error} or {kind}", other)
    return list(complaints.values())


# JSON Schema, as short as it can be: every model that reads it pays for it.


class _Short(GenerateJsonSchema):
    def field_title_should_be_set(self, schema: Any) -> bool:
        return False


@cache
def arguments_schema(kind: type[Act[Any]], door: Door = None) -> JsonSchemaValue:
    schema = kind.model_json_schema(schema_generator=_Short)
    named, names = schema.pop("$defs", {}), names_at(kind, door)
    shown = {name: _short(one, named) for name, one in schema.get("properties", {}).items() if name in names}
    required = [name for name in schema.get("required", ()) if name in names]
    needed = {"required": required} if required else {}
    return {"type": "object", "additionalProperties": False, "properties": shown, **needed}


@cache
def answer_of(kind: type[Act[Any]]) -> TypeAdapter[Any]:
    """Of the type between the brackets of `Act[...]`."""
    arguments = (one.__pydantic_generic_metadata__["args"] for one in kind.__mro__ if issubclass(one, Act))
    return TypeAdapter(next(found[0] for found in arguments if found and found[0] is not Any))


def answer_schema(kind: type[Act[Any]], reference: str = DEFAULT_REF_TEMPLATE) -> JsonSchemaValue:
    return answer_of(kind).json_schema(mode="serialization", schema_generator=_Short, ref_template=reference)


@cache
def tool_answer_schema(kind: type[Act[Any]]) -> JsonSchemaValue:
    """
    What of a success a model goes by, one level deep: it pays for every word.

    Nothing is required and nothing else forbidden, because a refusal holds other keys and says itself what is wrong.
    """
    schema = answer_schema(kind)
    named = schema.get("$defs", {})
    shown = _resolved(schema, named).get("properties", {})
    chosen = kind.declared.tool.answers if kind.declared.tool is not None else ()
    return {"type": "object", "properties": {name: _types(kinds_of(shown[name], named)) for name in chosen or shown}}


def _types(kinds: list[str]) -> JsonSchemaValue:
    return {"type": kinds[0] if len(kinds) == 1 else kinds} if kinds else {}


def _resolved(schema: JsonSchemaValue, named: Mapping[str, Any]) -> JsonSchemaValue:
    """What is named stands where it is used."""
    if "$ref" not in schema:
        return schema
    own = {key: one for key, one in schema.items() if key != "$ref"}
    return {**named[schema["$ref"].rpartition("/")[2]], **own}


def _short(schema: JsonSchemaValue, named: Mapping[str, JsonSchemaValue]) -> JsonSchemaValue:
    """ "Or null" is left out: null is the same as absent."""
    arms = [one for one in schema.get("anyOf", ()) if one != {"type": "null"}]
    if len(arms) == 1:
        schema = {**arms[0], **{key: one for key, one in schema.items() if key != "anyOf"}}
    elif arms:
        schema = {**schema, **_one_of([_short(one, named) for one in arms])}
    schema = dict(_resolved(schema, named))
    for inner in ("items", "additionalProperties"):
        if isinstance(schema.get(inner), dict):
            schema[inner] = _short(schema[inner], named)
    if "properties" in schema:
        schema["properties"] = {name: _short(one, named) for name, one in schema["properties"].items()}
    left_out = {"title"} | ({"default"} if schema.get("default", "") in (None, "") else set())
    if isinstance(schema.get("type"), list):
        left_out |= {"anyOf"}
    if schema.get("additionalProperties") is True:  # as it is unless it is said otherwise
        left_out |= {"additionalProperties"}
    return {key: one for key, one in schema.items() if key not in left_out}


def _one_of(arms: list[JsonSchemaValue]) -> JsonSchemaValue:
    """Kinds side by side where that is shorter: what is said of a text says nothing of a list."""
    said = [key for arm in arms for key in arm if key != "type"]
    kinds = [arm.get("type") for arm in arms]
    if len(set(said)) < len(said) or not all(isinstance(kind, str) for kind in kinds) or len({*kinds}) < len(kinds):
        return {"anyOf": arms}
    return {key: one for arm in arms for key, one in arm.items()} | {"type": kinds}
