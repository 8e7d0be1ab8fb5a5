"""The clients we know: where their files are and what has to stand there."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any, Final

from postroom.domain.errors import UserError
from postroom.domain.nearest import did_you_mean

SERVER: Final = "postroom"


class Scope(StrEnum):
    USER = "user"
    PROJECT = "project"


class FileKind(StrEnum):
    JSON = "json"  # also with comments
    TOML = "toml"
    WHOLE = "whole"  # a file that is all ours


@dataclass(frozen=True, slots=True, kw_only=True)
class Places:
    """Where on this machine to look; `project` is the folder the command runs in."""

    home: Path
    project: Path
    environment: Mapping[str, str]
    platform: str

    def configured(self, variable: str, otherwise: str) -> Path:
        chosen = self.environment.get(variable)
        return Path(chosen).expanduser() if chosen else self.home / otherwise

    @property
    def application_data(self) -> Path:
        """Where programs with windows keep their files."""
        if self.platform == "darwin":
            return self.home / "Library" / "Application Support"
        if self.platform == "win32":
            return self.configured("APPDATA", "AppData/Roaming")
        return self.config

    @property
    def config(self) -> Path:
        return self.configured("XDG_CONFIG_HOME", ".config")


@dataclass(frozen=True, slots=True, kw_only=True)
class Starts:
    """The command line of our program; `finished`: hear of every end of a turn, too."""

    program: tuple[str, ...]
    options: tuple[str, ...] = ()  # of both, such as --home
    wait_seconds: int | None = None
    finished: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Hooked:
    """One more entry in the list of an event."""

    event: str
    group: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientFile:
    """One file, and what of it is ours."""

    path: Path
    format: FileKind = FileKind.JSON
    server: tuple[str, ...] = ()
    entry: Mapping[str, Any] | None = None
    hooks: tuple[Hooked, ...] = ()
    text: str = ""  # of a file that is all ours


@dataclass(frozen=True, slots=True, kw_only=True)
class Client:
    name: str
    title: str
    commands: tuple[str, ...]
    scopes: tuple[Scope, ...]
    folder: Callable[[Places, Scope], Path]
    targets: Callable[[Places, Scope, Starts], tuple[ClientFile, ...]]
    skills: Callable[[Places, Scope], Path] | None = None
    note: str = ""

    def is_installed(self, places: Places) -> bool:
        found = any(shutil.which(one, path=places.environment.get("PATH")) for one in self.commands)
        return found or self.folder(places, Scope.USER).is_dir()


def client_named(name: str, known: Mapping[str, Client]) -> Client:
    if name not in known:
        raise UserError(f"There is no client '{name}'{did_you_mean(name, list(known))} Clients: {', '.join(known)}.")
    return known[name]
