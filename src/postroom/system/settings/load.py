"""Read the settings: file, then environment, then the command line; each one wins over the one before."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from pydantic import ValidationError

from postroom.domain.field_words import words
from postroom.domain.settings_error import SettingsError
from postroom.system.settings.accounts import section_of_table
from postroom.system.settings.gather import Gathered, gather
from postroom.system.settings.model import Settings
from postroom.system.settings.unknown_key import unknown_key
from postroom.system.settings.variables import MissingVariable, resolve


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
