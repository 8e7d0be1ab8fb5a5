"""What people press and write becomes an attempt to answer, by who they are and not by where they are."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Final

from postroom.delivery.files.taking import FileTaking
from postroom.kernel.running.clock import Clock
from postroom.kernel.values.errors import PostroomError
from postroom.kernel.values.ids import DeliveryId
from postroom.message.attachment import Attachment
from postroom.message.channel import AnswersPresses, Channel, Outbound
from postroom.message.delivery import Intent, Message
from postroom.message.inbound import Assurance, InboundMessage, Press
from postroom.message.markup import Revision
from postroom.message.outgoing import Outgoing, RequestContext
from postroom.people.model import Person
from postroom.questions.asked_people import AskedPeople
from postroom.questions.model import (
    Attempt,
    Heard,
    Presentation,
    PressedToken,
    Question,
    Said,
    TokenAction,
    VerdictKind,
)
from postroom.questions.questions import Questions
from postroom.questions.rules.cards import MORE, ORIGIN, CardMaker, agent_of, hash_of, made, unfolded
from postroom.questions.rules.judge import NOT_AN_ANSWER, UNSURE
from postroom.questions.rules.words import answer_words, asked_line, ends_with_new_words, is_hidden, one_line, unsaid
from postroom.questions.store.presentations import StoredPresentations
from postroom.questions.store.questions import StoredQuestions

NOT_VALID: Final = "This button is no longer valid."
_SILENT: Final = frozenset({"unknown_person", "not_asked", "forwarded", "bot", "anonymous", "automatic"})
_MOST_LISTED: Final = 5
_DRAW_SECONDS: Final = 10.0
_TRIES: Final = 3  # before the console is named


@dataclass(frozen=True, slots=True, kw_only=True)
class PressReaction:
    """What the person is shown at once, and what is sent after it, about which card; `copy` goes on a second one."""

    words: str
    alert: bool = False
    then: Outgoing | None = None
    about: Presentation | None = None
    copy: Message | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Hearing:
    """`bots` answer presses, by channel. Everything that is sent from here has the event in its key."""

    questions: Questions
    store: StoredQuestions
    shown: StoredPresentations
    people: AskedPeople
    cards: CardMaker
    outbound: Outbound
    bots: Mapping[str, AnswersPresses]
    clock: Clock
    mint: Callable[[int], str]
    files: FileTaking | None = None

    async def press(self, press: Press) -> None:
        """Decided first, answered at once, drawn afterwards."""
        reaction = await self._reaction(press)
        if bot := self.bots.get(press.channel):
            await bot.answer_press(press.callback_id, reaction.words, alert=reaction.alert)
        await self._go_on(reaction)
        if bot and reaction.copy is not None:
            await _draw_over(bot, reaction.copy)

    async def pressed(self, press: Press) -> PressReaction:
        """The same, at a door that answers the one who pressed by itself."""
        reaction = await self._reaction(press)
        await self._go_on(reaction)
        return reaction

    async def words(self, words: InboundMessage) -> bool:
        """Whether they were about a question; if not, they are for others to hear."""
        meant = await self._meant(words) if words.text is not None or words.files else []
        if not meant:
            return False
        if len(meant) > 1:
            await self._ask_which(words, meant)
            return True
        attempt = await self._attempt_of(words, meant[0])
        heard = await self.questions.hear(attempt)
        if heard is not None and (told := _told(heard)):
            await self._reply(words, f"{told}{await self._other_way(attempt, heard)}", "said")
        return heard is not None

    async def _other_way(self, attempt: Attempt, heard: Heard) -> str:
        """Whoever was not understood so often is shown where there are buttons and fields."""
        if heard.verdict.code != NOT_AN_ANSWER or is_hidden(heard.question):
            return ""
        kept = await self.store.attempts(attempt.question_id)
        mine = [one for one in kept if one.attempt.person_id == attempt.person_id]
        if sum(one.verdict.code == NOT_AN_ANSWER for one in mine) < _TRIES:
            return ""
        return f"\nYou can also answer it in the console{self.cards.page(heard.question)}"

    async def missed(self, channel: str, since_us: int, until_us: int) -> None:
        """We did not listen for so long that presses were lost: every open card there says so, once."""
        for shown in await self.shown.open_on(channel):
            question = await self.store.get(shown.question_id)
            ability = self.cards.ability(shown)
            if question is None or not question.is_open or is_hidden(question) or shown.delivery_id is None:
                continue
            if ability.buttons and ability.edits and shown.revision == question.revision:
                edit = await made(question, self.cards.missed, question, shown, since_us, until_us)
                await self.outbound.submit(edit, request_id=shown.id, wait_seconds=0)

    async def _go_on(self, reaction: PressReaction) -> None:
        """What was drawn while the question ended would else stand on a card that is closed."""
        then, shown = reaction.then, reaction.about
        if then is None or shown is None:
            return
        await self.outbound.submit(then, request_id=shown.id, wait_seconds=0)
        question = await self.store.get(shown.question_id) if then.revises else None
        if question is not None and not question.is_open:
            closing = await made(question, self._closing, question, shown)
            again = replace(closing, idempotency_key=f"{then.idempotency_key}:over")
            await self.outbound.submit(again, request_id=shown.id, wait_seconds=0)

    async def _reaction(self, press: Press) -> PressReaction:
        fold, token = unfolded(press.token)
        pressed = await self.shown.pressed(hash_of(token))
        if pressed is None or not _is_there(pressed.presentation, press):
            return PressReaction(words=NOT_VALID, alert=True)
        if fold or pressed.token.action is TokenAction.OTHER:
            return await self._undecided(press, pressed, fold)
        said = _said(pressed)
        if said is None:
            return PressReaction(words="")
        heard = await self.questions.hear(await self._attempt_by(press, pressed, said))
        if heard is None:
            return PressReaction(words=NOT_VALID, alert=True)
        return await made(heard.question, self._told_of, press, pressed, heard)

    def _told_of(self, press: Press, pressed: PressedToken, heard: Heard) -> PressReaction:
        alert = heard.verdict.kind not in (VerdictKind.ACCEPTED, VerdictKind.NOT_YET)
        reaction = PressReaction(words=_toast(heard, pressed), alert=alert, copy=self._copy(press, pressed, heard))
        return self._drawn(press, pressed, heard, reaction)

    def _copy(self, press: Press, pressed: PressedToken, heard: Heard) -> Message | None:
        """A card that was sent twice because a process died: of the copy that no one noted only its press tells."""
        question, shown = heard.question, pressed.presentation
        is_over = not question.is_open and pressed.token.revision == question.revision
        return _over(press, shown, self._closing(question, shown)) if is_over else None

    def _closing(self, question: Question, shown: Presentation) -> Outgoing:
        return self.cards.closing(unsaid(question) if ends_with_new_words(question) else question, shown)

    def _drawn(self, press: Press, pressed: PressedToken, heard: Heard, reaction: PressReaction) -> PressReaction:
        """A tick is kept already; the card shows it by an edit of its buttons, or says where else it is decided."""
        shown, ticks = pressed.presentation, heard.verdict.toggles
        if heard.verdict.code == UNSURE and shown.delivery_id is not None and self.cards.ability(shown).edits:
            return replace(reaction, then=self.cards.elsewhere(heard.question, shown), about=shown)
        if heard.verdict.kind is not VerdictKind.NOT_YET or shown.delivery_id is None:
            return reaction
        now = shown if ticks is None else replace(shown, toggles=ticks)
        return replace(reaction, then=self.cards.buttons(heard.question, now, press.event_id), about=shown)

    async def _undecided(self, press: Press, pressed: PressedToken, fold: str) -> PressReaction:
        """Nothing is said yet, so nothing is kept; who could not answer is told so at once."""
        shown = pressed.presentation
        question, attempt = await self.store.get(shown.question_id), await self._attempt_by(press, pressed, Said())
        if question is None:
            return PressReaction(words=NOT_VALID, alert=True)
        if refusal := self.questions.refusal(question, attempt):
            refused = Heard(question=question, verdict=refusal)
            return await made(question, self._told_of, press, pressed, refused)
        return self._folded(press, question, shown, fold) if fold else await self._own_words(press, question, shown)

    def _folded(self, press: Press, question: Question, shown: Presentation, fold: str) -> PressReaction:
        """On the card that was pressed, also when we do not know it by its number, or not yet."""
        edit = self.cards.buttons(question, shown, press.event_id, rest=fold == MORE)
        copy = _over(press, shown, edit)
        is_known = copy is None and shown.delivery_id is not None
        return PressReaction(words="", then=edit if is_known else None, about=shown, copy=copy)

    async def _own_words(self, press: Press, question: Question, shown: Presentation) -> PressReaction:
        """A box to reply in, and where nobody else writes, the next message is the answer, too."""
        alone = press.sender in press.places
        if alone:
            await self.shown.await_words(shown.id, self.clock.now_us())
        box = self.cards.own_words(question, shown, press.event_id, alone=alone)
        told = "Your next message here is your answer." if alone else "Write your answer as a reply."
        return PressReaction(words=told, then=box, about=shown)

    async def _meant(self, words: InboundMessage) -> Sequence[Presentation]:
        """The card that is replied to, or on which *Other* was pressed just before; nothing else is an answer."""
        if words.replies_to is not None:
            return await self._replied_to(words, words.replies_to)
        if not words.alone or words.flags:
            return []
        awaited = await self.shown.awaited(words.channel, words.places)
        return [] if awaited is None else [awaited]

    async def _replied_to(self, words: InboundMessage, message_id: str) -> Sequence[Presentation]:
        """
        A card may be on the phone before we know its number, and for good when a process died in between.

        Its number may come while we look, so after the doubtful ones we look again among the certain ones.
        """
        return (
            await self._numbered(words, message_id)
            or await self._unnumbered(words, message_id)
            or await self._numbered(words, message_id)
        )

    async def _numbered(self, words: InboundMessage, message_id: str) -> Sequence[Presentation]:
        found = [await self.shown.behind(words.channel, place, message_id) for place in words.places]
        return [one for one in found if one is not None][:1]

    async def _unnumbered(self, words: InboundMessage, message_id: str) -> Sequence[Presentation]:
        places = words.places if words.alone else ()
        return [one for place in places for one in await self.shown.perhaps(words.channel, place, message_id)]

    async def _ask_which(self, words: InboundMessage, meant: Sequence[Presentation]) -> None:
        asked = [await self.store.get(one.question_id) for one in meant[:_MOST_LISTED]]
        worded = {one.question_id: one.revision for one in meant}
        shown = [one for one in asked if one and not is_hidden(one) and worded[one.id] == one.revision]
        lines = [f"• {asked_line(one, 100)}" for one in shown]
        await self._reply(
            words, "\n".join(["Several questions are open. Please reply to the one you mean:", *lines]), "which"
        )

    async def _attempt_by(self, press: Press, pressed: PressedToken, said: Said) -> Attempt:
        shown = pressed.presentation
        attempt = await self._attempt(press.channel, press.event_id, press.sender, shown, press.assurance)
        return replace(attempt, said=said, revision=pressed.token.revision, flags=press.flags)

    async def _attempt_of(self, words: InboundMessage, shown: Presentation) -> Attempt:
        attempt = await self._attempt(words.channel, words.event_id, words.sender, shown, words.assurance)
        seen = shown.revision or None  # the card as it is there, whatever has been asked since
        said = Said(text=words.text or "", files=await self._files_for_asker(words, shown))
        return replace(attempt, said=said, said_at_us=words.said_at_us, flags=words.flags, revision=seen)

    async def _files_for_asker(self, words: InboundMessage, shown: Presentation) -> tuple[Attachment, ...]:
        question = await self.store.get(shown.question_id) if words.files else None
        return await self.files.hand_on(words.files, agent_of(question.asker)) if question and self.files else ()

    async def _attempt(
        self, channel: str, event_id: str, sender: str | None, shown: Presentation, assurance: Assurance
    ) -> Attempt:
        person, now_us = await self._person(channel, sender), self.clock.now_us()
        return Attempt(
            id=self.mint(now_us),
            question_id=shown.question_id,
            channel=channel,
            provider_event_id=event_id,
            said=Said(),
            heard_at_us=now_us,
            person_id=person.id if person else None,
            person_name=person.name if person else "",
            assurance=assurance if person else Assurance.NONE,
            presentation_id=shown.id,
        )

    async def _person(self, channel: str, sender: str | None) -> Person | None:
        return await self.people.at(channel, sender) if sender is not None else None

    async def _reply(self, words: InboundMessage, text: str, act: str) -> None:
        request_id = f"ask:{act}:{words.channel}:{words.event_id}"
        reply = Outgoing(
            origin_butler=ORIGIN,
            channel=words.channel,
            message=text,
            intent=Intent.REPLY,
            recipient=words.places[0],
            context=_answering(words, request_id),
            idempotency_key=request_id,
        )
        await self.outbound.submit(reply, request_id=request_id, wait_seconds=0)


async def _draw_over(bot: Channel, copy: Message) -> None:
    """Not a message, and no harm when it fails: what was pressed is decided, and the card that we know says so."""
    with suppress(PostroomError):
        for part in bot.prepare(copy):
            await bot.send(part, _DRAW_SECONDS)


def _over(press: Press, shown: Presentation, card: Outgoing) -> Message | None:
    """The same for a message that we know only from its press; None when we know it."""
    if press.message_id is None or press.message_id in shown.provider_ids:
        return None
    delivery, place = DeliveryId(shown.delivery_id or ""), press.places[0]
    return Message(
        delivery_id=delivery,
        intent=Intent.SEND,
        address=place,
        text=card.message,
        format=card.format,
        markup=card.markup,
        revises=Revision(delivery_id=delivery, provider_ids=(press.message_id,), conversation=place),
    )


def _is_there(shown: Presentation, press: Press) -> bool:
    """One person may have the same number with two bots, so the account counts as well."""
    return shown.channel == press.channel and shown.address in press.places


def _answering(words: InboundMessage, request_id: str) -> RequestContext:
    return RequestContext(
        request_id=request_id,
        source_channel=words.channel,
        source_endpoint_identity=ORIGIN,
        source_sender_identity=words.sender or words.places[0],
        source_thread_identity=f"{words.places[0]}:{words.message_id}",
    )


def _said(pressed: PressedToken) -> Said | None:
    match pressed.token.action:
        case TokenAction.OPTION:
            return Said(value=pressed.token.option)
        case TokenAction.TOGGLE:
            return Said(toggle=pressed.token.option)
        case TokenAction.SEND:
            return Said(send=True)
        case TokenAction.DECLINE:
            return Said(declined=True)
        case TokenAction.OTHER | TokenAction.OPEN:
            return None


def _toast(heard: Heard, pressed: PressedToken) -> str:
    verdict, question = heard.verdict, heard.question
    answer = answer_words(question) if pressed.token.revision == question.revision else ""
    match verdict.kind:
        case VerdictKind.ACCEPTED if question.answer is None:
            return "Noted: you would rather not answer."
        case VerdictKind.ACCEPTED:
            return f"✅ {answer or 'Noted'}"
        case VerdictKind.NOT_YET:
            return _ticked(question, verdict.toggles or ())
        case VerdictKind.LOST_RACE:
            return _sentence(": ".join(part for part in (verdict.reason, answer) if part))
        case VerdictKind.LATE | VerdictKind.INVALID | VerdictKind.UNAUTHORISED:
            return _sentence(verdict.reason)


def _ticked(question: Question, ticks: Sequence[str]) -> str:
    labels = [one.label for one in question.wording.options if one.value in ticks]
    return f"Chosen: {one_line(', '.join(labels), 100)}. Press Send when you are done." if labels else "Nothing chosen."


def _told(heard: Heard) -> str | None:
    """What a person who wrote hears: nothing when it counted, for the card shows it, or when we do not know them."""
    verdict = heard.verdict
    if verdict.kind in (VerdictKind.ACCEPTED, VerdictKind.NOT_YET) or verdict.code in _SILENT:
        return None
    if verdict.code == NOT_AN_ANSWER and is_hidden(heard.question):  # what would be one stands on no card
        return "That is no answer to this question; it is shown in the console."
    return _sentence(verdict.reason)


def _sentence(words: str) -> str:
    return f"{words[:1].upper()}{words[1:]}."
