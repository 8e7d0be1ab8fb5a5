"""docs/reference/settings.md: every setting, and every key of a butler's file, from the models that read them."""

from __future__ import annotations

import enum
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal, Union, get_args, get_origin

from pydantic import BaseModel
from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined
from scripts.reference.markdown import code, page, table

from postroom.butlers.loading import module_kinds
from postroom.settings import Settings
from postroom.settings.accounts import ChannelSettings, section_named, shipped_kinds
from postroom.settings.roster import ButlerConfig
from postroom.settings.written import CREDENTIALS, SHIPPED

_INTRODUCTION = """\
Settings stand in `$POSTROOM_HOME/postroom.toml` (or the file `POSTROOM_CONFIG` names), secrets beside it in
`secrets.toml`. An environment variable wins over a file, the command line over both. `postroom config` prints what is
in force and where it came from. In `[channels.NAME]`, `${VARIABLE}` stands for a variable's value."""
_UNITS = {
    "_seconds": "seconds",
    "_hours": "hours",
    "_days": "days",
    "_per_minute": "per minute",
    "_hour": "hour of the day",
}
_ACCOUNTS = "channels"
_VARIABLES = {key: name for name, key in CREDENTIALS.items()}


def settings_page() -> str:
    parts = [table(_HEADER, _rows(_top(), ()))]
    parts += [_section(name, model) for name, model in _sections(Settings)]
    parts.append("## A butler's file\n\n`roster/NAME/butler.toml`; `${VARIABLE}` stands for a variable's value.")
    parts.append(table(_FILE_HEADER, _file_rows(ButlerConfig, ())))
    for name, section in sorted(module_kinds().items()):
        parts.append(f"### `[modules.{name}]`")
        parts.append(table(_FILE_HEADER, _file_rows(section, ("modules", name))))
    return page("Settings", _INTRODUCTION, parts)


_HEADER = ("setting", "type", "unit", "default", "environment", "meaning")
_FILE_HEADER = ("key", "type", "default", "meaning")


def _top() -> list[tuple[str, FieldInfo]]:
    plain = ((name, field) for name, field in Settings.model_fields.items() if _model_of(field.annotation) is None)
    return [(name, field) for name, field in plain if name != _ACCOUNTS]


def _sections(model: type[BaseModel]) -> Iterator[tuple[str, type[BaseModel]]]:
    for name, field in model.model_fields.items():
        inner = section_named(name) if name in SHIPPED else _model_of(field.annotation)
        if inner is not None:
            yield _heading(name, field), inner
        elif name == _ACCOUNTS:
            yield from ((f'[{name}.NAME] kind = "{kind}"', one.options) for kind, one in shipped_kinds().items())
            yield f"[{name}.NAME]", ChannelSettings


def _heading(name: str, field: FieldInfo) -> str:
    origin = get_origin(field.annotation)
    if origin is tuple:
        return f"[[{name}]]"
    return f"[{name}.NAME]" if origin is dict else f"[{name}]"


def _section(heading: str, model: type[BaseModel]) -> str:
    name = heading.strip("[]")
    rows = _rows(list(model.model_fields.items()), (name,) if heading.count("[") == 1 and "." not in name else None)
    return f"## `{heading}`\n\n{(model.__doc__ or '').strip()}\n\n{table(_HEADER, rows)}"


def _rows(fields: list[tuple[str, FieldInfo]], path: tuple[str, ...] | None) -> Iterator[tuple[str, ...]]:
    """Tables that may stand many times have no variable of their own: the whole list is one, as JSON."""
    for name, field in fields:
        variable = "" if path is None else code(_variable((*path, name)))
        yield code(name), _type(field.annotation), _unit(name), _default(field), variable, field.description or ""


def _variable(path: tuple[str, ...]) -> str:
    return _VARIABLES.get(path) or "POSTROOM_" + "__".join(path).upper()


def _file_rows(model: type[BaseModel], path: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    for name, field in model.model_fields.items():
        here = (*path, field.alias or name)
        inner = _model_of(field.annotation)
        if inner is not None:
            yield from _file_rows(inner, here)
        elif here != ("modules",):
            yield code(".".join(here)), _type(field.annotation), _default(field), field.description or ""


def undescribed(model: type[BaseModel], path: str = "") -> Iterator[str]:
    """Keys that nobody has explained."""
    for name, field in model.model_fields.items():
        inner = _model_of(field.annotation)
        if inner is not None:
            yield from undescribed(inner, f"{path}{name}.")
        elif path + name == _ACCOUNTS:
            for kind, one in shipped_kinds().items():
                yield from undescribed(one.options, f"{name}.{kind}.")
        elif not field.description and path + name != "modules":
            yield path + name


def _model_of(annotation: Any) -> type[BaseModel] | None:
    for one in (annotation, *get_args(annotation)):
        if isinstance(one, type) and issubclass(one, BaseModel):
            return one
    return None


def _type(annotation: Any) -> str:
    origin, inside = get_origin(annotation), get_args(annotation)
    if origin is Literal:
        return ", ".join(code(one) if one else "empty" for one in inside)
    if origin in (Union, types.UnionType):
        return " or ".join(_type(one) for one in inside if one is not type(None))
    if origin is tuple:
        return f"list of {_type(inside[0])}"
    if origin is dict:
        return f"table of {_type(inside[1])}"
    if hasattr(annotation, "__metadata__"):
        return _type(inside[0])
    if isinstance(annotation, type) and issubclass(annotation, enum.StrEnum):
        return ", ".join(code(one) for one in annotation)
    names = {bool: "true or false", int: "integer", float: "number", str: "text", Path: "path"}
    return names.get(annotation, "secret" if "Secret" in str(annotation) else "text")


def _unit(name: str) -> str:
    return next((unit for ending, unit in _UNITS.items() if name.endswith(ending)), "")


def _default(field: FieldInfo) -> str:
    if field is Settings.model_fields["home"]:
        return code("~/.local/share/postroom")
    if field.is_required():
        return "required"
    value = field.get_default(call_default_factory=True)
    if value is None or value is PydanticUndefined or value in ((), {}, ""):
        return ""
    shown = str(value) if isinstance(value, enum.StrEnum) else value
    if isinstance(shown, tuple):
        return ", ".join(code(one) for one in shown)
    return "" if str(shown) in ("", "''") else code(str(shown).lower() if isinstance(shown, bool) else shown)
