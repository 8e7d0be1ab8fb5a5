"""What each picture shows, in one sentence."""

from __future__ import annotations

from postroom.domain.delivery import Status
from postroom.domain.question_states import QuestionStatus
from postroom.domain.span_figures import FigureSpan
from postroom.domain.spoken_time import duration
from postroom.work.figures.report import WITHDRAWN, AddedUp, SpanReport, cells_of
from postroom.work.figures.stretches import spoken_stretch

_SPANS = {
    FigureSpan.DAY: "the last 24 hours",
    FigureSpan.WEEK: "the last 7 days",
    FigureSpan.MONTH: "the last 30 days",
}
_UNDER_WAY = (str(Status.PENDING), str(Status.IN_PROGRESS))


def span_words(span: FigureSpan) -> str:
    return _SPANS[span]


def took_words(milliseconds: float | None) -> str:
    if milliseconds is None:
        return "not known"
    if milliseconds < 1000:
        return f"{milliseconds:.0f} ms"
    return f"{milliseconds / 1000:.1f} s" if milliseconds < 60_000 else duration(milliseconds / 1000)


def volume_sentence(report: SpanReport, sent: AddedUp) -> str:
    """312 delivered, 2 failed; e-mail was slow on Tuesday."""
    total = sent.total
    if not total.all:
        return f"Nothing was sent in {span_words(report.span)}."
    parts = [
        f"{total.count(Status.DELIVERED):,} delivered",
        f"{total.count(Status.FAILED):,} failed",
        *_some(total.count(Status.DEAD_LETTERED), "given up as dead {letters}"),
        *_some(total.count(*_UNDER_WAY), "on their way"),
        *_some(total.count(Status.AWAITING_APPROVAL), "awaiting approval"),
        *_some(total.count(WITHDRAWN), "taken back"),
    ]
    return _listed(parts) + _slow_words(report, sent) + "."


def success_sentence(report: SpanReport, sent: AddedUp) -> str:
    rate = sent.total.success_rate
    if rate is None:
        return "Nothing has ended yet, so there is no rate."
    lowest = [one for one in sent.stretches if one.tallied.success_rate is not None]
    worst = min(lowest, key=lambda one: one.tallied.success_rate or 0.0, default=None)
    if rate >= 1.0 or worst is None:
        return "Everything that ended was delivered."
    when = spoken_stretch(worst.since_us, report.span, report.zone)
    return f"{_percent(rate)} of what ended was delivered; the least, {_percent(worst.tallied.success_rate)}, {when}."


def speed_sentence(report: SpanReport, sent: AddedUp) -> str:
    total = sent.total
    if total.p50_ms is None:
        return "Nothing has arrived yet, so there is no time to show."
    usual = f"Half arrived within {took_words(total.p50_ms)}, 95 of 100 within {took_words(total.p95_ms)}"
    return usual + _slow_words(report, sent) + "."


def notices_sentence(report: SpanReport, notices: AddedUp) -> str:
    cells, many = cells_of(notices.total), notices.total.all
    if not many:
        return f"No notice was held or weighed in {span_words(report.span)}."
    parts = [
        f"{cells['sent']:,} sent",
        f"{cells['held']:,} held",
        *_some(cells["in_a_digest"], "in a digest"),
        *_some(cells["waiting"], "wanting an answer"),
        *_some(cells["not_sent"], "not sent"),
    ]
    return f"Of {many:,} {'notice' if many == 1 else 'notices'} {_listed(parts)}."


def questions_sentence(report: SpanReport, questions: AddedUp) -> str:
    total = questions.total
    if not total.all:
        return f"Nothing was asked in {span_words(report.span)}."
    parts = [
        f"{total.count(QuestionStatus.ANSWERED):,} answered",
        f"{total.count(QuestionStatus.EXPIRED):,} expired",
        *_some(total.count(QuestionStatus.DECLINED), "declined"),
        *_some(total.count(QuestionStatus.OPEN), "still open"),
        *_some(total.count(QuestionStatus.CANCELLED, QuestionStatus.SUPERSEDED), "taken back or replaced"),
    ]
    half = f"; half of the answers came within {took_words(total.p50_ms)}" if total.p50_ms is not None else ""
    return f"{total.all:,} asked: {_listed(parts)}{half}."


def whole_sentence(report: SpanReport, added: AddedUp, most: int) -> str:
    """Empty when everything was looked at."""
    if added.is_whole:
        return ""
    return f"{'Of this agent' if report.agent else 'By agent'} only the newest {most:,} are counted; there are more."


def channel_name(name: str) -> str:
    return "e-mail" if name == "email" else name


def _slow_words(report: SpanReport, sent: AddedUp) -> str:
    """Each channel once, with its stretches in the order in which they came."""
    times: dict[str, list[str]] = {}
    for one in sorted(sent.slow, key=lambda one: one.since_us):
        when = spoken_stretch(one.since_us, report.span, report.zone)
        times.setdefault(channel_name(one.channel), []).append(when)
    said = [f"{channel} was slow {' and '.join(some)}" for channel, some in times.items()]
    return f"; {_listed(said)}" if said else ""


def _some(many: int, words: str) -> list[str]:
    letters = words.format(letters="letter" if many == 1 else "letters")
    return [f"{many:,} {letters}"] if many else []


def _listed(parts: list[str]) -> str:
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])}{' and ' if len(parts) > 2 else ', '}{parts[-1]}"


def _percent(rate: float | None) -> str:
    """Never rounded to a clean hundred, nor to nothing."""
    value = rate or 0.0
    value = min(max(value, 0.001), 0.999) if 0 < value < 1 else value
    return f"{value * 100:.1f} %".replace(".0 %", " %")
