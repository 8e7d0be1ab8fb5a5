"""The services the sandbox plays beside Telegram and mail."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Final

from postroom.programs.sandbox.faces.discord.face import DiscordFace
from postroom.programs.sandbox.faces.face import FaceParts, SandboxFace
from postroom.programs.sandbox.faces.ntfy.face import NtfyFace
from postroom.programs.sandbox.faces.slack.face import SlackFace

FACES: Final[Mapping[str, Callable[[FaceParts], SandboxFace]]] = MappingProxyType(
    {
        "slack": SlackFace,
        "discord": DiscordFace,
        "ntfy": NtfyFace,
    }
)
"""By name; each is made once for a sandbox."""
