"""`/llms.txt`: what a model should know before it calls."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Final

PATH: Final = "/llms.txt"


@cache
def llms_text() -> str:
    return Path(__file__).with_name("llms.txt").read_text(encoding="utf-8")
