"""What a card says, and in which format: our own words and the asker's, none of which can change the others."""

from __future__ import annotations

import re
import string
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from postroom.kernel.values.zones import said_moment
from postroom.message.delivery import Format
from postroom.message.outgoing import known_as
from postroom.message.wire import MAX_MARKDOWN_CHARACTERS, plain_words
from postroom.message.wishes import APPROVE
from postroom.questions.model import (
    BY_DEFAULT,
    Preview,
    Question,
    QuestionAnswer,
    QuestionKind,
    QuestionStatus,
    Wording,
    is_approval,
    is_permission,
)
from postroom.questions.rules.form import form_fields

HIDDEN_SUBJECT: Final = "A question waits for you"
_UNSEEN: Final = re.compile("[\x00-\x08\x0b-\x1f\x7f\u200e\u200f\u202a-\u202e\u2066-\u2069]")
_MOST_ANSWER: Final = 200
_MOST_SUBJECT: Final = 80
_MOST_CONTEXT: Final = 400  # of a card that is over
_MOST_LINES: Final = 8
_MARKUP_TIMES: Final = 4  # as many characters of Markdown for one that is seen
_LEAST_READ: Final = 200


@dataclass(frozen=True, slots=True)
class CardText:
    text: str
    format: Format = Format.PLAIN

    @property
    def plain(self) -> str:
        return plain_words(self.text, self.format)


def composed(*parts: CardText) -> CardText:
    """
    One below the other, with an empty line between.

    Markdown stays Markdown only where each part looks as it would by itself: code that is not closed, or a list that
    another one follows, would reach into what stands below. Then all of it is text that reads well.
    """
    said = [part for part in parts if part.text]
    if all(part.format is Format.PLAIN for part in said):
        return CardText("\n\n".join(part.text for part in said))
    return _as_markdown(said) or CardText("\n\n".join(part.plain for part in said))


def _as_markdown(parts: Sequence[CardText]) -> CardText | None:
    from postroom.kernel.text.markdown import parse  # costs a plain household nothing
    from postroom.kernel.text.rich import joined

    sources = [part.text if part.format is Format.MARKDOWN else as_markdown(part.text) for part in parts]
    whole = "\n\n".join(sources)
    if len(whole) > MAX_MARKDOWN_CHARACTERS or parse(whole) != joined(map(parse, sources), "\n\n"):
        return None
    return CardText(whole, Format.MARKDOWN)


def without_unseen(text: str) -> str:
    """Without control characters and those that turn the direction of reading."""
    return _UNSEEN.sub("", text)


def one_line(text: str, most: int) -> str:
    line = " ".join(without_unseen(text).split())
    return line if len(line) <= most else f"{line[: most - 1]}…"


def asked_line(question: Question, most: int) -> str:
    """What is asked, in one line and without markup."""
    return one_line(_beginning(question.wording.question, most, question.wording.format), most)


def about_line(question: Question, most: int) -> str:
    """The same in one line; empty when there is nothing, or nothing that may be shown everywhere."""
    if is_hidden(question):
        return ""
    words = one_line(_beginning(question.wording.context or "", most, question.wording.format), most)
    return f"{words} (whole in the console)" if words.endswith("…") else words


def _beginning(text: str, most: int, format: Format) -> str:
    """Of long Markdown no more is read than a line may show of it: many lines are made at once."""
    longest = _MARKUP_TIMES * most + _LEAST_READ
    if format is Format.PLAIN or len(text) <= longest:
        return plain_words(text, format)
    return f"{plain_words(text[:longest], format)}…"


def asker_name(question: Question) -> str:
    return one_line(known_as(question.asker), _MOST_SUBJECT)


def is_hidden(question: Question) -> bool:
    """Only the signed-in page and the desk show it."""
    return question.wording.secret or question.preview is Preview.NONE


def unsaid(question: Question) -> Question:
    """Without the reason or the default of its asker."""
    return replace(question, reason=None, answer=question.answer if is_approval(question) else None)


# ---- while it is open ----


def subject(question: Question) -> str:
    if is_hidden(question):
        return HIDDEN_SUBJECT
    if is_approval(question):
        return "Approval needed"
    return f"Question: {asked_line(question, _MOST_SUBJECT)}"


def asking_words(question: Question, zone: str, *, listed: bool, how: str) -> CardText:
    """What the card says while the question is open; `listed` names the options in the text."""
    if is_hidden(question):
        return CardText(f"{asker_name(question)} has a question for you. Open the console to see and answer it.")
    wording = question.wording
    whole = question.preview is Preview.FULL
    own_words = [
        _options_words(wording) if listed or (whole and any(one.description for one in wording.options)) else "",
        how,
        f"Answer by {said_moment(question.expires_at_us, zone, question.created_at_us)}.",
    ]
    context = CardText(without_unseen(wording.context or "") if whole else "", wording.format)
    return composed(*_put(question, "asks"), context, *map(CardText, own_words))


def _put(question: Question, asks: str) -> Sequence[CardText]:
    """Of an approval the household itself says who wants what."""
    words, who = without_unseen(question.wording.question), f"{asker_name(question)} {asks}:"
    if is_approval(question):
        return [CardText(words)]
    if question.wording.format is Format.PLAIN:
        return [CardText(f"{who}\n{words}")]
    return [CardText(who), CardText(words, question.wording.format)]


def behind_line(many: int) -> str:
    return f"{many + 1} messages wait for approval. This is the first; the others follow, and all are in the console."


def _options_words(wording: Wording) -> str:
    numbered = enumerate(wording.options, 1)
    return "\n".join(f"{number}. {one_line(one.label, 200)}{_described(one.description)}" for number, one in numbered)


