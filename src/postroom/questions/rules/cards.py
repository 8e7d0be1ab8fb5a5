"""The buttons of a card, and what each of them stands for."""

from __future__ import annotations

import base64
import hashlib
import hmac
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Final, ParamSpec, TypeVar

from postroom.kernel.running.loop import beside_if_long
from postroom.kernel.values.ids import DeliveryId
from postroom.kernel.values.principal import OPERATOR, Role
from postroom.kernel.values.zones import said_moment
from postroom.message.delivery import Format, Intent, Priority
from postroom.message.markup import Button, ButtonStyle, Markup, Rows
from postroom.message.outgoing import Outgoing, RequestContext
from postroom.message.wire import MAX_MARKDOWN_CHARACTERS, plain_words
from postroom.message.wishes import Urgency
from postroom.questions.model import (
    APPROVE,
    BY_DEFAULT,
    RATHER_NOT,
    Presentation,
    Preview,
    Question,
    QuestionAnswer,
    QuestionKind,
    QuestionStatus,
    Token,
    TokenAction,
    Wording,
    is_approval,
    is_permission,
)
from postroom.questions.rules.form import properties
from postroom.questions.rules.judge import anywhere
from postroom.questions.rules.plan import ChannelAbility, Channels

OTHER: Final = "✏️ Other"
ANSWER: Final = "✏️ Answer"  # of a question that has no options
SEND: Final = "Send"
REST: Final = "…"
TO_ANSWERS: Final = "‹ Back"
_TICKED: Final = "✅ "
_SHORT: Final = 16
_BESIDE: Final = 20  # characters in a row that has room for one small button more; each is as wide as the widest
_LONGEST_LABEL: Final = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class Buttons:
    rows: Rows = ()
    tokens: tuple[Token, ...] = ()

    @property
    def markup(self) -> Markup | None:
        return Markup(buttons=self.rows) if self.rows else None

    def __add__(self, more: Buttons) -> Buttons:
        return Buttons(rows=self.rows + more.rows, tokens=self.tokens + more.tokens)


@dataclass(frozen=True, slots=True, kw_only=True)
class ButtonMaker:
    """For one card: the same button of the same wording always has the same token."""

    key: bytes
    question: Question
    shown: Presentation

    def fits(self, most: int | None) -> bool:
        """Whether every answer has its button where there can be so many."""
        return most is None or sum(len(row) for row in self._options()) <= most

    def answers(self) -> Buttons:
        """The options alone."""
        return _of(self._options())

    def pressable(self, most: int | None = None, *, own_words: bool = True, folds: bool = False) -> Buttons:
        """
        Options, and what else may be done about the question as far as there is room.

        `folds`: the card can show several such things in place of the options, so one small button stands for them.
        """
        options, others = self._options(), self._others(own_words)
        room = None if most is None else max(0, most - sum(len(row) for row in options))
        if not (folds and options and len(others) > 1 and room != 0):
            return _of([*options, others[:room]])
        *before, last = _of(options).rows
        more = self._fold(REST, MORE)
        is_beside = all(len(one.label) * len(last) <= _BESIDE for one in last)
        rows = (*before, (*last, more)) if is_beside else (*before, last, (more,))
        return Buttons(rows=rows, tokens=_of([*options, others]).tokens)

    def rest(self, opening: Buttons) -> Buttons:
        """What stood behind that small button, with a page of its own, and the way back."""
        others, pages = _of([self._others(own_words=True)]), [button for row in opening.rows for button in row]
        return replace(others, rows=(*others.rows, (*pages, self._fold(TO_ANSWERS, BACK))))

    def _fold(self, label: str, way: str) -> Button:
        """Of a button that every such card has."""
        return Button(label=label, token=f"{way}{self._token(TokenAction.DECLINE)}")

    def link(self, base_url: str) -> Buttons:
        """A page of its own for this person, on a channel without buttons."""
        token = self._token(TokenAction.OPEN)
        button = Button(label="Answer", url=f"{base_url}/a/{token}")
        return Buttons(rows=((button,),), tokens=(self._kept(token, TokenAction.OPEN),))

    def _options(self) -> list[list[tuple[Button, Token]]]:
        wording = self.question.wording
        if wording.kind is QuestionKind.APPROVE:
            styles = {APPROVE: ButtonStyle.SUCCESS}
            return [
                [
                    self._made(one.label, TokenAction.OPTION, one.value, styles.get(one.value, ButtonStyle.DANGER))
                    for one in wording.options
                ]
            ]
        action = TokenAction.TOGGLE if wording.multiple else TokenAction.OPTION
        made = [self._made(self._label(one.value, one.label), action, one.value) for one in wording.options]
        wide = 1 if any(len(one.label) > _SHORT for one in wording.options) else 2
        rows = [made[start : start + wide] for start in range(0, len(made), wide)]
        return [*rows, [self._made(SEND, TokenAction.SEND, style=ButtonStyle.PRIMARY)]] if wording.multiple else rows

    def _others(self, own_words: bool) -> list[tuple[Button, Token]]:
        wording = self.question.wording
        if is_approval(self.question):
            return []  # not to decide is to leave it alone until its time is over
        is_text = wording.kind is QuestionKind.TEXT
        own_words = own_words and (is_text or (wording.kind is QuestionKind.CHOICE and wording.allow_text))
        others = [self._made(ANSWER if is_text else OTHER, TokenAction.OTHER)] if own_words else []
        return [*others, self._made(RATHER_NOT, TokenAction.DECLINE)] if wording.may_decline else others

    def _label(self, value: str, label: str) -> str:
        return f"{_TICKED}{label}" if value in self.shown.toggles else label

    def _made(
        self, label: str, action: TokenAction, option: str | None = None, style: ButtonStyle | None = None
    ) -> tuple[Button, Token]:
        token = self._token(action, option)
        button = Button(label=one_line(label, _LONGEST_LABEL), token=token, style=style)
        return button, self._kept(token, action, option)

    def _token(self, action: TokenAction, option: str | None = None) -> str:
        return token_of(self.key, self.shown.id, self.question.revision, action, option)

    def _kept(self, token: str, action: TokenAction, option: str | None = None) -> Token:
        return kept_token(token, self.shown.id, self.question.revision, action, option)


