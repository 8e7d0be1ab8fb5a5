"""What the popup of a question looks like."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from postroom.domain.plain_words import plain_words
from postroom.domain.question import RATHER_NOT, QuestionKind, Wording
from postroom.programs.desk import drafts
from postroom.programs.desk.asks.asked import Ask
from postroom.programs.desk.asks.form import Filled, form_fields
from postroom.programs.desk.desk import Look
from postroom.programs.desk.wire import Sheet

LATER: Final = "Later"
SEND: Final = "Send"
TITLE: Final = "Postroom"
ANSWER_LIMIT: Final = 32_000  # what the household takes


@dataclass(frozen=True, slots=True, kw_only=True)
class Before:
    """What stood in an earlier popup of the same question, and why that was no answer."""

    problem: str = ""
    text: str = field(default="", repr=False)
    filled: Filled | None = field(default=None, repr=False)


def question_sheet(ask: Ask, before: Before, look: Look, *, settle_seconds: float) -> Sheet:
    wording = ask.wording
    return Sheet(
        message=_message(wording),
        title=f"Question from {asker_name(ask.asker)}",
        project=f"{asker_name(ask.asker)} asks",
        palette=look.palette,
        options=tuple(labels(wording)),
        allow_multiple=wording.multiple,
        secret=wording.secret,
        fields=form_fields(wording.form, before.filled) if wording.form else (),
        has_reply=takes_words(wording),
        text=before.text,
        problem=before.problem,
        needs_answer=True,
        settle_seconds=settle_seconds,
        submit_label=SEND,
        cancel_label=LATER,
        decline_label=RATHER_NOT,
        reply_limit=ANSWER_LIMIT,
        draft_file=str(draft_folder(look.drafts, ask.id) / f"{look.token}.json"),
        turn_file=look.turn_file,
        turn_token=look.token,
    )


def message_sheet(message: str, look: Look) -> Sheet:
    """One that asks nothing and leaves by itself."""
    return Sheet(
        message=message,
        title=TITLE,
        wait_for_response=False,
        timeout_seconds=look.message_seconds,
        palette=look.palette,
        draft_file=str(look.drafts / f"{look.token}.json"),
        turn_file=look.turn_file,
        turn_token=look.token,
    )


def draft_folder(folder: Path, ask_id: str) -> Path:
    """Each question has drafts of its own, and loses them when it ends."""
    return drafts.folder_for(folder, "household", ask_id)


def labels(wording: Wording) -> dict[str, str]:
    """Each option's value by what its button says; buttons that would say the same say their value, too."""
    said = [option.label for option in wording.options]
    return {
        option.label if said.count(option.label) == 1 else f"{option.label} ({option.value})": option.value
        for option in wording.options
    }


def takes_words(wording: Wording) -> bool:
    """To approve takes a button, and a form has lines of its own."""
    return wording.kind is QuestionKind.TEXT or (wording.kind is QuestionKind.CHOICE and wording.allow_text)


def asker_name(asker: str) -> str:
    """`butler:health` is known to people as health."""
    return asker.partition(":")[2] or asker


def _message(wording: Wording) -> str:
    described = [f"{one.label}: {one.description}" for one in wording.options if one.description]
    asked = [plain_words(text, wording.format) for text in (wording.question, wording.context) if text]
    return "\n\n".join(filter(None, [*asked, "\n".join(described)]))
