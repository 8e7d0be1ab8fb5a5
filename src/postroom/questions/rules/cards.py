"""A question as a message to one person on one channel, with its buttons: asked, revised, reminded of and closed."""

from __future__ import annotations

import base64
import hashlib
import hmac
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Final, ParamSpec, TypeVar

from postroom.kernel.running.loop import beside_if_long
from postroom.kernel.values.ids import DeliveryId
from postroom.kernel.values.principal import Role
from postroom.kernel.values.zones import said_moment
from postroom.message.delivery import Format, Intent, Priority
from postroom.message.markup import Button, ButtonStyle, Markup, Rows
from postroom.message.outgoing import Outgoing, RequestContext
from postroom.message.wishes import APPROVE, Urgency
from postroom.questions.model import RATHER_NOT, Presentation, Question, QuestionKind, Token, TokenAction, is_approval
from postroom.questions.rules.judge import anywhere
from postroom.questions.rules.plan import ChannelAbility, Channels
from postroom.questions.rules.words import (
    HIDDEN_SUBJECT,
    CardText,
    asked_line,
    asker_name,
    asking_words,
    bare_closing_words,
    behind_line,
    closing_words,
    composed,
    ending_line,
    ends_with_new_words,
    how_to_reply,
    is_hidden,
    one_line,
    subject,
    unsaid,
)

ORIGIN: Final = "questions"
_OTHER: Final = "✏️ Other"
_ANSWER: Final = "✏️ Answer"  # of a question that has no options
_SEND: Final = "Send"
_REST: Final = "…"
_TO_ANSWERS: Final = "‹ Back"
_TICKED: Final = "✅ "
_SHORT: Final = 16
_BESIDE: Final = 20  # characters in a row that has room for one small button more; each is as wide as the widest
_LONGEST_LABEL: Final = 60
_NOTHING: Final = ChannelAbility()
_PRIORITIES: Final = {
    Urgency.PASSIVE: Priority.LOW,
    Urgency.NORMAL: Priority.MEDIUM,
    Urgency.TIME_SENSITIVE: Priority.HIGH,
    Urgency.CRITICAL: Priority.HIGH,
}
_Given = ParamSpec("_Given")
Made = TypeVar("Made")


# ---- the opaque tokens behind the buttons ----


MORE: Final = "+"  # before the token of a button that is out of sight: brings those into sight, or takes them out
_BACK: Final = "~"  # no token begins with either
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


def kept_token(token: str, presentation_id: str, revision: int, action: TokenAction, option: str | None) -> Token:
    return Token(hash=hash_of(token), presentation_id=presentation_id, action=action, option=option, revision=revision)


def unfolded(token: str) -> tuple[str, str]:
    """Which of the two it begins with, if any, and the token behind that."""
    fold = token[:1] if token[:1] in (MORE, _BACK) else ""
    return fold, token.removeprefix(fold)


def hash_of(token: str) -> str:
    """What is kept of it."""
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).hexdigest()


# ---- buttons ----


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
        more = self._fold(_REST, MORE)
        is_beside = all(len(one.label) * len(last) <= _BESIDE for one in last)
        rows = (*before, (*last, more)) if is_beside else (*before, last, (more,))
        return Buttons(rows=rows, tokens=_of([*options, others]).tokens)

    def rest(self, opening: Buttons) -> Buttons:
        """What stood behind that small button, with a page of its own, and the way back."""
        others, pages = _of([self._others(own_words=True)]), [button for row in opening.rows for button in row]
        return replace(others, rows=(*others.rows, (*pages, self._fold(_TO_ANSWERS, _BACK))))

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
        return [*rows, [self._made(_SEND, TokenAction.SEND, style=ButtonStyle.PRIMARY)]] if wording.multiple else rows

    def _others(self, own_words: bool) -> list[tuple[Button, Token]]:
        wording = self.question.wording
        if is_approval(self.question):
            return []  # not to decide is to leave it alone until its time is over
        is_text = wording.kind is QuestionKind.TEXT
        own_words = own_words and (is_text or (wording.kind is QuestionKind.CHOICE and wording.allow_text))
        others = [self._made(_ANSWER if is_text else _OTHER, TokenAction.OTHER)] if own_words else []
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


def _console_link(base_url: str, question: Question) -> Buttons:
    """Where a person signs in first."""
    return Buttons(rows=((Button(label="Open", url=_console_page(base_url, question)),),))


def _console_page(base_url: str, question: Question) -> str:
    about = question.subject
    page = f"approvals/{about.id}" if about and is_approval(question) else f"questions/{question.id}"
    return f"{base_url}/console/{page}"


# ---- the messages about a question ----


@dataclass(frozen=True, slots=True, kw_only=True)
class Card:
    """`tokens` are kept before the message leaves: a press may come back at once."""

    outgoing: Outgoing
    tokens: tuple[Token, ...] = ()


def _in_utc(_person_id: str) -> str:
    return "UTC"


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
    zone_of: Callable[[str], str] = _in_utc  # of a person
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
        return f": {_console_page(self.base_url, question)}" if self.base_url else "."

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
        return _console_link(self.base_url, question) if self.base_url else Buttons()

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
            asker=agent_of(question.asker),
        )


async def made(question: Question, make: Callable[_Given, Made], *given: _Given.args, **more: _Given.kwargs) -> Made:
    """Of a long question, beside the event loop."""
    wording = question.wording
    characters = len(wording.question) + len(wording.context or "") if wording.format is Format.MARKDOWN else 0
    return await beside_if_long(characters, partial(make, *given, **more))


def agent_of(asker: str) -> str:
    """Under the name with which the asker sends messages and hands in files, too."""
    return asker.removeprefix(f"{Role.BUTLER}:")


def _is_on_card(question: Question, shown: Presentation) -> bool:
    """All that a message about it can say in the asker's name."""
    return is_hidden(question) or (shown.revision == question.revision and not ends_with_new_words(question))


def _in_thread(shown: Presentation, message_id: str) -> RequestContext:
    return RequestContext(
        request_id=shown.id,  # so that a reply to any message about it finds it
        source_channel=shown.channel,
        source_endpoint_identity=ORIGIN,
        source_sender_identity=shown.address,
        source_thread_identity=f"{shown.address}:{message_id}",
    )


def _card_of(shown: Presentation) -> DeliveryId:
    return DeliveryId(shown.delivery_id or "")
