"""The judgement of files and corrections must see every kind of harm, or a clean table would mean nothing."""

from __future__ import annotations

from typing import Any

import pytest
from chaos.content.posted import COLUMNS, Act, Contents, Posted, judged
from chaos.scenarios.content_kills import MOMENTS, SHORT


def posted(act: Act = Act.FILE, **changed: Any) -> Posted:
    made = {"corrections": 0} if act is Act.FILE else {"corrections": 1}
    return Posted(**{"token": "c1", "act": act, "status": "delivered", "copies": 1, "whole": 1, **made, **changed})


def test_whole_files_and_one_correction_each_are_sound() -> None:
    found = judged([posted(), posted(Act.REVISE, edits=1), posted(Act.RECALL)])

    assert found == Contents(files=1, corrections=2)
    assert found.sound
    assert len(found.numbers) == len(COLUMNS)


@pytest.mark.requirement("content:chaos")
@pytest.mark.parametrize(
    ("one", "harm"),
    [
        pytest.param(posted(status=None, copies=0, whole=0), "lost", id="never stored"),
        pytest.param(posted(status="pending", copies=0, whole=0), "lost", id="never sent"),
        pytest.param(posted(copies=0, whole=0), "lost", id="called delivered, and not there"),
        pytest.param(posted(whole=0), "lost", id="without its file, or with other bytes"),
        pytest.param(posted(Act.REVISE, whole=0), "lost", id="called corrected, and unchanged"),
        pytest.param(posted(Act.RECALL, corrections=0), "lost", id="never corrected"),
        pytest.param(posted(copies=2, whole=2), "twice_unmarked", id="a copy that the ledger does not announce"),
        pytest.param(posted(deliveries=2), "twice_unmarked", id="two deliveries of one message"),
        pytest.param(posted(Act.REVISE, corrections=2), "corrected_twice", id="two deliveries of one correction"),
        pytest.param(posted(Act.REVISE, edits=2), "corrected_twice", id="two edits, unmarked"),
    ],
)
def test_each_kind_of_harm_is_seen_and_said(one: Posted, harm: str) -> None:
    found = judged([one])

    assert getattr(found, harm) == 1
    assert not found.sound
    assert any(sentence.startswith("c1 ") for sentence in found.complaints)


def test_a_row_that_names_a_missing_file_is_seen() -> None:
    found = judged([posted()], ["0a1b"])

    assert (found.orphans, found.sound) == (1, False)
    assert found.complaints == ("0a1b names a file that is not there",)


def test_a_copy_that_the_ledger_announces_is_counted_and_is_no_harm() -> None:
    found = judged([posted(copies=2, whole=2, marked=True), posted(Act.REVISE, edits=2, marked=True)])

    assert found.twice_marked == 1
    assert found.sound


def test_the_short_cut_kills_in_every_act() -> None:
    assert {act for act, points in SHORT.items() if points} == set(Act)
    assert all(set(points) <= set(MOMENTS[act]) for act, points in SHORT.items())
