"""The household's figures as programs read them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from postroom.domain.delivery import Status
from postroom.domain.question_states import QuestionStatus
from postroom.domain.time import to_text
from postroom.work.figures.report import WITHDRAWN, AddedUp, SpanReport, Tallied, cells_of
from postroom.work.figures.sentences import notices_sentence, questions_sentence, volume_sentence

_DELIVERIES: Final = (*map(str, Status), WITHDRAWN)
_QUESTIONS: Final = tuple(map(str, QuestionStatus))


def report_document(report: SpanReport) -> dict[str, Any]:
    sent = report.deliveries
    return {
        "span": str(report.span),
        "zone": report.zone,
        "since": to_text(report.since_us),
        "until": to_text(report.until_us),
        "channel": report.channel,
        "agent": report.agent,
        "person_id": report.person,
        "deliveries": None
        if sent is None
        else {"sentence": volume_sentence(report, sent), **_added(sent, _deliveries), **_by_channel(sent)},
        "notices": {"sentence": notices_sentence(report, report.notices), **_added(report.notices, _notices)},
        "questions": {"sentence": questions_sentence(report, report.questions), **_added(report.questions, _questions)},
    }


def _added(added: AddedUp, shown: Any) -> dict[str, Any]:
    return {
        "complete": added.is_whole,
        "total": shown(added.total),
        "stretches": [
            {"since": to_text(one.since_us), "until": to_text(one.until_us), **shown(one.tallied)}
            for one in added.stretches
        ],
        "by_agent": _named(added.by_agent, shown),
    }


def _by_channel(sent: AddedUp) -> dict[str, Any]:
    return {
        "by_channel": _named(sent.by_channel, _deliveries),
        "slow": [
            {"channel": one.channel, "since": to_text(one.since_us), "p95_milliseconds": one.p95_ms}
            for one in sent.slow
        ],
    }


def _named(tallied: Mapping[str, Tallied], shown: Any) -> dict[str, Any]:
    return {name: shown(one) for name, one in tallied.items()}


def _deliveries(one: Tallied) -> dict[str, Any]:
    counts = {state: one.count(state) for state in _DELIVERIES}
    return {"accepted": one.all, **counts, "success_rate": one.success_rate, **_milliseconds(one)}


def _notices(one: Tallied) -> dict[str, Any]:
    return {"accepted": one.all, "cells": cells_of(one), "states": dict(sorted(one.counts.items()))}


def _questions(one: Tallied) -> dict[str, Any]:
    return {"asked": one.all, **{state: one.count(state) for state in _QUESTIONS}, **_milliseconds(one)}


def _milliseconds(one: Tallied) -> dict[str, Any]:
    return {"p50_milliseconds": one.p50_ms, "p95_milliseconds": one.p95_ms}
