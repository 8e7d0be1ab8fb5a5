"""What a process did, written so that it survives the process."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path


class Step(StrEnum):
    UP = "up"
    ANSWER = "answer"  # the caller was told; `detail` is the status
    MARK = "mark"
    MARK_LOST = "mark-lost"  # the store gave no answer, so the mark may stand
    NOT_MARKED = "not-marked"
    SEND = "send"
    UNCERTAIN = "uncertain"  # the channel could not say whether it was sent
    ADVANCE_LOST = "advance-lost"
    SETTLED = "settled"
    ASKED = "asked"  # the asker has the id of its question
    HEARD = "heard"  # the asker has the end of its question; `detail` is the answer
    SAID = "said"  # a notice is handed in; `detail` is when, by the clock of the process, as in the next ones
    LEFT = "left"  # a notice is handed to a provider; `detail` is the channel and when
    ANSWERED = "answered"  # a person has acknowledged it
    CLOCK = "clock"  # how far ahead the clock is from now on
    ACTED = "acted"  # how much of a script is done
    UNACCOUNTED = "unaccounted"  # a law is broken; `detail` says which
    FENCED = "fenced"  # somebody else had taken the delivery over


@dataclass(frozen=True, slots=True)
class Entry:
    process: int
    step: Step
    token: str
    detail: str


class Journal:
    """One short write for each line: whole lines only, in the order they happened, from any number of processes."""

    def __init__(self, path: Path) -> None:
        self._file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        self._process = os.getpid()

    def note(self, step: Step, token: str = "-", detail: str = "-") -> None:
        os.write(self._file, f"{self._process}\t{step}\t{token}\t{detail}\n".encode())


def read(path: Path) -> Iterator[Entry]:
    if not path.exists():
        return
    for line in path.read_text().splitlines():
        process, step, token, detail = line.split("\t")
        yield Entry(int(process), Step(step), token, detail)
