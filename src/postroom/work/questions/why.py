"""Why a question is where it is: whom it asks, where they saw it, and what became of it, in plain sentences."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from postroom.domain.answer_attempt import KeptAttempt, VerdictKind
from postroom.domain.presentation import IN_LINE, WAITS, Presentation, is_left_open, was_seen
from postroom.domain.question import Added, Question
from postroom.domain.question_answer import BY_DEFAULT
from postroom.domain.question_states import PresentationStatus, QuestionStatus
from postroom.domain.spoken_time import relative
from postroom.work.questions.answer_words import answer_words
from postroom.work.questions.card_words import about_line, asked_line, asker_name, one_line
from postroom.work.questions.view import QuestionStory

_MOST: Final = 200


def why_question(story: QuestionStory, now_us: int) -> str:
    """One paragraph; of a secret the answer is not in it."""
    return " ".join(sentences(story, now_us))


def sentences(story: QuestionStory, now_us: int) -> Iterator[str]:
    question = story.view.question
    yield _asked(question, now_us)
    if about := about_line(question, _MOST):
        yield f"It was about “{about}”."
    yield from _shown(question, story.view.presentations, now_us)
    yield from _nudged(question, now_us)
    yield ending(question, now_us)
    for kept in story.attempts:
        if kept.verdict.kind not in (VerdictKind.ACCEPTED, VerdictKind.NOT_YET):
            yield _in_vain(question, kept, now_us)


def _asked(question: Question, now_us: int) -> str:
    words = asked_line(question, _MOST)
    quoted = f" “{words}”" if words else " a question whose words have been erased"
    people = [person.name for person in question.people]
    each = "" if len(people) == 1 else "; any one of them may answer"
    return f"{asker_name(question)} asked {_listed(people)}{quoted} {relative(question.created_at_us, now_us)}{each}."


def _shown(question: Question, presentations: Sequence[Presentation], now_us: int) -> Iterator[str]:
    """Where it was seen, where not and why; the console shows it in any case."""
    seen = [one for one in presentations if was_seen(one)]
    if seen:
        yield f"It was shown {_listed(_places(question, seen))}."
    for one in presentations:
        if question.is_open and _has_its_turn_later(one, now_us):
            when = relative(one.due_at_us or now_us, now_us)
            yield f"It comes {_place(question, one)} {when} if no one answers before."
        elif sentence := _unseen(question, one):
            yield sentence
    if not presentations and question.is_open:
        yield "It has not been shown on a channel yet; it waits in the console."
    elif question.is_open and all(one.status is PresentationStatus.FAILED for one in presentations):
        yield "No one was reached on any channel, so it waits in the console alone."


def _unseen(question: Question, one: Presentation) -> str | None:
    place, reason = _place(question, one), f": {one.reason}" if one.reason else ""
    match one.status:
        case PresentationStatus.FAILED:
            return f"It could not be shown {place}{reason}."
        case PresentationStatus.UNCERTAIN:
            return f"It may or may not have arrived {place}{reason}."
        case PresentationStatus.PLANNED if one.reason == WAITS:
            return f"It has not been shown {place} yet: it waits for an approval."
        case PresentationStatus.PLANNED if one.reason == IN_LINE:
            return f"It has not been shown {place} yet: {IN_LINE}."
        case PresentationStatus.PLANNED:
            return f"It is on its way {place}{reason}."
        case PresentationStatus.SHOWN if 0 < one.revision < question.revision and question.is_open:
            return f"Its new words have not been shown {place} yet{reason}."
        case PresentationStatus.LEFT if is_left_open(one):
            return f"The card on {one.channel} stays as it was{reason}."
        case PresentationStatus.LEFT:
            return f"It was not shown {place}{reason}."
        case _:
            return None


def _has_its_turn_later(one: Presentation, now_us: int) -> bool:
    """Nothing holds it up, and nothing has been tried: another channel has the person first."""
    untried = one.status is PresentationStatus.PLANNED and one.delivery_id is None and one.reason is None
    return untried and one.due_at_us is not None and one.due_at_us > now_us


def _nudged(question: Question, now_us: int) -> Iterator[str]:
    if question.reminded_at_us is not None:
        yield f"A reminder was sent {relative(question.reminded_at_us, now_us)}."
    if question.escalated_at_us is not None:
        added = [person.name for person in question.people if person.added is Added.ESCALATED]
        yield f"It was passed on to {_listed(added)} {relative(question.escalated_at_us, now_us)}."


def ending(question: Question, now_us: int) -> str:
    """What became of it, so far."""
    by, when = question.answered_by, relative(question.ended_at_us or now_us, now_us)
    name, where = (by.name, by.channel) if by else ("A person", "")
    match question.status:
        case QuestionStatus.OPEN:
            return _open(question, now_us)
        case QuestionStatus.ANSWERED:
            return f"{name} answered{_quoted(question)} via {where} {when}."
        case QuestionStatus.DECLINED:
            return f"{name} would rather not answer, said via {where} {when}."
        case QuestionStatus.EXPIRED if by == BY_DEFAULT:
            return f"No one answered in time, so its default{_quoted(question)} stands since {when}."
        case QuestionStatus.EXPIRED:
            return f"No one answered in time; it ended {when}."
        case QuestionStatus.CANCELLED:
            reason = f": {one_line(question.reason, _MOST)}" if question.reason else ""
            return f"It was taken back {when}{reason}."
        case QuestionStatus.SUPERSEDED:
            other = f" ({question.superseded_by})" if question.superseded_by else ""
            return f"Another question{other} took its place {when}."


def _open(question: Question, now_us: int) -> str:
    ends = f"It is still open and ends by itself {relative(question.expires_at_us, now_us)}"
    default = question.wording.default
    stands = f"; then “{one_line(answer_words(question.wording, default), _MOST)}” stands" if default else ""
    return f"{ends}{stands}."


def _in_vain(question: Question, kept: KeptAttempt, now_us: int) -> str:
    """Who it was matters; the words of one who may not answer do not."""
    attempt, verdict = kept.attempt, kept.verdict
    name, when = attempt.person_name or "someone unknown", relative(attempt.heard_at_us, now_us)
    words = one_line(answer_words(question.wording, attempt.said), _MOST)
    said = f" “{words}”" if words and verdict.kind is not VerdictKind.UNAUTHORISED else ""
    return f"An answer{said} of {name} via {attempt.channel} {when} changed nothing: {verdict.reason}."


def _quoted(question: Question) -> str:
    words = one_line(answer_words(question.wording, question.answer), _MOST) if question.answer else ""
    return f" “{words}”" if words else ""


def _places(question: Question, shown: Sequence[Presentation]) -> Iterator[str]:
    for person_id in dict.fromkeys(one.person_id for one in shown):
        channels = (one.channel for one in shown if one.person_id == person_id)
        yield f"to {name_of(question, person_id)} on {_listed(channels)}"


def _place(question: Question, one: Presentation) -> str:
    return f"to {name_of(question, one.person_id)} on {one.channel}"


def name_of(question: Question, person_id: str) -> str:
    return next((person.name for person in question.people if person.id == person_id), person_id)


def _listed(words: Iterable[str]) -> str:
    several = list(words)
    return " and ".join(filter(None, [", ".join(several[:-1]), *several[-1:]]))
