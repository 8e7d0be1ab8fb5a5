"""What a model should know about asking people, once: as a file for clients that read skills, and as ready prompts."""

from __future__ import annotations

from functools import cache
from pathlib import Path


@cache
def skill_text() -> str:
    return Path(__file__).with_name("skill.md").read_text(encoding="utf-8")


@cache
def skill_section(title: str) -> str:
    """The words below one of its headings."""
    _, _, rest = skill_text().partition(f"\n## {title}\n")
    return rest.partition("\n## ")[0].strip()
