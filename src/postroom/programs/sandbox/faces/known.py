"""The services the sandbox plays beside Telegram and mail."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Final

from postroom.programs.sandbox.faces.face import Face, FaceParts
from postroom.programs.sandbox.faces.ntfy.face import NtfyFace
from postroom.programs.sandbox.faces.slack.face import SlackFace

FACES: Final[Mapping[str, Callable[[FaceParts], Face]]] = MappingProxyType(
    {
        "slack": SlackFace,
        "ntfy": NtfyFace,
    }
)
"""By name; each is made once for a sandbox."""
