"""The services the sandbox plays beside Telegram and mail."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Final

from postroom.programs.sandbox.faces.discord.face import DiscordFace
from postroom.programs.sandbox.faces.face import Face, FaceParts

FACES: Final[Mapping[str, Callable[[FaceParts], Face]]] = MappingProxyType({"discord": DiscordFace})
"""By name; each is made once for a sandbox."""
