"""What was written in the settings, and where: files, then environment, then the command line; unchecked."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from postroom.kernel.values.errors import SettingsError
from postroom.settings.connections import home_of

# The accounts that have a section of their own in the settings; every other channel stands under `[channels]`.
SHIPPED: Final = ("telegram", "email")  # in the order they are tried
SPOKEN: Final = " or ".join(SHIPPED)
DEFAULT_CHANNEL: Final = SHIPPED[0]
# The three names the messenger's specification gives to its credentials.
CREDENTIALS = {
    "BUTLER_TELEGRAM_TOKEN": ("telegram", "token"),
    "BUTLER_EMAIL_ADDRESS": ("email", "address"),
    "BUTLER_EMAIL_PASSWORD": ("email", "password"),
}
_NOT_KEYS = {"POSTROOM_CONFIG"}
_NOT_OURS = "POSTROOM_TEST_"  # where the tests find their own servers


@dataclass(frozen=True, slots=True, kw_only=True)
class Gathered:
    values: dict[str, Any]
    sources: dict[str, str]  # for every key that was set, where it came from
    file: Path


def gather(environment: Mapping[str, str], overrides: Mapping[str, Any]) -> Gathered:
    sources: dict[str, str] = {}
    home = home_of(environment, overrides.get("home"))
    file = Path(environment.get("POSTROOM_CONFIG") or home / "postroom.toml")
    values = _from_file(file, sources, required="POSTROOM_CONFIG" in environment)
    _merge(values, _from_file(home / "secrets.toml", sources))
    for name, value in _from_environment(environment).items():
        _set(values, name, value[0])
        sources[".".join(name)] = value[1]
    for key, override in overrides.items():
        if override is not None:
            _set(values, tuple(key.split(".")), override)
            sources[key] = "command line"
    values["home"] = home
    return Gathered(values=values, sources=sources, file=file)


def _from_file(file: Path, sources: dict[str, str], *, required: bool = False) -> dict[str, Any]:
    try:
        text = file.read_text(encoding="utf-8")
    except FileNotFoundError:
        if required:
            raise SettingsError(
                f"{file}: no such file, though POSTROOM_CONFIG names it; correct or unset that variable."
            ) from None
        return {}
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsError(f"{file}: cannot be read ({error}); check its owner and its mode.") from None
    try:
        values = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise SettingsError(f"{file}: is not valid TOML ({error}); mend that line.") from None
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


# What `postroom init` writes.

NEW_SETTINGS: Final = """\
# Settings of this household. Every key can also be set as POSTROOM_<SECTION>__<KEY>.
# `postroom config` prints what is in force and where it came from.

[owner]
# name = "Ada"
# telegram_chat_id = "123456789"
# email = "ada@example.org"

# [[contacts]]
# name = "Bob"
# aliases = ["Robert"]
# email = "bob@example.org"
# trusted = false

# More accounts, each under a name of its own; what NAME is, `postroom notify --channel NAME` says.
# kind is one of {kinds}.
# ${{VARIABLE}} stands for a variable's value.
# [channels.slack-work]
# kind = "slack"
# bot_token = "${{SLACK_TOKEN}}"

# Credentials belong in secrets.toml beside this file (mode 0600), or in the environment:
# {credentials}.
"""
