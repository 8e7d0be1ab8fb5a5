"""The judgement of conversations must see every kind of harm, or a clean table would mean nothing."""

from __future__ import annotations

from typing import Any

import pytest
from chaos.scenarios.talk_kills import MOMENTS, SHORT, SHORT_POSTGRES
from chaos.talks.said import COLUMNS, Said, Talks, judged

from postroom.conversations.model import InboundStatus


def said(**changed: Any) -> Said:
    usual: dict[str, Any] = {"token": "t1", "status": InboundStatus.ANSWERED, "answers": [7], "deliveries": 1}
    return Said(**{**usual, **changed})


def stranger(**changed: Any) -> Said:
    usual: dict[str, Any] = {"stranger": True, "status": InboundStatus.REFUSED, "answers": (), "deliveries": 0}
    return said(**{**usual, **changed})


def test_one_answer_each_in_order_and_none_for_the_stranger_is_sound() -> None:
    failed = said(token="t2", status=InboundStatus.FAILED, answers=[9])

    found = judged([said(), stranger(token="s1"), failed])

    assert found == Talks(written=3, answered=1, failed=1)
    assert found.sound
    assert len(found.numbers) == len(COLUMNS)


@pytest.mark.requirement("talk:chaos")
@pytest.mark.parametrize(
    ("one", "harm"),
    [
        pytest.param(said(status=None, answers=()), "lost", id="never stored"),
        pytest.param(said(status=InboundStatus.RUNNING, answers=()), "lost", id="never ended"),
        pytest.param(said(answers=()), "lost", id="called answered, and nothing came"),
        pytest.param(said(status=InboundStatus.FAILED, answers=()), "lost", id="failed without a word"),
        pytest.param(said(status=InboundStatus.REFUSED), "lost", id="taken for a stranger"),
        pytest.param(stranger(status=None), "lost", id="a stranger's that was not stored"),
        pytest.param(said(answers=[7, 8]), "twice_unmarked", id="a copy that the ledger does not announce"),
        pytest.param(said(deliveries=2), "twice_unmarked", id="two answers in the ledger"),
        pytest.param(said(deliveries=2, answers=[7, 8], marked=True), "twice_unmarked", id="two answers, one marked"),
        pytest.param(stranger(sessions=1), "for_strangers", id="a session for a stranger"),
        pytest.param(stranger(answers=[7]), "for_strangers", id="an answer for a stranger"),
    ],
)
def test_each_kind_of_harm_is_seen_and_said(one: Said, harm: str) -> None:
    found = judged([one])

    assert getattr(found, harm) == 1
    assert not found.sound
    assert any(sentence.startswith("t1 ") for sentence in found.complaints)


def test_an_answer_that_overtakes_an_earlier_one_is_seen() -> None:
    found = judged([said(answers=[9]), said(token="t2", answers=[8])])

    assert found.out_of_order == 1
    assert not found.sound


def test_a_copy_that_the_ledger_announces_is_counted_and_is_no_harm() -> None:
    found = judged([said(answers=[7, 9], marked=True), said(token="t2", answers=[8])])

    assert (found.twice_marked, found.out_of_order) == (1, 0)
    assert found.sound


def test_the_short_cut_kills_at_each_of_the_named_steps() -> None:
    assert {*SHORT, *SHORT_POSTGRES} <= set(MOMENTS)
    assert len(set(MOMENTS)) == len(MOMENTS)
