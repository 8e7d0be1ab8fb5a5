"""The pages of the documentation, taken apart: fenced blocks, commands in running text, links."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.architecture.tree import ROOT

_FENCE = re.compile(
    r"^(?: *<!-- (?P<note>[a-z]+: [^\n]*?) -->\n)?"
    r"(?P<outer> *)```(?P<kind>\S*)\n(?P<text>.*?)^(?P=outer)```$",
    re.S | re.M,
)
_HOUSEHOLD = re.compile(r"^<!-- household: (.*?) -->$", re.M)
_INLINE = re.compile(r"(?<!`)`(postroom [^`]+)`(?!`)")
_HEADING = re.compile(r"^#+ (.+)$", re.M)
_LINK = re.compile(r"\]\(([^)\s]+)\)|<img [^>]*src=\"([^\"]+)\"")


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """`note` is what stands in a comment before it: how to check it, or why it cannot run here."""

    page: Path
    line: int
    kind: str
    text: str
    note: str

    @property
    def place(self) -> str:
        return f"{self.page.relative_to(ROOT).as_posix()}:{self.line}"

    def told(self, key: str) -> str | None:
        name, _, value = self.note.partition(": ")
        return value if name == key else None


def pages() -> list[Path]:
    named = [ROOT / name for name in ("README.md", "CONTRIBUTING.md", "SECURITY.md")]
    return [*(page for page in named if page.exists()), *sorted((ROOT / "docs").rglob("*.md"))]


def blocks(page: Path) -> list[Block]:
    text = page.read_text(encoding="utf-8")
    return [
        Block(
            page=page,
            line=text.count("\n", 0, found.start("text")),
            kind=found["kind"],
            text=_without(found["outer"], found["text"]),
            note=found["note"] or "",
        )
        for found in _FENCE.finditer(text)
    ]


def fence_count(page: Path) -> int:
    """Marks that begin or end a block, counted the simple way: so that none escapes the pattern above."""
    return sum(line.lstrip().startswith("```") for line in page.read_text(encoding="utf-8").splitlines())


def inline_commands(page: Path) -> Iterator[str]:
    yield from _INLINE.findall(_FENCE.sub("", page.read_text(encoding="utf-8")))


def links(page: Path) -> Iterator[str]:
    for markdown, picture in _LINK.findall(_FENCE.sub("", page.read_text(encoding="utf-8"))):
        yield markdown or picture


def anchors(page: Path) -> set[str]:
    """What a link may name behind its `#`, as GitHub makes it of headings: a second one of a name is numbered."""
    seen: Counter[str] = Counter()
    made = set()
    for heading in _HEADING.findall(_FENCE.sub("", page.read_text(encoding="utf-8"))):
        words = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).strip().lower()
        name = re.sub(r"[^\w\- ]", "", words).replace(" ", "-")
        made.add(f"{name}-{seen[name]}" if seen[name] else name)
        seen[name] += 1
    return made


def household_settings(page: Path) -> dict[str, str]:
    """`<!-- household: approvals.enabled=true -->`: what the household has that the page's commands run against."""
    found = _HOUSEHOLD.search(page.read_text(encoding="utf-8"))
    return dict(pair.split("=", 1) for pair in found[1].split()) if found else {}


def _without(indent: str, text: str) -> str:
    return "".join(line.removeprefix(indent) for line in text.splitlines(keepends=True))
