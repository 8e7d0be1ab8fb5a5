"""What a person's answer to a coding agent's card lets it do."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from postroom.domain.agent_card import ALLOW_SESSION, listed_questions
from postroom.domain.question_states import ALLOW, DENY

_CERTAIN: Final = ("channel", "signed_in")
Ended = Mapping[str, Any]  # a question that was answered, as the doors show it


@dataclass(frozen=True, slots=True, kw_only=True)
class Permission:
    """`why` is for the agent when it may not."""

    allowed: bool
    for_session: bool = False
    why: str = ""


def permission_of(ended: Ended) -> Permission | None:
    """None when it says neither yes nor no."""
    said, by = ended.get("answer") or {}, ended.get("answered_by") or {}
    name = by.get("name") or "The person"
    value = said.get("value")
    if value in (ALLOW, ALLOW_SESSION):  # a mail that anyone could have written allows nothing
        certain = by.get("assurance") in _CERTAIN
        return Permission(allowed=True, for_session=value == ALLOW_SESSION) if certain else None
    if value == DENY:
        return Permission(allowed=False, why=f"{name} said no (via {by.get('channel')}).")
    words = said.get("text")
    return Permission(allowed=False, why=f"{name} says: {words}") if words else None


def answers_of(tool_input: dict[str, Any], ended: Sequence[Ended]) -> dict[str, str] | None:
    """By the client's own questions and labels; None unless each has an answer: the model would take an empty one."""
    listed = listed_questions(tool_input)
    words = {one["question"]: _words(one, answer) for one, answer in zip(listed, ended, strict=True)}
    return words if words and all(words.values()) else None


def _words(question: Mapping[str, Any], ended: Ended) -> str:
    answer = ended.get("answer") or {}
    labels = [str(one.get("label")) for one in question.get("options") or () if isinstance(one, dict)]
    chosen = answer.get("selected") or ([answer["value"]] if answer.get("value") else [])
    named = [labels[int(one)] for one in chosen if one.isdecimal() and int(one) < len(labels)]
    return ", ".join(named) or str(answer.get("text") or "")