def _of(made: Sequence[Sequence[tuple[Button, Token]]]) -> Buttons:
    return Buttons(
        rows=tuple(tuple(button for button, _ in row) for row in made if row),
        tokens=tuple(token for row in made for _, token in row),
    )


def console_link(base_url: str, question: Question) -> Buttons:
    """Where a person signs in first."""
    return Buttons(rows=((Button(label="Open", url=console_page(base_url, question)),),))


def console_page(base_url: str, question: Question) -> str:
    about = question.subject
    page = f"approvals/{about.id}" if about and is_approval(question) else f"questions/{question.id}"
    return f"{base_url}/console/{page}"


# What a card says, and in which format: our own words and the asker's, none of which can change the others.


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
    from postroom.kernel.text.markdown import (
        as_markdown,
        parse,  # costs a plain household nothing
    )
    from postroom.kernel.text.rich import joined

    sources = [part.text if part.format is Format.MARKDOWN else as_markdown(part.text) for part in parts]
    whole = "\n\n".join(sources)
    if len(whole) > MAX_MARKDOWN_CHARACTERS or parse(whole) != joined(map(parse, sources), "\n\n"):
        return None
    return CardText(whole, Format.MARKDOWN)


# The words on a card, without anything that could make them look like others.


_UNSEEN: Final = re.compile("[\x00-\x08\x0b-\x1f\x7f\u200e\u200f\u202a-\u202e\u2066-\u2069]")
_MOST_ANSWER: Final = 200
_MOST_SUBJECT: Final = 80
_MOST_CONTEXT: Final = 400  # of a card that is over
_MOST_LINES: Final = 8
_MARKUP_TIMES: Final = 4  # as many characters of Markdown for one that is seen
_LEAST_READ: Final = 200
HIDDEN_SUBJECT: Final = "A question waits for you"


def plain(text: str) -> str:
    """Without control characters and those that turn the direction of reading."""
    return _UNSEEN.sub("", text)


def one_line(text: str, most: int) -> str:
    line = " ".join(plain(text).split())
    return line if len(line) <= most else f"{line[: most - 1]}…"


def asked_line(question: Question, most: int) -> str:
    """What is asked, in one line and without markup."""
    return one_line(_beginning(question.wording.question, most, question.wording.format), most)


