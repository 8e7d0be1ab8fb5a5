"""Read the settings: file, then environment, then the command line; each one wins over the one before."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from postroom.domain.field_words import words
from postroom.system.settings.gather import SettingsError, gather
from postroom.system.settings.model import Settings
from postroom.system.settings.unknown_key import unknown_key


def load(environment: Mapping[str, str], overrides: Mapping[str, Any] | None = None) -> tuple[Settings, dict[str, str]]:
    """The settings, and for every key that was set, where it came from."""
    found = gather(environment, overrides or {})
    try:
        return Settings.model_validate(found.values), found.sources
    except ValidationError as error:
        raise SettingsError(_explain(error, found.sources, found.file)) from None


def _explain(error: ValidationError, sources: Mapping[str, str], file: Path) -> str:
    sentences = []
    for item in error.errors(include_url=False):
        key = ".".join(str(part) for part in item["loc"])
        source = source_of(key, sources) or str(file)
        if item["type"] == "extra_forbidden":
            sentences.append(f"{source}: unknown key '{key}'{unknown_key(Settings, item['loc'])}")
        else:
            sentences.append(f"{source}: {key}: {words(item)}.")
    return "\n".join(sentences)


def source_of(key: str, sources: Mapping[str, str]) -> str | None:
    """Of the key itself, of the table it stands in, or of something in it."""
    parts = key.split(".")
    names = [".".join(parts[:length]) for length in range(len(parts), 0, -1)]
    inside = [name for name in sources if name.startswith(f"{key}.")]
    return next((sources[name] for name in (*names, *inside) if name in sources), None)


def from_process(overrides: Mapping[str, Any] | None = None) -> tuple[Settings, dict[str, str]]:
    """With the environment of this process."""
    return load(os.environ, overrides)
