"""The figures as a bar chart that is readable on a light page and on a dark one."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from html import escape

from benchmarks.peers.figures import Figures, known

WIDTH, LEFT, RIGHT, BAR, GAP = 760, 130, 90, 16, 12
_STYLE = (
    "text{font:13px system-ui,sans-serif;fill:#24292f}.callers{fill:#0969da}.batches{fill:#8c959f}"
    "@media(prefers-color-scheme:dark){text{fill:#e6edf3}.callers{fill:#4493f8}.batches{fill:#6e7681}}"
)


def chart(figures: Sequence[Figures]) -> str:
    """Linear from zero: a bar twice as long is twice as many."""
    longest = max((one.best() for one in figures), default=0.0) or 1.0
    rows, y = list[str](), 44
    for one in figures:
        rows.append(f'<text x="{LEFT - 10}" y="{y + BAR - 3}" text-anchor="end">{escape(one.contender.name)}</text>')
        for kind, values in (("callers", known(one.callers)), ("batches", known(one.batches))):
            if values:
                rows.append(_bar(kind, statistics.median(values), longest, y))
                y += BAR + 3
        y += GAP
    legend = (
        f'<rect class="callers" x="{LEFT}" y="12" width="12" height="12"/>'
        f'<text x="{LEFT + 18}" y="23">200 callers, a job in each call</text>'
        f'<rect class="batches" x="{LEFT + 250}" y="12" width="12" height="12"/>'
        f'<text x="{LEFT + 268}" y="23">handed in 100 at a time</text>'
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {y}" role="img" '
        f'aria-label="Durable jobs per second">\n<title>Durable jobs per second, median</title>\n'
        f"<style>{_STYLE}</style>\n{legend}\n" + "\n".join(rows) + "\n</svg>\n"
    )


def _bar(kind: str, value: float, longest: float, y: int) -> str:
    length = max(1.0, value / longest * (WIDTH - LEFT - RIGHT))
    return (
        f'<rect class="{kind}" x="{LEFT}" y="{y}" width="{length:.1f}" height="{BAR}"/>'
        f'<text x="{LEFT + length + 6:.1f}" y="{y + BAR - 3}">{value:,.0f}/s</text>'
    )
