"""The corrections of a delivery in plain English, from the rows that the trace shows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from postroom.domain.correction import CorrectionAct, How
from postroom.domain.spoken_time import relative
from postroom.domain.time import parse_text

Row = Mapping[str, Any]

_BY: Final = {How.EDIT: "by an edit", How.DELETE: "by deleting it", How.CORRECTION: "by another message in its thread"}
_VERBS: Final = {CorrectionAct.REVISE: "revised", CorrectionAct.RECALL: "recalled"}


def is_withdrawal(correction: Row) -> bool:
    return bool(correction["act"] == CorrectionAct.RECALL and correction["how"] == How.IN_PLACE)


def words_of_withdrawal(corrections: Sequence[Row], now_us: int) -> list[str] | None:
    """None when it was not; otherwise that is why it ended."""
    one = next((one for one in corrections if is_withdrawal(one)), None)
    if one is None:
        return None
    reason = f" The reason given: {one['reason'].rstrip('.')}." if one.get("reason") else ""
    return [f"It was not sent: {one['actor']} withdrew it {_when(one, now_us)}.{reason}"]


def words_of_corrections(corrections: Sequence[Row], corrects: Row | None, now_us: int) -> list[str]:
    sentences = [_sentence(one, now_us) for one in corrections if not is_withdrawal(one)]
    if corrects is not None:
        verb = "revises" if corrects["act"] == CorrectionAct.REVISE else "recalls"
        sentences.append(f"It {verb} delivery {corrects['delivery_id']}, as {corrects['actor']} asked.")
    return sentences


def _sentence(one: Row, now_us: int) -> str:
    when = _when(one, now_us)
    if one["how"] == How.IN_PLACE:
        versions = f"version {one['version']} replaced version {one['version'] - 1}"
        return f"Its text was revised before it was sent: {versions} {when}, by {one['actor']}."
    verb, by = _VERBS[CorrectionAct(one["act"])], _BY[How(one["how"])]
    state = str(one["status"]).replace("_", " ")
    return f"{one['actor']} {verb} it {by} {when}: delivery {one['delivery_id']}, {state}."


def _when(one: Row, now_us: int) -> str:
    return relative(parse_text(one["at"]), now_us)
