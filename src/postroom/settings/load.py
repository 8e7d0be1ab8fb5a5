"""Read the settings: file, then environment, then the command line; each one wins over the one before."""

from __future__ import annotations

import json
import os
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from postroom.domain.mistake import Mistake
from postroom.settings.model import Settings
from postroom.settings.unknown_key import unknown_key

# The three names the messenger's specification gives to its credentials.
CREDENTIALS = {
    "BUTLER_TELEGRAM_TOKEN": ("telegram", "token"),
    "BUTLER_EMAIL_ADDRESS": ("email", "address"),
    "BUTLER_EMAIL_PASSWORD": ("email", "password"),
}
_NOT_KEYS = {"POSTROOM_CONFIG"}
_NOT_OURS = "POSTROOM_TEST_"  # where the tests find their own servers


class SettingsError(Mistake):
    """One sentence for the person who wrote the setting."""


def load(environment: Mapping[str, str], overrides: Mapping[str, Any] | None = None) -> tuple[Settings, dict[str, str]]:
    """The settings, and for every key that was set, where it came from."""
    sources: dict[str, str] = {}
    home = _home(environment, overrides or {})
    file = Path(environment.get("POSTROOM_CONFIG") or home / "postroom.toml")
    values = _from_file(file, sources, required="POSTROOM_CONFIG" in environment)
    _merge(values, _from_file(home / "secrets.toml", sources))
    for name, value in _from_environment(environment).items():
        _set(values, name, value[0])
        sources[".".join(name)] = value[1]
    for key, override in (overrides or {}).items():
        if override is not None:
            _set(values, tuple(key.split(".")), override)
            sources[key] = "command line"
    values["home"] = home
    try:
        return Settings.model_validate(values), sources
    except ValidationError as error:
        raise SettingsError(_explain(error, sources, file)) from None


def _home(environment: Mapping[str, str], overrides: Mapping[str, Any]) -> Path:
    chosen = overrides.get("home") or environment.get("POSTROOM_HOME")
    if chosen:
        return Path(chosen).expanduser()
    data = environment.get("XDG_DATA_HOME") or Path(environment.get("HOME") or Path.home()) / ".local" / "share"
    return Path(data) / "postroom"


def _from_file(file: Path, sources: dict[str, str], *, required: bool = False) -> dict[str, Any]:
    try:
        text = file.read_text(encoding="utf-8")
    except FileNotFoundError:
        if required:
            raise SettingsError(f"{file}: no such file, though POSTROOM_CONFIG names it.") from None
        return {}
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsError(f"{file}: cannot be read ({error}).") from None
    try:
        values = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise SettingsError(f"{file}: is not valid TOML ({error}).") from None
    for key in _keys(values):
        sources[key] = str(file)
    return values


def _keys(values: Mapping[str, Any], prefix: str = "") -> list[str]:
    found: list[str] = []
    for name, value in values.items():
        key = f"{prefix}{name}"
        found += _keys(value, f"{key}.") if isinstance(value, dict) else [key]
    return found


def _from_environment(environment: Mapping[str, str]) -> dict[tuple[str, ...], tuple[Any, str]]:
    found: dict[tuple[str, ...], tuple[Any, str]] = {}
    for variable, key in CREDENTIALS.items():
        if environment.get(variable):
            found[key] = (environment[variable], variable)
    for variable, text in environment.items():
        if not variable.startswith("POSTROOM_") or variable in _NOT_KEYS or variable.startswith(_NOT_OURS):
            continue
        path = tuple(variable.removeprefix("POSTROOM_").lower().split("__"))
        found[path] = (_value(text), variable)
    return found


def _value(text: str) -> Any:
    """Tables and lists are written as JSON; everything else is read by its type."""
    if text[:1] in ("{", "["):
        try:
            return json.loads(text)
        except json.JSONDecodeError:
            return text
    return text


def _set(values: dict[str, Any], path: tuple[str, ...], value: Any) -> None:
    for name in path[:-1]:
        inner = values.setdefault(name, {})
        if not isinstance(inner, dict):
            inner = values[name] = {}
        values = inner
    values[path[-1]] = value


def _merge(values: dict[str, Any], more: Mapping[str, Any]) -> None:
    for name, value in more.items():
        if isinstance(value, dict) and isinstance(values.get(name), dict):
            _merge(values[name], value)
        else:
            values[name] = value


def _explain(error: ValidationError, sources: Mapping[str, str], file: Path) -> str:
    sentences = []
    for item in error.errors(include_url=False):
        key = ".".join(str(part) for part in item["loc"])
        source = source_of(key, sources) or str(file)
        if item["type"] == "extra_forbidden":
            sentences.append(f"{source}: unknown key '{key}'{unknown_key(Settings, item['loc'])}")
        else:
            sentences.append(f"{source}: {key}: {item['msg']}.")
    return "\n".join(sentences)


def source_of(key: str, sources: Mapping[str, str]) -> str | None:
    """Of the key itself, of the table it stands in, or of something in it."""
    parts = key.split(".")
    names = [".".join(parts[:length]) for length in range(len(parts), 0, -1)]
    inside = [name for name in sources if name.startswith(f"{key}.")]
    return next((sources[name] for name in (*names, *inside) if name in sources), None)


def from_process(overrides: Mapping[str, Any] | None = None) -> tuple[Settings, dict[str, str]]:
    """The one place that looks at the process environment."""
    return load(os.environ, overrides)
