"""Where on its port the console lives."""

from __future__ import annotations

from typing import Final

ROOT: Final = "/console"
