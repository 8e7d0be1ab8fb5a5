"""What agents ask: first what waits for the person who is signed in, and how each question ended."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Protocol

from starlette.exceptions import HTTPException
from starlette.responses import Response

from postroom.domain.answer_attempt import VerdictKind
from postroom.domain.errors import Code, Refused
from postroom.domain.person_id_of import person_id_of
from postroom.domain.plain_words import plain_words
from postroom.domain.principal import Principal
from postroom.domain.question import Question, SubjectKind
from postroom.domain.question_states import QuestionStatus
from postroom.doors.console.concerned import Concerned
from postroom.doors.console.form import Form
from postroom.doors.console.navigation import NavigationGroup
from postroom.doors.console.question_answer import event_of, given_of, revision_of
from postroom.doors.console.question_fields import QuestionField, form_fields
from postroom.doors.console.visit import ConsolePage, ConsoleSection, Visit
from postroom.work.approvals.visible import findings
from postroom.work.questions.answer_words import answer_words
from postroom.work.questions.asking import Asking
from postroom.work.questions.card_words import asker_name, one_line
from postroom.work.questions.cards import made
from postroom.work.questions.judge import CONSOLE
from postroom.work.questions.may_answer import may_answer
from postroom.work.questions.view import HeardAnswer, QuestionView
from postroom.work.questions.why import ending, name_of, sentences

PAGE_SIZE: Final = 20
IN_PLACE: Final = 5  # so many stand on other pages
ALL: Final = "all"
_MOST_WAITING: Final = 100
_LONGEST_ID: Final = 64
_LONGEST_NAME: Final = 255
_MOST_SAID: Final = 200
_BACK: Final = {"today": "/", "inbox": "/inbox", "questions": "/questions"}


class QuestionCounts(Protocol):
    async def waiting_for(self, person_id: str) -> int: ...

    async def waiting_besides(self, person_id: str, kind: SubjectKind) -> int: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionCard:
    """One question with what this person may do about it; `typed` is what could not be taken as it was."""

    question: Question
    can_answer: bool
    asks_me: bool
    now_us: int
    zone: str
    words: str  # what is asked; of Markdown what reads well by itself
    context: str  # of one that is open
    typed: Form | None = None
    complaint: str = ""

    @property
    def asker(self) -> str:
        return asker_name(self.question)

    @property
    def people(self) -> str:
        return ", ".join(person.name for person in self.question.people)

    @property
    def fields(self) -> Sequence[QuestionField]:
        return form_fields(self.question.wording, self.zone, self.typed)

    @property
    def text(self) -> str:
        """What was typed before, but never a secret."""
        return "" if self.question.wording.secret or self.typed is None else self.typed.get("text")

    @property
    def ticked(self) -> Sequence[str]:
        return self.typed.all("selected") if self.typed else ()

    @property
    def ending(self) -> str:
        return ending(self.question, self.now_us)

    @property
    def answer(self) -> str:
        return answer_words(self.question.wording, self.question.answer) if self.question.answer else ""

    @property
    def default(self) -> str:
        default = self.question.wording.default
        return answer_words(self.question.wording, default) if default else ""

    @property
    def hidden(self) -> int:
        """How many characters of it do not look like what they are."""
        wording = self.question.wording
        said = [wording.question, wording.context or "", *(one.label for one in wording.options)]
        return sum(len(findings(text)) for text in said)

    def name_of(self, person_id: str) -> str:
        return name_of(self.question, person_id)


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionPages:
    asking: Asking
    figures: QuestionCounts
    concerned: Concerned

    async def waiting(self, who: Principal, *, besides: SubjectKind | None = None) -> int:
        person_id = person_id_of(who)
        if person_id is None:
            return 0
        if besides is not None:
            return await self.figures.waiting_besides(person_id, besides)
        return await self.figures.waiting_for(person_id)

    async def cards(
        self, visit: Visit, most: int = IN_PLACE, *, besides: SubjectKind | None = None
    ) -> Sequence[QuestionCard]:
        """What is open and asks this person, the newest first."""
        found = await self.asking.listing(
            visit.principal, status=QuestionStatus.OPEN, mine=True, besides=besides, limit=most
        )
        return [await _card(visit, one) for one in found]

    async def asked_of(self, visit: Visit, person_id: str, most: int) -> Sequence[QuestionView]:
        """The newest first, as far as this visitor may see them."""
        return await self.asking.listing(visit.principal, about=[person_id], limit=most)

    async def show(self, visit: Visit) -> Response:
        chosen = visit.query.get("status", "")
        chosen = chosen if chosen in (*QuestionStatus, ALL) else str(QuestionStatus.OPEN)
        after = visit.query.get("cursor", "")[:_LONGEST_ID] or None
        status = None if chosen == ALL else QuestionStatus(chosen)
        words, about = await self._about(visit)
        found = await self.asking.listing(visit.principal, status=status, about=about, after=after, limit=PAGE_SIZE + 1)
        cards = [await _card(visit, one) for one in found[:PAGE_SIZE]]
        is_open = chosen == QuestionStatus.OPEN and not words
        mine = await self.cards(visit, _MOST_WAITING) if is_open and after is None else []
        return visit.show(
            "questions.html",
            chosen=chosen,
            statuses=[*map(str, QuestionStatus), ALL],
            words=words,
            can_search=visit.principal.is_owner,
            mine=mine,
            names=await visit.names(ids=_people([*mine, *cards])),
            cards=[card for card in cards if not (is_open and card.asks_me)],
            waiting=await self.waiting(visit.principal),
            is_first=after is None,
            next_cursor=cards[-1].question.id if len(found) > PAGE_SIZE else None,
            same_page=f"{visit.request.url.path}?{visit.request.url.query}",
        )

    async def _about(self, visit: Visit) -> tuple[str, Sequence[str] | None]:
        """The name the owner looks for, and whom it means; None for a list that is not narrowed down."""
        words = visit.query.get("q", "")[:_LONGEST_NAME].strip() if visit.principal.is_owner else ""
        return words, [one.id for one in await self.concerned.people(words)] if words else None

    async def one(self, visit: Visit) -> Response:
        return await self._page(visit, await _card(visit, await self._view(visit)))

    async def answer(self, visit: Visit) -> Response:
        """One press decides; what cannot be an answer comes back with what was typed."""
        view = await self._view(visit)
        heard = await self._heard(visit, view)
        path = f"/questions/{view.question.id}"
        match heard.verdict.kind:
            case VerdictKind.ACCEPTED:
                return visit.go(_BACK.get(visit.form.get("back"), path), _thanks(heard))
            case VerdictKind.INVALID if heard.verdict.code == "not_an_answer":
                card = await _card(visit, heard.view, visit.form, f"Not yet answered: {heard.verdict.reason}.")
                return await self._page(visit, card, 422)
            case _:
                reason = heard.verdict.reason
                return visit.go(path, f"{reason[:1].upper()}{reason[1:]}. Your answer changed nothing.", "bad")

    async def _heard(self, visit: Visit, view: QuestionView) -> HeardAnswer:
        question = view.question
        try:
            return await self.asking.answer(
                visit.principal,
                question.id,
                given_of(question.wording, visit.form, visit.zone),
                channel=CONSOLE,
                event_id=event_of(visit.secret, question.id, visit.form),
                revision=revision_of(visit.form),
            )
        except Refused as error:
            raise _page_of(error) from None

    async def _page(self, visit: Visit, card: QuestionCard, status: int = 200) -> Response:
        story = await self.asking.story(visit.principal, card.question.id)
        return visit.show(
            "question.html",
            status=status,
            card=card,
            why=list(sentences(story, visit.now_us)),
            presentations=story.view.presentations,
            names=await visit.names(ids={*_people([card]), *(one.person_id for one in story.view.presentations)}),
        )

    async def _view(self, visit: Visit) -> QuestionView:
        try:
            return await self.asking.read(visit.principal, visit.path["id"][:_LONGEST_ID])
        except Refused as error:
            raise _page_of(error) from None


def questions_section(pages: QuestionPages) -> ConsoleSection:
    return ConsoleSection(
        name="Questions",
        group=NavigationGroup.YOURS,
        pages=(
            ConsolePage("/questions", pages.show, open_to=can_be_asked),
            ConsolePage("/questions/{id}", pages.one, open_to=can_be_asked),
            ConsolePage("/questions/{id}/answer", pages.answer, "POST", open_to=can_be_asked),
        ),
    )


def can_be_asked(who: Principal) -> bool:
    return person_id_of(who) is not None


async def _card(visit: Visit, view: QuestionView, typed: Form | None = None, complaint: str = "") -> QuestionCard:
    question = view.question
    asked, context = await made(question, _readable, question)
    return QuestionCard(
        question=question,
        can_answer=may_answer(visit.principal, question, visit.now_us),
        asks_me=question.asks(person_id_of(visit.principal) or ""),
        now_us=visit.now_us,
        zone=visit.zone,
        words=asked,
        context=context,
        typed=typed,
        complaint=complaint,
    )


def _readable(question: Question) -> tuple[str, str]:
    wording = question.wording
    context = wording.context or "" if question.is_open else ""
    return plain_words(wording.question, wording.format), plain_words(context, wording.format)


def _people(cards: Sequence[QuestionCard]) -> set[str]:
    """Those who are asked, and those who answered."""
    asked = {person.id for card in cards for person in card.question.people}
    return asked | {card.question.answered_by.person_id for card in cards if card.question.answered_by}


def _thanks(heard: HeardAnswer) -> str:
    question = heard.view.question
    if question.status is QuestionStatus.DECLINED:
        return f"You would rather not answer. {asker_name(question)} will hear so."
    words = one_line(answer_words(question.wording, question.answer), _MOST_SAID) if question.answer else ""
    return f"Answered{f': {words}' if words else ''}. {asker_name(question)} will hear of it."


def _page_of(error: Refused) -> Exception:
    return HTTPException(404) if error.code is Code.NOT_FOUND else error
