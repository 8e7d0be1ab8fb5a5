"""Read the settings: file, then environment, then the command line; each one wins over the one before."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple, get_args

from pydantic import BaseModel, ValidationError

from postroom.kernel.values.errors import SettingsError
from postroom.kernel.values.fields import did_you_mean, words
from postroom.settings.accounts import section_named, section_of_table
from postroom.settings.model import Settings
from postroom.settings.written import SHIPPED, Gathered, gather


def load(environment: Mapping[str, str], overrides: Mapping[str, Any] | None = None) -> tuple[Settings, dict[str, str]]:
    """The settings, and for every key that was set, where it came from."""
    found = gather(environment, overrides or {})
    values = _with_variables(found, environment)
    try:
        return Settings.model_validate(values), found.sources
    except ValidationError as error:
        raise SettingsError(_explain(error, found)) from None


def _with_variables(found: Gathered, environment: Mapping[str, str]) -> dict[str, Any]:
    """An account's options may name variables; one that is empty is as good as missing."""
    if "channels" not in found.values:
        return found.values
    missing: list[MissingVariable] = []
    given = {name: value for name, value in environment.items() if value}
    channels = resolve(found.values["channels"], given, missing, "channels")
    if missing:
        raise SettingsError("\n".join(_unset(one, found) for one in missing))
    return {**found.values, "channels": channels}


def _unset(one: MissingVariable, found: Gathered) -> str:
    source = source_of(one.key, found.sources) or found.file
    return f"{source}: {one.key}: the variable {one.variable} is not set; set it in the environment."


def _explain(error: ValidationError, found: Gathered) -> str:
    sentences = []
    for item in error.errors(include_url=False):
        key = ".".join(str(part) for part in item["loc"])
        source = source_of(key, found.sources) or str(found.file)
        if item["type"] == "extra_forbidden":
            sentences.append(f"{source}: unknown key '{key}'{_meant(item['loc'], found.values)}")
        else:
            sentences.append(f"{source}: {key}: {words(item)}.")
    return "\n".join(sentences)


def _meant(path: tuple[int | str, ...], values: Mapping[str, Any]) -> str:
    """In a table of an account, a key of its kind."""
    if path[0] == "channels" and len(path) > 2:
        return unknown_key(section_of_table(values["channels"][path[1]]), path[2:])
    if path[0] in SHIPPED and len(path) > 1:
        return unknown_key(section_named(str(path[0])), path[1:])
    return unknown_key(Settings, path)


def source_of(key: str, sources: Mapping[str, str]) -> str | None:
    """Of the key itself, of the table it stands in, or of something in it."""
    parts = key.split(".")
    names = [".".join(parts[:length]) for length in range(len(parts), 0, -1)]
    inside = [name for name in sources if name.startswith(f"{key}.")]
    return next((sources[name] for name in (*names, *inside) if name in sources), None)


def from_process(overrides: Mapping[str, Any] | None = None) -> tuple[Settings, dict[str, str]]:
    """With the environment of this process."""
    return load(os.environ, overrides)


# What somebody probably meant by a key that a model does not know.


def unknown_key(model: type[BaseModel], path: tuple[int | str, ...]) -> str:
    """The end of the sentence; `path` leads from the model to the key."""
    inner: type[BaseModel] | None = model
    for name in path[:-1]:
        inner = _below(inner, name)
    return did_you_mean(str(path[-1]), _keys_of(inner) if inner else ())


def _below(model: type[BaseModel] | None, name: int | str) -> type[BaseModel] | None:
    """The place in a list, or a name of the person's own choosing, is no field."""
    if model is None or str(name) not in model.model_fields:
        return model
    return _model_in(model.model_fields[str(name)].annotation)


def _keys_of(model: type[BaseModel]) -> list[str]:
    return [field.alias or name for name, field in model.model_fields.items()]


def _model_in(annotation: Any) -> type[BaseModel] | None:
    candidates = (annotation, *get_args(annotation))
    return next((one for one in candidates if isinstance(one, type) and issubclass(one, BaseModel)), None)


# `${VARIABLE}` in what was written stands for that variable's value.

_VARIABLE: Final = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")


class MissingVariable(NamedTuple):
    key: str
    variable: str


def resolve(value: Any, environment: Mapping[str, str], missing: list[MissingVariable], key: str = "") -> Any:
    """Every text in it, however deep; what is not set is noted under its key, and stands for nothing."""
    if isinstance(value, Mapping):
        return {name: resolve(inner, environment, missing, _within(key, name)) for name, inner in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [resolve(inner, environment, missing, _within(key, number)) for number, inner in enumerate(value)]
    if not isinstance(value, str):
        return value
    missing += [MissingVariable(key, name) for name in _VARIABLE.findall(value) if name not in environment]
    return _VARIABLE.sub(lambda match: environment.get(match[1], ""), value)


def _within(key: str, name: object) -> str:
    return f"{key}.{name}" if key else str(name)
