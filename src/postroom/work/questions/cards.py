"""A question as a message to one person on one channel: asked, revised, ticked, reminded of, and closed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Final, ParamSpec, TypeVar

from postroom.domain.delivery import Format, Intent, Priority
from postroom.domain.ids import DeliveryId
from postroom.domain.is_approval import is_approval
from postroom.domain.markup import Markup
from postroom.domain.outgoing import Outgoing, RequestContext
from postroom.domain.presentation import Presentation, Token
from postroom.domain.principal import Role
from postroom.domain.question import Question, QuestionKind
from postroom.domain.risk_and_urgency import Urgency
from postroom.domain.wall_clock import said_moment
from postroom.system.long_texts import beside_if_long
from postroom.work.questions.card_buttons import ButtonMaker, Buttons, console_link, console_page
from postroom.work.questions.card_text import CardText, composed
from postroom.work.questions.card_words import (
    HIDDEN_SUBJECT,
    asked_line,
    asker_name,
    asking_words,
    bare_closing_words,
    behind_line,
    closing_words,
    ending_line,
    ends_with_new_words,
    how_to_reply,
    is_hidden,
    subject,
    unsaid,
)
from postroom.work.questions.judge import anywhere
from postroom.work.questions.places import ChannelAbility, Channels

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