def _beginning(text: str, most: int, format: Format) -> str:
    """Of long Markdown no more is read than a line may show of it: many lines are made at once."""
    longest = _MARKUP_TIMES * most + _LEAST_READ
    if format is Format.PLAIN or len(text) <= longest:
        return plain_words(text, format)
    return f"{plain_words(text[:longest], format)}…"


def asker_name(question: Question) -> str:
    name = question.asker.partition(":")[2]
    return "Your household" if question.asker == str(OPERATOR) else one_line(name or question.asker, _MOST_SUBJECT)


def is_hidden(question: Question) -> bool:
    """Only the signed-in page and the desk show it."""
    return question.wording.secret or question.preview is Preview.NONE


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
        options_words(wording) if listed or (whole and any(one.description for one in wording.options)) else "",
        how,
        f"Answer by {said_moment(question.expires_at_us, zone, question.created_at_us)}.",
    ]
    context = CardText(plain(wording.context or "") if whole else "", wording.format)
    return composed(*_put(question, "asks"), context, *map(CardText, own_words))


def behind_line(many: int) -> str:
    return f"{many + 1} messages wait for approval. This is the first; the others follow, and all are in the console."


def options_words(wording: Wording) -> str:
    numbered = enumerate(wording.options, 1)
    return "\n".join(f"{number}. {one_line(one.label, 200)}{_described(one.description)}" for number, one in numbered)


def _described(description: str | None) -> str:
    return f" – {plain(description)}" if description else ""


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
            names = [one_line(name, 100) for name in properties(wording.form or {})]
            return "Reply to this message with one line for each:\n" + "\n".join(f"{name}: …" for name in names)
        case _:
            return "Reply to this message with your answer."


def closing_words(question: Question, zone: str) -> CardText:
    """What was asked and about what, and one line that says how it ended."""
    if is_hidden(question):
        return bare_closing_words(question, zone)
    return composed(*_put(question, "asked"), _about(question), CardText(ending_line(question, zone)))


def _about(question: Question) -> CardText:
    """As much of the context as shows months later what was allowed; nothing that the open card did not show."""
    if question.preview is not Preview.FULL:
        return CardText("")
    words = plain(question.wording.context or "")
    if len(words) <= _MOST_CONTEXT and words.count("\n") < _MOST_LINES:
        return CardText(words, question.wording.format)
    lines = plain_words(words, question.wording.format).split("\n")
    cut = "\n".join(lines[:_MOST_LINES])[:_MOST_CONTEXT].rstrip()
    return CardText(f"{cut}…\n(whole in the console)")


def about_line(question: Question, most: int) -> str:
    """The same in one line; empty when there is nothing, or nothing that may be shown everywhere."""
    if is_hidden(question):
        return ""
    words = one_line(_beginning(question.wording.context or "", most, question.wording.format), most)
    return f"{words} (whole in the console)" if words.endswith("…") else words


def bare_closing_words(question: Question, zone: str) -> CardText:
    """That it ended, and how, without a word of its asker."""
    return CardText(f"{asker_name(question)} had a question for you.\n\n{ending_line(unsaid(question), zone)}")


def unsaid(question: Question) -> Question:
    """Without the reason or the default of its asker."""
    return replace(question, reason=None, answer=question.answer if is_approval(question) else None)


def ends_with_new_words(question: Question) -> bool:
    """Whether its end says something in the asker's name that the open card did not."""
    if question.status is QuestionStatus.EXPIRED and question.answered_by == BY_DEFAULT and question.answer:
        offered, answer = {one.value for one in question.wording.options}, question.answer
        return not (answer.value in offered or (answer.selected and offered.issuperset(answer.selected)))
    return question.status is QuestionStatus.CANCELLED and bool(question.reason)


def _put(question: Question, asks: str) -> Sequence[CardText]:
    """Of an approval the household itself says who wants what."""
    words, who = plain(question.wording.question), f"{asker_name(question)} {asks}:"
    if is_approval(question):
        return [CardText(words)]
    if question.wording.format is Format.PLAIN:
        return [CardText(f"{who}\n{words}")]
    return [CardText(who), CardText(words, question.wording.format)]


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


# A question as a message to one person on one channel: asked, revised, ticked, reminded of, and closed.


