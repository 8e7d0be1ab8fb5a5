"""What the processes of a household ring for each other."""

from __future__ import annotations

import secrets
from collections.abc import Callable
from typing import Final

ATTENTION_CHANNEL: Final = "postroom_attention"


PENDING_CHANNEL: Final = "postroom_pending"


SETTLED_CHANNEL: Final = "postroom_settled"


QUESTIONS_CHANNEL: Final = "postroom_questions"  # on PostgreSQL: who committed, and which question has a new event


THIS_PROCESS: Final = secrets.token_hex(4)


# Changes of questions that other processes committed, for those who follow them here.

QuestionCall = Callable[[str | None], None]  # the id, or None: some may have been missed


class QuestionNotices:
    """`are_heard` while a connection brings each of them at once; else they have to be looked for."""

    def __init__(self) -> None:
        self.are_heard = False
        self._calls: list[QuestionCall] = []

    def follow(self, call: QuestionCall) -> None:
        self._calls.append(call)

    def connected(self) -> None:
        self.are_heard = True
        self._tell(None)

    def lost(self) -> None:
        self.are_heard = False
        self._tell(None)

    def heard(self, payload: str) -> None:
        """Our own commits rang when they were made."""
        process, _, question_id = payload.partition(" ")
        if process != THIS_PROCESS:
            self._tell(question_id)

    def _tell(self, question_id: str | None) -> None:
        for call in self._calls:
            call(question_id)
