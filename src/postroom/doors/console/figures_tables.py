"""The figures as tables: the same for those who cannot see the pictures, and for the file."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from postroom.domain.delivery import Status
from postroom.domain.notice_states import CELLS
from postroom.domain.question_states import QuestionStatus
from postroom.doors.console.attention_words import CELL_WORDS, STATE_WORDS
from postroom.doors.console.csv_text import Cell, moment_cell
from postroom.doors.console.export import Exported
from postroom.work.figures.report import WITHDRAWN, AddedUp, SpanReport, Tallied, cells_of


class CellKind(StrEnum):
    """How a cell is said on the page; the file has the bare number."""

    NAME = "name"
    MOMENT = "moment"
    COUNT = "count"
    SHARE = "share"
    TOOK = "took"


@dataclass(frozen=True, slots=True, kw_only=True)
class FigureLine:
    """`since_us` of a stretch, `name` of everything else."""

    tallied: Tallied
    name: str = ""
    since_us: int | None = None


@dataclass(frozen=True, slots=True)
class FigureColumn:
    title: str
    kind: CellKind
    value: Callable[[FigureLine], Cell]

    @property
    def in_file(self) -> tuple[str, Callable[[FigureLine], Cell]]:
        unit = " (ms)" if self.kind is CellKind.TOOK else ""
        return (f"{self.title}{unit}", self.value if self.kind is not CellKind.MOMENT else _moment)


@dataclass(frozen=True, slots=True, kw_only=True)
class FigureTable:
    key: str
    caption: str
    columns: tuple[FigureColumn, ...]
    lines: tuple[FigureLine, ...]

    @property
    def exported(self) -> Exported[FigureLine]:
        return Exported(f"figures-{self.key}", [one.in_file for one in self.columns])


def _count(title: str, *states: str) -> FigureColumn:
    return FigureColumn(title, CellKind.COUNT, lambda line: line.tallied.count(*states))


def _cell(name: str) -> FigureColumn:
    words = CELL_WORDS[name]
    return FigureColumn(words[:1].upper() + words[1:], CellKind.COUNT, lambda line: cells_of(line.tallied)[name])


def _moment(line: FigureLine) -> Cell:
    return moment_cell(line.since_us)


_SINCE: Final = FigureColumn("From", CellKind.MOMENT, lambda line: line.since_us)
_CHANNEL: Final = FigureColumn("Channel", CellKind.NAME, lambda line: line.name)
_AGENT: Final = FigureColumn("Agent", CellKind.NAME, lambda line: line.name)
_STATE: Final = FigureColumn("State", CellKind.NAME, lambda line: line.name)
_P50: Final = FigureColumn("Half within", CellKind.TOOK, lambda line: line.tallied.p50_ms)
_P95: Final = FigureColumn("95 of 100 within", CellKind.TOOK, lambda line: line.tallied.p95_ms)
_SUCCESS: Final = FigureColumn("Success", CellKind.SHARE, lambda line: line.tallied.success_rate)
_OUTCOMES: Final = (
    _count("Delivered", Status.DELIVERED),
    _count("Failed", Status.FAILED),
    _count("Dead letters", Status.DEAD_LETTERED),
    _count("On their way", Status.PENDING, Status.IN_PROGRESS),
    _count("Awaiting approval", Status.AWAITING_APPROVAL),
    _count("Taken back", WITHDRAWN),
)
_ALL: Final = FigureColumn("Accepted", CellKind.COUNT, lambda line: line.tallied.all)
_ENDED: Final = _count("Ended", Status.DELIVERED, Status.FAILED, Status.DEAD_LETTERED)
_NOTICES: Final = (FigureColumn("Notices", CellKind.COUNT, lambda line: line.tallied.all), *map(_cell, CELLS))
_ENDINGS: Final = (
    FigureColumn("Asked", CellKind.COUNT, lambda line: line.tallied.all),
    _count("Answered", QuestionStatus.ANSWERED),
    _count("Expired", QuestionStatus.EXPIRED),
    _count("Declined", QuestionStatus.DECLINED),
    _count("Still open", QuestionStatus.OPEN),
    _count("Taken back or replaced", QuestionStatus.CANCELLED, QuestionStatus.SUPERSEDED),
    _P50,
    _P95,
)


def figure_tables(report: SpanReport) -> dict[str, FigureTable]:
    """By their keys, which the paths of the files name."""
    tables = [*_about_deliveries(report.deliveries)] if report.deliveries is not None else []
    tables += _about_notices(report.notices)
    tables += _about_questions(report.questions)
    return {one.key: one for one in tables}


def _about_deliveries(sent: AddedUp) -> list[FigureTable]:
    stretches, channels, agents = _stretches(sent), _named(sent.by_channel), _named(sent.by_agent)
    whole = (_ALL, *_OUTCOMES, _SUCCESS, _P50, _P95)
    return [
        _table("volume", "Messages by when they were accepted", (_SINCE, _ALL, *_OUTCOMES), stretches),
        _table("success", "Success by when they were accepted", (_SINCE, _ENDED, _OUTCOMES[0], _SUCCESS), stretches),
        _table("speed", "Time from accepted to the provider", (_SINCE, _OUTCOMES[0], _P50, _P95), stretches),
        _table("channels", "Messages by channel", (_CHANNEL, *whole), channels),
        _table("agents", "Messages by the agent that sent them", (_AGENT, *whole), agents),
    ]


def _about_notices(notices: AddedUp) -> list[FigureTable]:
    states = tuple(
        FigureLine(name=word, tallied=Tallied(counts={str(state): many}))
        for state, (word, _) in STATE_WORDS.items()
        if (many := notices.total.count(state))
    )
    return [
        _table("notices", "Notices by when they came, and where they are", (_SINCE, *_NOTICES), _stretches(notices)),
        _table("notice-states", "Notices by what became of them", (_STATE, _NOTICES[0]), states),
        _table("notice-agents", "Notices by the agent that sent them", (_AGENT, *_NOTICES), _named(notices.by_agent)),
    ]


def _about_questions(questions: AddedUp) -> list[FigureTable]:
    return [
        _table("questions", "Questions by when they were asked", (_SINCE, *_ENDINGS), _stretches(questions)),
        _table("question-agents", "Questions by who asked", (_AGENT, *_ENDINGS), _named(questions.by_agent)),
    ]


def _table(key: str, caption: str, columns: tuple[FigureColumn, ...], lines: tuple[FigureLine, ...]) -> FigureTable:
    return FigureTable(key=key, caption=caption, columns=columns, lines=lines)


def _stretches(added: AddedUp) -> tuple[FigureLine, ...]:
    return tuple(FigureLine(since_us=one.since_us, tallied=one.tallied) for one in added.stretches)


def _named(tallied: Mapping[str, Tallied]) -> tuple[FigureLine, ...]:
    return tuple(FigureLine(name=name, tallied=one) for name, one in tallied.items())
