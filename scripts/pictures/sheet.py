"""One page that shows all the pictures beside each other."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from pathlib import Path

_STYLE = """
:root { color-scheme: light dark; font: 1rem/1.4 system-ui, sans-serif; }
section { border-top: 1px solid #8888; padding: 1rem 0; }
div { align-items: start; display: flex; flex-wrap: wrap; gap: 1rem; }
figure { margin: 0; } img { border: 1px solid #8888; max-width: 30rem; max-height: 40rem; }
.missing { background: #a00; color: #fff; padding: .5rem 1rem; }
"""


def write_sheet(folder: Path, names: Iterable[str], ways: Iterable[str], missing: Sequence[str]) -> Path:
    sections = "".join(_section(name, list(ways)) for name in names)
    loud = f'<p class="missing">No picture of: {escape(", ".join(missing))}</p>' if missing else ""
    page = folder / "index.html"
    page.write_text(
        '<!doctype html><html lang="en"><meta charset="utf-8"><title>Every page</title>'
        f"<style>{_STYLE}</style><h1>Every page</h1>{loud}{sections}</html>",
        encoding="utf-8",
    )
    return page


def _section(name: str, ways: Sequence[str]) -> str:
    shown = "".join(_figure(f"{way}/{name}.png", way) for way in ways)
    return f"<section><h2>{escape(name)}</h2><div>{shown}</div></section>"


def _figure(source: str, way: str) -> str:
    address = escape(source, quote=True)
    return f'<figure><figcaption>{way}</figcaption><a href="{address}"><img src="{address}" alt="{way}"></a></figure>'
