"""The words in which an intent reaches a person."""

from __future__ import annotations

from dataclasses import dataclass

from postroom.domain.intent import APPROVAL, REPLY, AgentIntent, StepKind
from postroom.work.intents.answering import APPROVE_WORD, REJECT_WORD

_SUBJECT_CHARACTERS = 60


@dataclass(frozen=True, slots=True)
class Letter:
    subject: str
    text: str


def letter(intent: AgentIntent, kind: StepKind, sender: str, *, heard: bool, proved: bool = True) -> Letter:
    """What was said comes first and unchanged; who says it follows and, where a reply is heard, how to answer."""
    if intent.intent_type == REPLY:
        return Letter(_line(f"Answer from {sender}"), f"{intent.text}\n\n— {sender}")
    opening = {StepKind.REMIND: "A reminder: ", StepKind.ESCALATE: "Nobody has answered yet: "}.get(kind, "")
    parts = [opening + intent.text]
    if context := intent.payload.get("context"):
        parts.append(str(context))
    parts.append(f"— {sender}{_how_to_answer(intent, proved) if heard else ''}")
    return Letter(_line(f"{opening}{sender} asks: {intent.text}"), "\n\n".join(parts))


def answer_letter(intent: AgentIntent, sender: str) -> Letter:
    said = str((intent.result or {}).get("answer") or "done")
    return Letter(_line(f"Answer from {sender}"), f"{said}\n\n— {sender}, to your question: {intent.text}")


def _how_to_answer(intent: AgentIntent, proved: bool) -> str:
    """Who has not proved their address yet decides nothing by replying."""
    if intent.macro_id == APPROVAL and not proved:
        return " (to decide this here, your address has to be verified first; ask the owner)"
    if intent.macro_id == APPROVAL:
        return f' (reply to this message with "{APPROVE_WORD}" or "{REJECT_WORD}")'
    return " (reply to this message to answer)"


def _line(text: str) -> str:
    line = " ".join("".join(one if one.isprintable() else " " for one in text).split())
    return line if len(line) <= _SUBJECT_CHARACTERS else line[: _SUBJECT_CHARACTERS - 1] + "…"
