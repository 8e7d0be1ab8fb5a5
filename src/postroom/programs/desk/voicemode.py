"""Where VoiceMode keeps its files, found by VoiceMode's own rules."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from string import Template

_VARIABLE = "VOICEMODE_BASE_DIR"


def voicemode_directory(environ: Mapping[str, str], *, working_directory: Path, user_home: Path) -> Path:
    """The environment wins, then the project's file, then the person's, then `~/.voicemode`."""
    value = environ.get(_VARIABLE)
    for file in _files(working_directory, user_home):
        value = value or _value_in(file)
    if not value:
        return user_home / ".voicemode"
    expanded = Template(value).safe_substitute(environ)
    return Path(expanded.replace("~", str(user_home), 1) if expanded.startswith("~") else expanded)


def _files(working_directory: Path, user_home: Path) -> Iterator[Path]:
    for folder in (working_directory, *working_directory.parents):
        yield folder / ".voicemode.env"
        yield folder / ".voicemode" / "voicemode.env"
    yield user_home / ".voicemode" / "voicemode.env"
    yield user_home / ".voicemode" / ".voicemode.env"


def _value_in(file: Path) -> str | None:
    try:
        lines = file.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return None
    for line in lines:
        name, _, value = line.strip().removeprefix("export ").partition("=")
        if name.strip() == _VARIABLE and value.strip():
            return value.strip().strip("\"'")
    return None
