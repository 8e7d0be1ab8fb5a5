"""Figures: what was sent, held and asked lately, as pictures, as tables and as files."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from urllib.parse import urlencode

from starlette.exceptions import HTTPException
from starlette.responses import Response

from postroom.domain.span_figures import FigureSpan
from postroom.doors.console.attention_people import is_somebody
from postroom.doors.console.charts import HEIGHT, STRIP_HEIGHT, WIDTH
from postroom.doors.console.export import one_page, streamed
from postroom.doors.console.figures_chapters import chapters
from postroom.doors.console.figures_pictures import LOW_RATE
from postroom.doors.console.figures_tables import CellKind, figure_tables
from postroom.doors.console.visit import ConsolePage, ConsoleSection, Visit
from postroom.work.figures.figures import LONGEST_NAME, FigureWish, HouseholdFigures
from postroom.work.figures.sentences import span_words, took_words
from postroom.work.figures.stretches import stretch_name


@dataclass(frozen=True, slots=True, kw_only=True)
class FigurePages:
    figures: HouseholdFigures

    async def show(self, visit: Visit) -> Response:
        wish = _wish(visit)
        report = await self.figures.report(visit.principal, wish, visit.now_us)
        channels, agents = await self.figures.known(visit.principal)
        return visit.show(
            "figures.html",
            report=report,
            chapters=chapters(report),
            wish=wish,
            spans=[(one, span_words(one), _asked(wish, one)) for one in FigureSpan],
            asked=_kept(wish),
            channels=_choices(channels, wish.channel),
            agents=_choices([*agents, *report.notices.by_agent, *report.questions.by_agent], wish.agent),
            is_filtered=bool(wish.channel or wish.agent),
            kinds=CellKind,
            took=took_words,
            stretch=lambda since_us: stretch_name(since_us, report.span, report.zone),
            sheet=(WIDTH, HEIGHT, STRIP_HEIGHT),
            low=LOW_RATE,
        )

    async def export(self, visit: Visit) -> Response:
        report = await self.figures.report(visit.principal, _wish(visit), visit.now_us)
        table = figure_tables(report).get(visit.path["table"])
        if table is None:
            raise HTTPException(404)
        return await streamed(visit, table.exported, one_page(table.lines))


def figures_section(figures: HouseholdFigures) -> ConsoleSection:
    pages = FigurePages(figures=figures)
    return ConsoleSection(
        name="Figures",
        pages=(
            ConsolePage("/figures", pages.show, open_to=is_somebody),
            ConsolePage("/export/figures/{table}.csv", pages.export, open_to=is_somebody),
        ),
    )


def _wish(visit: Visit) -> FigureWish:
    """A span that is not known is the usual one."""
    span, names = visit.query.get("span", ""), {}
    for name in ("channel", "agent"):
        names[name] = visit.query.get(name, "").strip()[:LONGEST_NAME] or None
    return FigureWish(span=FigureSpan(span) if span in list(FigureSpan) else FigureSpan.WEEK, **names)


def _kept(wish: FigureWish) -> dict[str, str]:
    return {"span": str(wish.span), "channel": wish.channel or "", "agent": wish.agent or ""}


def _asked(wish: FigureWish, span: FigureSpan) -> str:
    return urlencode({name: value for name, value in {**_kept(wish), "span": str(span)}.items() if value})


def _choices(names: Sequence[str], chosen: str | None) -> list[tuple[str, str]]:
    known = dict.fromkeys(sorted({*names, *([chosen] if chosen else [])}))
    return [(one, one) for one in known]
