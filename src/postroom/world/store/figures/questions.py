"""Questions by stretch: who asked, how each ended, and how long an answer took; at most MOST_LOOKED_AT of them."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Sequence
from typing import Any

from sqlalchemy import Connection, Select, select

from postroom.domain.ids import first_id_at
from postroom.domain.question_states import QuestionStatus
from postroom.domain.span_figures import MOST_LOOKED_AT, Counted, CountedQuestions, FigureQuery, Took
from postroom.world.store.tables.questions import question_people, questions

_questions = questions.c


def counted_questions(connection: Connection, query: FigureQuery) -> CountedQuestions:
    rows = connection.execute(_newest(query)).all()
    first_ids = [first_id_at(edge) for edge in query.edges_us]
    found = [(bisect_right(first_ids, row.id) - 1, _asker(row), row) for row in rows]
    wanted = [one for one in found if query.agent in (None, one[1])]
    return CountedQuestions(endings=_endings(wanted), answers=_answers(wanted), is_whole=len(rows) < MOST_LOOKED_AT)


def _newest(query: FigureQuery) -> Select[Any]:
    first, last = first_id_at(query.edges_us[0]), first_id_at(query.edges_us[-1])
    columns = (_questions.id, _questions.asker, _questions.status, _questions.created_at, _questions.ended_at)
    if query.person is None:
        found = select(*columns).where(_questions.id >= first, _questions.id < last)
        return found.order_by(_questions.id.desc()).limit(MOST_LOOKED_AT)
    asked = question_people.c
    mine = select(*columns).join(question_people, asked.question_id == _questions.id)
    mine = mine.where(asked.person_id == query.person, asked.question_id >= first, asked.question_id < last)
    return mine.order_by(asked.question_id.desc()).limit(MOST_LOOKED_AT)


def _endings(found: Sequence[tuple[int, str, Any]]) -> list[Counted]:
    counts = Counter((place, asker, row.status) for place, asker, row in found)
    return [
        Counted(place=place, channel="", agent=asker, state=status, many=many)
        for (place, asker, status), many in counts.items()
    ]


def _answers(found: Sequence[tuple[int, str, Any]]) -> list[Took]:
    return [
        Took(place=place, channel="", agent=asker, milliseconds=(row.ended_at - row.created_at) / 1000)
        for place, asker, row in found
        if row.status == QuestionStatus.ANSWERED
    ]


def _asker(row: Any) -> str:
    """By the name that deliveries have: of `butler:health` it is `health`."""
    return str(row.asker.partition(":")[2] or row.asker)