def _described(description: str | None) -> str:
    return f" – {without_unseen(description)}" if description else ""


def how_to_reply(wording: Wording) -> str:
    """For channels on which a reply is heard."""
    if is_permission(wording):
        words = " or ".join(f"“{one.label}”" for one in wording.options)
        own = ", or with words of your own" if wording.kind is QuestionKind.CHOICE and wording.allow_text else ""
        return f"Reply with exactly {words}{own}."
    match wording.kind:
        case QuestionKind.CHOICE:
            several = ", or several, separated by commas" if wording.multiple else ""
            return f"Reply with a number or the words{several}."
        case QuestionKind.FORM:
            names = [one_line(one.name, 100) for one in form_fields(wording.form)]
            return "Reply to this message with one line for each:\n" + "\n".join(f"{name}: …" for name in names)
        case _:
            return "Reply to this message with your answer."


# ---- when it is over ----


def closing_words(question: Question, zone: str) -> CardText:
    """What was asked and about what, and one line that says how it ended."""
    if is_hidden(question):
        return bare_closing_words(question, zone)
    return composed(*_put(question, "asked"), _about(question), CardText(ending_line(question, zone)))


def _about(question: Question) -> CardText:
    """As much of the context as shows months later what was allowed; nothing that the open card did not show."""
    if question.preview is not Preview.FULL:
        return CardText("")
    words = without_unseen(question.wording.context or "")
    if len(words) <= _MOST_CONTEXT and words.count("\n") < _MOST_LINES:
        return CardText(words, question.wording.format)
    lines = plain_words(words, question.wording.format).split("\n")
    cut = "\n".join(lines[:_MOST_LINES])[:_MOST_CONTEXT].rstrip()
    return CardText(f"{cut}…\n(whole in the console)")


def bare_closing_words(question: Question, zone: str) -> CardText:
    """That it ended, and how, without a word of its asker."""
    return CardText(f"{asker_name(question)} had a question for you.\n\n{ending_line(unsaid(question), zone)}")


def ends_with_new_words(question: Question) -> bool:
    """Whether its end says something in the asker's name that the open card did not."""
    if question.status is QuestionStatus.EXPIRED and question.answered_by == BY_DEFAULT and question.answer:
        offered, answer = {one.value for one in question.wording.options}, question.answer
        return not (answer.value in offered or (answer.selected and offered.issuperset(answer.selected)))
    return question.status is QuestionStatus.CANCELLED and bool(question.reason)


def ending_line(question: Question, zone: str) -> str:
    at = said_moment(question.ended_at_us or question.expires_at_us, zone, question.created_at_us)
    by = question.answered_by
    name, where = (one_line(by.name, 100), by.channel) if by else ("a person", "")
    if is_approval(question):
        return _approval_ending(question, name, at)
    match question.status:
        case QuestionStatus.ANSWERED:
            said = answer_words(question)
            return f"✅ {said + ': answered' if said else 'Answered'} by {name} via {where}, {at}"
        case QuestionStatus.DECLINED:
            return f"🚫 {name} would rather not answer, via {where}, {at}"
        case QuestionStatus.EXPIRED if by == BY_DEFAULT and question.answer is not None:
            return f"⌛ Not answered in time, so “{answer_words(question)}” stands, {at}"
        case QuestionStatus.EXPIRED:
            return f"⌛ Not answered in time, {at}"
        case QuestionStatus.CANCELLED:
            why = f" ({one_line(question.reason, 200)})" if question.reason and not is_hidden(question) else ""
            return f"✖️ Taken back{why}, {at}"
        case QuestionStatus.SUPERSEDED:
            return f"✖️ Another question took its place, {at}"
        case QuestionStatus.OPEN:
            return ""


def _approval_ending(question: Question, name: str, at: str) -> str:
    by, answer = question.answered_by, question.answer
    if question.status is QuestionStatus.CANCELLED:
        return f"✖️ Not sent: it was taken back, {at}"
    if question.status is QuestionStatus.SUPERSEDED:
        return f"✖️ Not sent: its words were changed, {at}"
    if by is None or answer is None:
        return f"⌛ Not sent: no one decided in time, {at}"
    where = {"console": "in the console", "tools": "by a tool"}.get(by.channel, f"via {by.channel}")
    if answer.value == APPROVE:
        as_edited = " as edited" if question.reason else ""
        return f"✅ Sent{as_edited}: approved by {name} {where}, {at}"
    return f"🚫 Not sent: rejected by {name} {where}, {at}"


def answer_words(question: Question) -> str:
    """As the person sees it: by labels. Of a hidden question, nothing."""
    if question.answer is None or is_hidden(question):
        return ""
    labels = {one.value: one.label for one in question.wording.options}
    files = [f"📎 {one.name}" for one in question.answer.files]
    return one_line(" ".join(part for part in (_said(question.answer, labels), *files) if part), _MOST_ANSWER)


def _said(answer: QuestionAnswer, labels: dict[str, str]) -> str:
    if answer.value is not None:
        return labels.get(answer.value, answer.value)
    if answer.selected:
        return ", ".join(labels.get(one, one) for one in answer.selected)
    if answer.fields:
        return ", ".join(f"{name}: {value}" for name, value in answer.fields.items())
    return answer.text or ""


# ---- plain words within Markdown ----


_SIGNS: Final = re.compile(f"[{re.escape(string.punctuation)}]")
_INDENT: Final = re.compile(r"^[ \t]+", re.MULTILINE)  # of four spaces, code would be made


def as_markdown(text: str) -> str:
    """What is read as exactly these characters, but for white space at the start of lines."""
    return _INDENT.sub("", _SIGNS.sub(r"\\\g<0>", text))
