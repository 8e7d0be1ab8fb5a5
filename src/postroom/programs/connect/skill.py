"""What a model should know about asking people: for clients that read skills."""

from __future__ import annotations

from pathlib import Path


def skill_text() -> str:
    return Path(__file__).with_name("skill.md").read_text(encoding="utf-8")