ORIGIN: Final = "questions"
_NOTHING: Final = ChannelAbility()
Given = ParamSpec("Given")
Made = TypeVar("Made")
_PRIORITIES: Final = {
    Urgency.PASSIVE: Priority.LOW,
    Urgency.NORMAL: Priority.MEDIUM,
    Urgency.TIME_SENSITIVE: Priority.HIGH,
    Urgency.CRITICAL: Priority.HIGH,
}


def in_utc(_person_id: str) -> str:
    return "UTC"


@dataclass(frozen=True, slots=True, kw_only=True)
class Card:
    """`tokens` are kept before the message leaves: a press may come back at once."""

    outgoing: Outgoing
    tokens: tuple[Token, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class CardMaker:
    """
    Makes every message about a question. The same card made again is the same message under the same key.

    Each says whose words it passes on, and whether they are on the card already: those of no agent but the asker.

    `base_url` is where people reach the household's pages; empty when they cannot.
    """

    channels: Channels
    key: bytes
    base_url: str = ""
    zone_of: Callable[[str], str] = in_utc  # of a person
    outside: Callable[[Question], bool] = anywhere  # whether it may be answered outside the console

    def ability(self, shown: Presentation) -> ChannelAbility:
        return self.channels.get(shown.channel, _NOTHING)

    def asking(self, question: Question, shown: Presentation, *, behind: int = 0) -> Card:
        """
        The card while the question is open; one that is shown already is edited, where that can be done.

        `behind`: how many other approvals are not shown before this one is decided.
        """
        ability, buttons = self.ability(shown), self._buttons(question, shown)
        listed = not self._is_pressed(question, shown) and self.outside(question)
        text = asking_words(question, self.zone_of(shown.person_id), listed=listed, how=self._how(question, shown))
        text = composed(text, CardText(behind_line(behind))) if behind else text
        outgoing = self._outgoing(question, shown, text, f"{question.revision}", buttons.markup)
        if shown.revision and ability.edits:
            outgoing = replace(outgoing, revises=_card_of(shown))
        return Card(outgoing=outgoing, tokens=buttons.tokens)

    def tokens(self, question: Question, shown: Presentation) -> tuple[Token, ...]:
        """Of the card while the question is open, without its words."""
        return self._buttons(question, shown).tokens

    def anew(self, question: Question, shown: Presentation) -> Card:
        """The same, as a new message, where the old one cannot be edited."""
        card = self.asking(question, shown)
        key = f"{card.outgoing.idempotency_key}:anew"
        return replace(card, outgoing=replace(card.outgoing, revises=None, idempotency_key=key))

    def buttons(self, question: Question, shown: Presentation, event_id: str, *, rest: bool = False) -> Outgoing:
        """The buttons alone, with what is ticked now; or, in their place, the `rest` of what can be pressed."""
        buttons = self._maker(question, shown).rest(self._opening(question)) if rest else self._buttons(question, shown)
        return self._edit(question, shown, CardText(""), f"buttons:{event_id}", buttons.markup)

    def counted(self, question: Question, shown: Presentation, behind: int, at_us: int) -> Outgoing:
        """The open card of an approval, with how many are behind it now."""
        card = self.asking(question, shown, behind=behind).outgoing
        return self._edit(question, shown, CardText(card.message, card.format), f"behind:{at_us}", card.markup)

    def missed(self, question: Question, shown: Presentation, since_us: int, until_us: int) -> Outgoing:
        """The open card, with a line about when presses were lost."""
        since, until = (self._at(one, question, shown) for one in (since_us, until_us))
        line = f"I could not hear you from {since} to {until}. If you pressed a button then, please press it again."
        card = self.asking(question, shown).outgoing
        text = composed(CardText(card.message, card.format), CardText(line))
        return self._edit(question, shown, text, f"missed:{since_us}", card.markup)

    def elsewhere(self, question: Question, shown: Presentation) -> Outgoing:
        """The card that stays open, where a press proves too little: without buttons that decide nothing."""
        card = self.asking(question, shown).outgoing
        opening = self._opening(question)
        line = "A button here does not prove that it was you who pressed it, so nothing is decided yet. "
        text = composed(CardText(card.message, card.format), CardText(f"{line}Open the console to decide this."))
        return self._edit(question, shown, text, f"elsewhere:{question.revision}", opening.markup)

    def closing(self, question: Question, shown: Presentation) -> Outgoing:
        text = closing_words(question, self.zone_of(shown.person_id))
        return self._edit(question, shown, text, f"close:{question.revision}", None)

    def closings(self, question: Question, shown: Presentation) -> tuple[Outgoing, ...]:
        """The same with fewer and fewer of the asker's words, until one may be read without being agreed to."""
        return tuple(self._closings(question, shown))

    def _closings(self, question: Question, shown: Presentation) -> Iterator[Outgoing]:
        zone = self.zone_of(shown.person_id)
        yield self.closing(question, shown)
        if shown.revision == question.revision and ends_with_new_words(question):
            text = closing_words(unsaid(question), zone)
            yield replace(self._edit(question, shown, text, f"unsaid:{question.revision}", None), repeats=True)
        bare = self._edit(question, shown, bare_closing_words(question, zone), f"bare:{question.revision}", None)
        yield replace(bare, asker=None, subject=HIDDEN_SUBJECT if bare.subject else None)

    def over(self, question: Question, shown: Presentation) -> Outgoing:
        """A short reply where the card itself could not be changed."""
        return self._reply(question, shown, CardText(ending_line(question, self.zone_of(shown.person_id))), "over")

    def letter(self, question: Question, shown: Presentation) -> Outgoing:
        """What was asked and how it ended, to the one who answered where cards stay as they are."""
        return self._reply(question, shown, closing_words(question, self.zone_of(shown.person_id)), "over")

    def reminder(self, question: Question, shown: Presentation, act: str = "remind") -> Outgoing:
        """
        A new message, since an edit rings no bell; it answers the card where the channel has threads.

        `act` tells one reminder from the next.
        """
        until = self._at(question.expires_at_us, question, shown)
        is_unsaid = is_hidden(question) or shown.revision != question.revision
        about = "a question" if is_unsaid else f"“{asked_line(question, 200)}”"
        text = CardText(f"{asker_name(question)} still waits for an answer to {about}, by {until}.")
        reply = replace(self._reply(question, shown, text, act), repeats=True)
        return replace(reply, subject=HIDDEN_SUBJECT) if reply.subject and is_unsaid else reply

    def own_words(self, question: Question, shown: Presentation, event_id: str, *, alone: bool) -> Outgoing:
        """A box to reply in, for an answer that is not on a button; `alone`: the next message there counts as well."""
        box = Markup(force_reply=True, placeholder="Your answer")
        where = "as your next message here" if alone else "as a reply to this message"
        text = CardText(f"Your answer to “{asked_line(question, 200)}”: write it {where}.")
        return replace(self._reply(question, shown, text, f"other:{event_id}"), markup=box)

    def page(self, question: Question) -> str:
        """Where it is answered by a person who signs in, as the end of a sentence."""
        return f": {console_page(self.base_url, question)}" if self.base_url else "."

    def _at(self, at_us: int, question: Question, shown: Presentation) -> str:
        return said_moment(at_us, self.zone_of(shown.person_id), question.created_at_us)

    def _buttons(self, question: Question, shown: Presentation) -> Buttons:
        opening, maker, ability = self._opening(question), self._maker(question, shown), self.ability(shown)
        if is_hidden(question) or not self.outside(question):
            return opening
        if not self._is_pressed(question, shown):
            return maker.link(self.base_url) if self.base_url else Buttons()
        if opening.rows and not ability.replies:
            return maker.answers() + opening  # the few buttons there lead to all that can be done
        made = maker.pressable(ability.most_buttons, own_words=ability.replies, folds=ability.edits)
        return made + opening if is_approval(question) or ability.opens else made

    def _opening(self, question: Question) -> Buttons:
        return console_link(self.base_url, question) if self.base_url else Buttons()

    def _maker(self, question: Question, shown: Presentation) -> ButtonMaker:
        return ButtonMaker(key=self.key, question=question, shown=shown)

    def _is_pressed(self, question: Question, shown: Presentation) -> bool:
        """Whether its answers are on buttons; where nothing can be written back, only if one press is the answer."""
        ability, wording = self.ability(shown), question.wording
        by_one_press = wording.kind in (QuestionKind.CHOICE, QuestionKind.APPROVE) and not wording.multiple
        if not ability.buttons or not (ability.replies or by_one_press):
            return False
        return self._maker(question, shown).fits(ability.most_buttons)

    def _how(self, question: Question, shown: Presentation) -> str:
        if not self.outside(question):
            return "This is decided in the console."
        ability, kind = self.ability(shown), question.wording.kind
        pressed = self._is_pressed(question, shown) and kind in (QuestionKind.CHOICE, QuestionKind.APPROVE)
        return how_to_reply(question.wording) if ability.inbound and ability.replies and not pressed else ""

    def _edit(
        self, question: Question, shown: Presentation, text: CardText, act: str, markup: Markup | None
    ) -> Outgoing:
        outgoing = self._outgoing(question, shown, text, act, markup)
        return replace(outgoing, revises=_card_of(shown), repeats=_is_on_card(question, shown))

    def _reply(self, question: Question, shown: Presentation, text: CardText, act: str) -> Outgoing:
        outgoing = replace(self._outgoing(question, shown, text, act, None), repeats=_is_on_card(question, shown))
        if not (self.ability(shown).threads and shown.provider_ids):
            return outgoing
        return replace(outgoing, intent=Intent.REPLY, context=_in_thread(shown, shown.provider_ids[-1]))

    def _outgoing(
        self, question: Question, shown: Presentation, text: CardText, act: str, markup: Markup | None
    ) -> Outgoing:
        return Outgoing(
            origin_butler=ORIGIN,
            channel=shown.channel,
            message=text.text,
            format=text.format,
            recipient=shown.address,
            subject=subject(question) if not self.ability(shown).buttons else None,
            idempotency_key=f"ask:{shown.id}:{act}",
            priority=_PRIORITIES[question.urgency],
            markup=markup,
            asker=agent_of(question),
        )


async def made(question: Question, make: Callable[Given, Made], *given: Given.args, **more: Given.kwargs) -> Made:
    """Of a long question, beside the event loop."""
    wording = question.wording
    characters = len(wording.question) + len(wording.context or "") if wording.format is Format.MARKDOWN else 0
    return await beside_if_long(characters, partial(make, *given, **more))


def request_id_of(presentation_id: str) -> str:
    """Every message about a presentation bears this, so that a reply to any of them finds it."""
    return f"ask:{presentation_id}"


def agent_of(question: Question) -> str:
    """Under the name with which the asker sends messages, too."""
    return question.asker.removeprefix(f"{Role.BUTLER}:")


def _is_on_card(question: Question, shown: Presentation) -> bool:
    """All that a message about it can say in the asker's name."""
    return is_hidden(question) or (shown.revision == question.revision and not ends_with_new_words(question))


def _in_thread(shown: Presentation, message_id: str) -> RequestContext:
    return RequestContext(
        request_id=request_id_of(shown.id),
        source_channel=shown.channel,
        source_endpoint_identity=ORIGIN,
        source_sender_identity=shown.address,
        source_thread_identity=f"{shown.address}:{message_id}",
    )


def _card_of(shown: Presentation) -> DeliveryId:
    return DeliveryId(shown.delivery_id or "")


# The opaque tokens behind the buttons of a card.


MORE: Final = "+"  # before the token of a button that is out of sight: brings those into sight, or takes them out
BACK: Final = "~"  # no token begins with either
_BYTES: Final = 16


def token_of(key: bytes, presentation_id: str, revision: int, action: TokenAction, option: str | None) -> str:
    """
    Means nothing and cannot be guessed without the household's key.

    The same button of the same card always has the same token, so a card that is sent again after a crash is the
    same message.
    """
    parts = "\x1f".join([presentation_id, str(revision), str(action), option or ""])
    digest = hmac.new(key, parts.encode(), hashlib.sha256).digest()
    return base64.urlsafe_b64encode(digest[:_BYTES]).rstrip(b"=").decode()


def unfolded(token: str) -> tuple[str, str]:
    """Which of the two it begins with, if any, and the token behind that."""
    fold = token[:1] if token[:1] in (MORE, BACK) else ""
    return fold, token.removeprefix(fold)


def hash_of(token: str) -> str:
    """What is kept of it."""
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).hexdigest()


def kept_token(token: str, presentation_id: str, revision: int, action: TokenAction, option: str | None) -> Token:
    return Token(hash=hash_of(token), presentation_id=presentation_id, action=action, option=option, revision=revision)
