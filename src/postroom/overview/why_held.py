"""Why a notice, a note, a question or what a person wrote is where it is, in plain sentences."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Final

from postroom.attention.model import Decision, DecisionKind, NoticeState
from postroom.attention.reading import NoticeView
from postroom.conversations.model import InboundStatus, KeptMessage
from postroom.inbox.model import Notification, Preferences, Terms
from postroom.inbox.preferences import no_copy
from postroom.kernel.values.fields import Document
from postroom.kernel.values.ids import record, to_text
from postroom.kernel.values.principal import OPERATOR
from postroom.kernel.values.zones import relative
from postroom.message.outgoing import known_as
from postroom.message.wishes import HoldReason, because
from postroom.questions.model import (
    BY_DEFAULT,
    Added,
    Hold,
    KeptAttempt,
    Presentation,
    PresentationStatus,
    Question,
    QuestionStatus,
    VerdictKind,
    is_left_open,
    was_seen,
)
from postroom.questions.rules.reading import answer_words
from postroom.questions.rules.words import about_line, asked_line, asker_name, one_line
from postroom.questions.shapes import QuestionStory

# -- A notice: who held it, until when, and what became of it --


_K, _S = DecisionKind, NoticeState
_HOLDS: Final = (_K.HOLD, _K.JOIN_DIGEST)
_ENDS: Final = {
    _S.ACKNOWLEDGED: "It was acknowledged.",
    _S.UNANSWERED: "No one answered it, and it was given up.",
    _S.RECALLED: "It had been sent and was withdrawn then; a correction went after it.",
    _S.UNDELIVERABLE: "It could not be delivered, and no other way was left.",
    _S.REFUSED: "It was not sent: no person approved it.",
    _S.SENT: "It was sent.",
    _S.DIGESTED: "It was sent in a digest.",
    _S.WAITING: "It was sent and waits to be acknowledged.",
    _S.RELEASED: "It is on its way.",
    _S.DIGESTING: "It is on its way in a digest.",
}
_NOT_SENT: Final = {  # and why
    _S.MUTED: "It was not sent",
    _S.MERGED: "It was not sent on its own",
    _S.WITHDRAWN: "It was withdrawn and not sent",
    _S.EXPIRED: "It was not sent",
}


def why_notice(view: NoticeView, person: str, now_us: int) -> str:
    """One paragraph; `person` is what one calls them."""
    return " ".join(_sentences(view, person, now_us))


def why_held(view: NoticeView, now_us: int) -> str | None:
    """Of a delivery that came from a notice: what held it before; None when nothing did."""
    held = list(_held(view, now_us))
    return f"It was a notice before ({view.id}). {' '.join(held)}" if held else None


def _sentences(view: NoticeView, person: str, now_us: int) -> Iterator[str]:
    yield f"{known_as(view.agent)} wrote this to {person} {relative(view.created_us, now_us)}."
    yield from _whereabouts(view, now_us)


def _whereabouts(view: NoticeView, now_us: int) -> Iterator[str]:
    yield from _held(view, now_us)
    if view.state in (_S.ACCEPTED, _S.HELD):
        yield _waits(view, now_us)
    else:
        yield _became(view)
    yield from _sent_as(view)


def _held(view: NoticeView, now_us: int) -> Iterator[str]:
    """Each time it was held, with the policy's reasons; what it waits for now comes later."""
    holds = [one for one in view.decisions if one.kind in _HOLDS]
    past = holds[:-1] if view.state is _S.HELD else holds
    for one in past:
        yield f"It was held {relative(one.at_us, now_us)} because {_because(one.reasons)}{_until(one, view, now_us)}."


def _until(hold: Decision, view: NoticeView, now_us: int) -> str:
    """As it was meant, or what was decided before that, as when quiet hours are ended early."""
    if hold.until_us is None or (view.state in _NOT_SENT and hold.until_us > now_us):
        return ""
    later = [one.at_us for one in view.decisions if one.seq > hold.seq]
    return f", until {relative(min([hold.until_us, *later]), now_us)}"


def _waits(view: NoticeView, now_us: int) -> str:
    because = f" because {_because(view.reasons)}" if view.reasons else ""
    if view.until_us is None:
        return f"It is held{because}; only something from outside ends that."
    return f"It is held{because}; the next look is {relative(view.until_us, now_us)}."


def _became(view: NoticeView) -> str:
    if (whole := _ENDS.get(view.state)) is not None:
        return whole
    last = view.decisions[-1] if view.decisions else None
    reasons = last.reasons if last is not None and last.kind not in _HOLDS else ()  # those of a hold ended nothing
    return f"{_NOT_SENT[view.state]}{f': {_because(reasons)}' if reasons else ''}."


