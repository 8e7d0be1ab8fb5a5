"""The runtimes a butler's file can name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from postroom.runtimes.claude import Claude
from postroom.runtimes.codex import Codex
from postroom.runtimes.gemini import Gemini
from postroom.runtimes.runtime import Runtime

RUNTIMES: Final[Mapping[str, Runtime]] = {runtime.name: runtime for runtime in (Codex(), Claude(), Gemini())}
