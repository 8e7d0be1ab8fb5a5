"""What clients really send."""

from __future__ import annotations

from pathlib import Path

FIXTURES = Path(__file__).with_name("fixtures")


def recorded(client: str, event: str) -> str:
    return (FIXTURES / client / f"{event}.json").read_text(encoding="utf-8")


def every() -> list[tuple[str, str]]:
    return sorted((file.parent.name, file.stem) for file in FIXTURES.glob("*/*.json"))