def _sent_as(view: NoticeView) -> Iterator[str]:
    for one in view.sends:
        if one.send.twice:
            yield f"It may arrive twice: {one.send.channel} was sending it already when another way was chosen."
        if one.delivery_id is not None:
            yield f"Delivery {one.delivery_id} carried it over {one.send.channel} ({one.send.kind})."


def _because(reasons: Iterable[HoldReason]) -> str:
    return because(one.reason for one in reasons)


# -- Why a message that a person wrote went where it went, in one paragraph --


_STATES: Final = {
    InboundStatus.RECEIVED: "Nothing is decided about it yet.",
    InboundStatus.ROUTED: "It waits for those before it in the same conversation, or for the butler to take it.",
    InboundStatus.WAITING: "The butler has it, and its session waits for its turn.",
    InboundStatus.RUNNING: "The butler's model works on it.",
    InboundStatus.ANSWERED: "It is answered.",
    InboundStatus.FAILED: "It could not be answered, or not to the end, and that was said.",
    InboundStatus.STOPPED: "The person stopped it.",
    InboundStatus.HANDLED: "It needed no butler.",
    InboundStatus.REFUSED: "Nothing is done for it.",
}


def why_inbound(kept: KeptMessage, name: str | None, now_us: int) -> str:
    """`name` of the person who wrote it, where they are known."""
    message = kept.message
    who = name or "A sender who is not known"
    went = f" It went to {kept.target}" if kept.target and kept.reason else " The decision" if kept.reason else ""
    reason = f"{went}: {kept.reason}." if kept.reason else ""
    session = f" Its session is {kept.session_id}." if kept.session_id else ""
    when = relative(kept.received_us, now_us)
    return f"{who} wrote this on {message.channel} {when}.{reason} {_STATES[kept.status]}{session}"


def inbound_document(kept: KeptMessage, name: str | None) -> Document:
    """For a trace: what was decided, and not a word of what was said."""
    return {
        "id": kept.id,
        "channel": kept.message.channel,
        "place": kept.message.places[0],
        "person": name,
        "received_at": to_text(kept.received_us),
        "status": str(kept.status),
        "kind": kept.kind and str(kept.kind),
        "butler": kept.target,
        "reason": kept.reason,
        "session_id": kept.session_id,
    }


# -- Why a note is where it is, and its e-mail copy, in one paragraph of plain English --


@record
class KeptNote:
    """With what its reader wants now."""

    note: Notification
    wishes: Preferences


def why_note(kept: KeptNote, copy: NoticeView | None, *, terms: Terms, now_us: int) -> str:
    note = kept.note
    whose = "the owner" if note.user_id == OPERATOR.name else note.user_id
    told = [f"It is a note in the inbox of {whose}, stored {relative(note.created_at_us, now_us)}."]
    told.append(_read(note, now_us))
    if note.snoozed_until_us is not None and note.snoozed_until_us > now_us:
        told.append(f"The person has put it out of sight; it comes back {relative(note.snoozed_until_us, now_us)}.")
    if not note.has_bell:
        told.append("The person wanted notes by e-mail only, so the bell stayed silent.")
    if copy is None:
        told.append(_no_copy(kept, terms))
    else:
        told += ["Of its e-mail copy:", *_whereabouts(copy, now_us)]
    return " ".join(told)


def _read(note: Notification, now_us: int) -> str:
    for word, at_us in (
        ("dismissed", note.dismissed_at_us),
        ("archived", note.archived_at_us),
        ("read", note.read_at_us),
        ("seen", note.seen_at_us),
    ):
        if at_us is not None:
            return f"It was {word} {relative(at_us, now_us)}."
    return "It has not been seen yet."


def _no_copy(kept: KeptNote, terms: Terms) -> str:
    """Why none was made is not on record; what would stand in the way today is the best guess."""
    unread = replace(kept.note, read_at_us=None, archived_at_us=None, dismissed_at_us=None)
    reason = no_copy(unread, kept.wishes, terms)
    return f"It has no e-mail copy: {reason or 'e-mail was off or not wanted when it was stored'}."


# -- Why a question is where it is: whom it asks, where they saw it, and what became of it, in plain sentences --


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
        case PresentationStatus.PLANNED if one.hold is Hold.APPROVAL:
            return f"It has not been shown {place} yet: it waits for an approval."
        case PresentationStatus.PLANNED if one.reason:
            return f"It has not been shown {place} yet{reason}."
        case PresentationStatus.PLANNED:
            return f"It is on its way {place}."
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
            return f"Another question took its place {when}."


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
    reason = verdict.reason.partition(". ")[0]  # what follows tells the one who tried what to do
    return f"An answer{said} of {name} via {attempt.channel} {when} changed nothing: {reason}."


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
