"""Read the roster: the shipped household, or the folder of butlers the settings name."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path

from postroom.system.roster.config import MESSENGER, ButlerConfig, RosterError, check_roster, parse_butler
from postroom.system.settings import Settings

REQUIRED = ("switchboard", MESSENGER)


def load_roster(settings: Settings, environment: Mapping[str, str]) -> tuple[ButlerConfig, ...]:
    folder = settings.roster if settings.roster is not None else shipped_roster()
    if not folder.is_dir():
        raise RosterError(
            f"{folder}: there is no such folder of butlers (roster); name one by --roster, or see `postroom init`."
        )
    read = {str(file): _read(file, environment) for file in sorted(folder.glob("*/butler.toml"))}
    configs = tuple(read.values())
    for name in REQUIRED:
        if name not in {config.name for config in configs}:
            raise RosterError(f"{folder}: a household needs a {name}/butler.toml; `postroom init` writes one.")
    check_roster(read)
    return configs


def shipped_roster() -> Path:
    return Path(str(files("postroom.system").joinpath("roster")))


def _read(file: Path, environment: Mapping[str, str]) -> ButlerConfig:
    try:
        document = tomllib.loads(file.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise RosterError(f"{file}: is not valid TOML ({error}); mend that line.") from None
    config = parse_butler(document, environment, file=str(file))
    if config.name != file.parent.name:
        raise RosterError(
            f"{file}: butler.name is '{config.name}', but its folder is '{file.parent.name}'; call both alike."
        )
    if config.name == MESSENGER and (file.parent / "skills").exists():
        raise RosterError(f"{file.parent / 'skills'}: the messenger has no skills of its own; remove the folder.")
    return config
