"""The services that are played beside Telegram and mail."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Final

from tests.fakes.discord.face import DiscordFace
from tests.fakes.face import FaceParts, SandboxFace
from tests.fakes.ntfy.face import NtfyFace
from tests.fakes.slack.face import SlackFace

FACES: Final[Mapping[str, Callable[[FaceParts], SandboxFace]]] = MappingProxyType(
    {
        "slack": SlackFace,
        "discord": DiscordFace,
        "ntfy": NtfyFace,
    }
)
"""By name."""
