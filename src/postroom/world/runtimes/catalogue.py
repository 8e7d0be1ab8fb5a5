"""The runtimes a butler's file can name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from postroom.domain.runtime import Runtime
from postroom.world.runtimes.claude import Claude
from postroom.world.runtimes.codex import Codex
from postroom.world.runtimes.gemini import Gemini

RUNTIMES: Final[Mapping[str, Runtime]] = {runtime.name: runtime for runtime in (Codex(), Claude(), Gemini())}
