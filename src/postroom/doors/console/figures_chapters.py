"""Which pictures are shown: what was sent, what was held, and what was asked."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from postroom.domain.delivery import Status
from postroom.domain.question_states import QuestionStatus
from postroom.domain.span_figures import MOST_LOOKED_AT, FigureSpan
from postroom.doors.console.figures_pictures import Caption, Patterned, Picture, curved, ranked, rated, stacked
from postroom.doors.console.figures_tables import FigureTable, figure_tables
from postroom.doors.console.words import percent
from postroom.work.figures import sentences
from postroom.work.figures.report import WITHDRAWN, AddedUp, SpanReport, Tallied, cells_of
from postroom.work.figures.stretches import stretch_name

_EVERY: Final = {FigureSpan.DAY: 4, FigureSpan.WEEK: 1, FigureSpan.MONTH: 5}  # so that labels do not touch
_UNDER_WAY: Final = (Status.PENDING, Status.IN_PROGRESS, Status.AWAITING_APPROVAL, WITHDRAWN)
_GONE: Final = (QuestionStatus.OPEN, QuestionStatus.CANCELLED, QuestionStatus.SUPERSEDED)
_OUTCOMES: Final[Mapping[Patterned, tuple[str, ...]]] = {
    Patterned("Delivered", "full"): (Status.DELIVERED,),
    Patterned("Failed", "hatched"): (Status.FAILED,),
    Patterned("Dead letters", "dotted"): (Status.DEAD_LETTERED,),
    Patterned("Not ended, or taken back", "light"): _UNDER_WAY,
}
_ENDINGS: Final[Mapping[Patterned, tuple[str, ...]]] = {
    Patterned("Answered", "full"): (QuestionStatus.ANSWERED,),
    Patterned("Expired", "hatched"): (QuestionStatus.EXPIRED,),
    Patterned("Declined", "dotted"): (QuestionStatus.DECLINED,),
    Patterned("Open, taken back or replaced", "light"): _GONE,
}
_CELLS: Final = {
    Patterned("Sent", "full"): "sent",
    Patterned("Held", "hatched"): "held",
    Patterned("In a digest", "dotted"): "in_a_digest",
    Patterned("Waiting for an OK", "light"): "waiting",
    Patterned("Not sent", "open"): "not_sent",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Chapter:
    key: str
    title: str
    pictures: Sequence[Picture]
    remark: str = ""


@dataclass(frozen=True, slots=True)
class _Captions:
    report: SpanReport
    tables: Mapping[str, FigureTable]

    def of(self, key: str, title: str, sentence: str, table: str = "") -> Caption:
        found = self.tables[table or key]
        names = [self._label(place, one.since_us) for place, one in enumerate(found.lines) if one.since_us is not None]
        return Caption(key=key, title=title, sentence=sentence, table=found, labels=names)

    def _label(self, place: int, since_us: int) -> str:
        shown = place % _EVERY[self.report.span] == 0
        name = stretch_name(since_us, self.report.span, self.report.zone)
        short = name.partition(" ")[0] if self.report.span is FigureSpan.WEEK else name
        return short if shown else ""


def chapters(report: SpanReport) -> list[Chapter]:
    captions, sent = _Captions(report, figure_tables(report)), report.deliveries
    everywhere = "These are of all channels: a notice or a question has no one channel." if report.channel else ""
    messages = []
    if sent is not None:
        remark = sentences.whole_sentence(report, sent, MOST_LOOKED_AT)
        messages = [Chapter(key="sent", title="Messages", pictures=_of_deliveries(captions, sent), remark=remark)]
    return [
        *messages,
        Chapter(
            key="attention",
            title="Held against sent",
            pictures=_of_notices(captions, report.notices),
            remark=everywhere,
        ),
        Chapter(key="asked", title="Questions", pictures=_of_questions(captions, report.questions), remark=everywhere),
    ]


def _of_deliveries(captions: _Captions, sent: AddedUp) -> list[Picture]:
    report, pieces = captions.report, list(_OUTCOMES)
    volume = captions.of("volume", "How much was sent", sentences.volume_sentence(report, sent))
    success = captions.of("success", "How much of it arrived", sentences.success_sentence(report, sent))
    speed = captions.of("speed", "How fast it arrived", sentences.speed_sentence(report, sent))
    channels = captions.of("channels", "By channel", _most("by", sent.by_channel))
    agents = captions.of("agents", "By agent", _most("from", sent.by_agent))
    return [
        stacked(volume, pieces, [_counts(one.tallied, _OUTCOMES) for one in sent.stretches]),
        rated(success, [one.tallied.success_rate for one in sent.stretches]),
        _curves(speed, sent),
        ranked(channels, pieces, _rows(sent.by_channel, _OUTCOMES, _arrived)),
        ranked(agents, pieces, _rows(sent.by_agent, _OUTCOMES, _arrived)),
    ]


def _of_notices(captions: _Captions, notices: AddedUp) -> list[Picture]:
    pieces = list(_CELLS)
    held = captions.of(
        "notices", "What was held, and what was sent", sentences.notices_sentence(captions.report, notices)
    )
    states = captions.of("notice-states", "What became of them", "Where each of them is now.")
    agents = captions.of("notice-agents", "By agent", _most("from", notices.by_agent))
    became = [(line.name, f"{line.tallied.all:,}", _cells(line.tallied)) for line in states.table.lines]
    return [
        stacked(held, pieces, [_cells(one.tallied) for one in notices.stretches]),
        ranked(states, pieces, sorted(became, key=lambda row: -sum(row[2]))),
        ranked(agents, pieces, [(name, _weighed(one), _cells(one)) for name, one in notices.by_agent.items()]),
    ]


def _of_questions(captions: _Captions, asked: AddedUp) -> list[Picture]:
    pieces, half = list(_ENDINGS), sentences.took_words(asked.total.p50_ms)
    took = f"Half of the answers came within {half}." if asked.total.p50_ms is not None else "Nothing was answered yet."
    ended = captions.of(
        "questions", "What was asked, and how it ended", sentences.questions_sentence(captions.report, asked)
    )
    return [
        stacked(ended, pieces, [_counts(one.tallied, _ENDINGS) for one in asked.stretches]),
        _curves(captions.of("answers", "How long an answer took", took, table="questions"), asked),
        ranked(
            captions.of("question-agents", "By who asked", _most("from", asked.by_agent)),
            pieces,
            _rows(asked.by_agent, _ENDINGS, _answered),
        ),
    ]


def _curves(caption: Caption, added: AddedUp) -> Picture:
    times = [one.tallied for one in added.stretches]
    return curved(caption, [one.p50_ms for one in times], [one.p95_ms for one in times])


def _rows(
    tallied: Mapping[str, Tallied], kinds: Mapping[Patterned, tuple[str, ...]], said: Callable[[Tallied], str]
) -> list[tuple[str, str, list[int]]]:
    return [(name, said(one), _counts(one, kinds)) for name, one in tallied.items()]


def _counts(one: Tallied, kinds: Mapping[Patterned, tuple[str, ...]]) -> list[int]:
    return [one.count(*states) for states in kinds.values()]


def _cells(one: Tallied) -> list[int]:
    cells = cells_of(one)
    return [cells[name] for name in _CELLS.values()]


def _arrived(one: Tallied) -> str:
    half = f", half within {sentences.took_words(one.p50_ms)}" if one.p50_ms is not None else ""
    return f"{one.count(Status.DELIVERED):,} of {one.all:,} delivered, success {percent(one.success_rate)}{half}"


def _weighed(one: Tallied) -> str:
    cells = cells_of(one)
    return f"{cells['sent']:,} of {one.all:,} sent, {cells['held']:,} held"


def _answered(one: Tallied) -> str:
    half = f", half within {sentences.took_words(one.p50_ms)}" if one.p50_ms is not None else ""
    return f"{one.count(QuestionStatus.ANSWERED):,} of {one.all:,} answered{half}"


def _most(word: str, tallied: Mapping[str, Tallied]) -> str:
    """Of the largest, which stands first."""
    if not tallied:
        return ""
    name, first = next(iter(tallied.items()))
    return f"Most came {word} {name}: {first.all:,} of {sum(one.all for one in tallied.values()):,}."
