"""What the desk may be told from outside."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from enum import StrEnum
from pathlib import Path
from typing import Any

from postroom.desk.voicemode import voicemode_directory

DEFAULT_PORT = 40105
_PREFIX = "POSTROOM_DESK__"


class Toolkit(StrEnum):
    AUTO = "auto"
    TK = "tk"
    QT = "qt"


@dataclass(frozen=True, slots=True, kw_only=True)
class DeskSettings:
    home: Path
    voicemode: Path
    """VoiceMode's base folder, whose conversation log the desk shares."""
    project_path: str
    history_limit: int = 5
    """Exchanges of the running conversation shown above the message."""
    toolkit: Toolkit = Toolkit.AUTO
    show_seconds: float = 10.0
    """A display that has not shown the window by then does not answer."""
    display_only_seconds: float = 10.0
    """How long a message without a question stays, unless the call says otherwise."""
    typing_grace_seconds: float = 10.0
    progress_seconds: float = 10.0
    silence_seconds: float = 60.0
    """A window that has not given a sign of life for so long hangs."""

    def __post_init__(self) -> None:
        if self.history_limit < 0:
            raise ValueError("history_limit: must be 0 or more")

    @property
    def drafts(self) -> Path:
        return self.home / "desk" / "drafts"

    @property
    def turn(self) -> Path:
        return self.home / "desk" / "turn"


def from_environment(environ: Mapping[str, str], *, working_directory: Path, user_home: Path) -> DeskSettings:
    home = environ.get("POSTROOM_HOME") or environ.get("XDG_DATA_HOME", str(user_home / ".local/share")) + "/postroom"
    return DeskSettings(
        home=Path(home).expanduser(),
        voicemode=voicemode_directory(environ, working_directory=working_directory, user_home=user_home),
        project_path=str(working_directory),
        toolkit=Toolkit(environ.get(f"{_PREFIX}TOOLKIT", Toolkit.AUTO)),
        **_numbers(environ),
    )


def _numbers(environ: Mapping[str, str]) -> dict[str, Any]:
    """Every field with a number as its default, from the variable of the same name."""
    found: dict[str, Any] = {}
    for field in fields(DeskSettings):
        text = environ.get(_PREFIX + field.name.upper())
        if text is not None and isinstance(field.default, (int, float)):
            found[field.name] = _number(field.name, text, type(field.default))
    return found


def _number(name: str, text: str, kind: type[int] | type[float]) -> int | float:
    try:
        return kind(text)
    except ValueError:
        raise ValueError(f"{_PREFIX}{name.upper()}: must be a number") from None
