"""Which log lines belong to the conversation that is going on, and how they are shown."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from random import Random

from postroom.programs.desk.records import ConversationRecord
from postroom.programs.desk.who import Who

GAP = timedelta(minutes=5)
_ALPHABET = "abcdefghijklmnopqrstuvwxyz0123456789"


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    who: Who
    text: str = field(repr=False)


def conversation_id(records: Sequence[ConversationRecord], *, project_path: str, now: datetime, dice: Random) -> str:
    """The id of the newest record of this project if it is fresh enough, otherwise a new one."""
    for record in reversed(records):
        if record.project_path == project_path:
            if now - record.timestamp < GAP:
                return record.conversation_id
            break
    return f"conv_{now:%Y%m%d_%H%M%S}_" + "".join(dice.choices(_ALPHABET, k=6))


def joined(records: Sequence[ConversationRecord]) -> list[ConversationRecord]:
    """A long text that was logged in two parts, as one again."""
    whole: list[ConversationRecord] = []
    for record in records:
        last = whole[-1] if whole else None
        if record.part > 1 and last is not None and last.who == record.who and last.part == record.part - 1:
            whole[-1] = replace(last, text=last.text + record.text, part=record.part)
        else:
            whole.append(record)
    return whole


def history(records: Sequence[ConversationRecord], *, project_path: str, limit: int) -> tuple[Line, ...]:
    """
    The last exchanges of this project, spoken or typed.

    Chosen by project rather than by id: an assistant may work for longer than
    a conversation lasts, and a VoiceMode that has been running for long keeps
    its own id next to ours.
    """
    mine = [record for record in joined(records) if record.project_path == project_path and not record.silent]
    mine.sort(key=lambda record: record.timestamp)
    lines = [Line(who=record.who, text=record.text) for record in mine]
    return tuple(lines[_start_of_last(lines, limit) :])


def _start_of_last(lines: Sequence[Line], limit: int) -> int:
    """Each message of the assistant begins an exchange, whether or not it was answered."""
    if limit == 0:
        return len(lines)
    starts = [index for index, line in enumerate(lines) if index == 0 or line.who is Who.ASSISTANT]
    return starts[-limit] if len(starts) > limit else 0
