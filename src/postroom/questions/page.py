"""What agents ask, as pages: first what waits for the person who is signed in, and how each question ended."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from starlette.exceptions import HTTPException
from starlette.responses import Response

from postroom.console.frame import NavigationGroup
from postroom.console.lists import Filter, FilterKind, Found, ListPage, ListQuery, Shelves, paged
from postroom.console.visit import TOKEN_FIELD, ConsolePage, ConsoleSection, Form, Visit
from postroom.console.words import state_word
from postroom.kernel.text.visible import findings
from postroom.kernel.values.errors import Code, Refused
from postroom.kernel.values.principal import Principal, person_id_of
from postroom.kernel.values.zones import known_zone
from postroom.message.wire import plain_words
from postroom.overview.why_held import ending, name_of, sentences
from postroom.people.names.resolve import Concerned
from postroom.questions.model import (
    Question,
    QuestionKind,
    QuestionStatus,
    Said,
    SubjectKind,
    VerdictKind,
    Wording,
    is_approval,
)
from postroom.questions.questions import Asking
from postroom.questions.rules.cards import made
from postroom.questions.rules.form import FormField, form_fields
from postroom.questions.rules.judge import CONSOLE, may_answer
from postroom.questions.rules.reading import answer_words, filled_in
from postroom.questions.rules.words import asker_name, one_line
from postroom.questions.shapes import HeardAnswer, QuestionView
from postroom.questions.store.questions import QuestionFigures, besides_for

_PAGE_SIZE: Final = 20
_IN_PLACE: Final = 5  # so many stand on other pages
_ALL: Final = "all"
_ASKED_OF: Final = Filter(
    name="q", title="Search by the person who is asked", kind=FilterKind.NAME, hint="Who is asked"
)
_SHELVES: Final = {one: state_word(one) for one in QuestionStatus} | {_ALL: "All"}
_MOST_WAITING: Final = 100
_LONGEST_ID: Final = 64
_LONGEST_REVISION: Final = 9
_MOST_SAID: Final = 200
_MOST_RADIOS: Final = 6
_BACK: Final = {"today": "/", "inbox": "/inbox", "questions": "/questions"}
_NOT_SAID: Final = frozenset({TOKEN_FIELD, "back"})
_PREFIX: Final = "field."  # so that no name of a field is one of the page's own
_INPUTS: Final = {"email": "email", "uri": "url", "date": "date", "date-time": "datetime-local"}


# ---- one question on a page, and its form ----


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionField:
    """`shape` is how it is offered: radios, select, ticks, or an input of that type; `value` is what is in it."""

    name: str
    title: str
    hint: str
    shape: str
    offered: Sequence[tuple[str, str]] = ()
    is_required: bool = False
    minimum: float | None = None
    maximum: float | None = None
    longest: int | None = None
    value: Sequence[str] = ()

    @property
    def html_name(self) -> str:
        return _PREFIX + self.name

    @property
    def text(self) -> str:
        return self.value[0] if self.value else ""


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
    def may_decline(self) -> bool:
        """Who need not answer may say so; a message is sent or it is not."""
        return self.question.wording.may_decline and not is_approval(self.question)

    @property
    def people(self) -> str:
        return ", ".join(person.name for person in self.question.people)

    @property
    def fields(self) -> Sequence[QuestionField]:
        return question_fields(self.question.wording, self.zone, self.typed)

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


def question_fields(wording: Wording, zone: str, typed: Form | None = None) -> Sequence[QuestionField]:
    """Filled with what was typed before; at first with the form's own defaults. A secret is never filled in."""
    return [
        QuestionField(
            name=one.name,
            title=one.title,
            hint=" ".join(filter(None, [one.description, f"Time in {zone}." if one.format == "date-time" else ""])),
            shape=_shape(one, secret=wording.secret),
            offered=one.offered,
            is_required=one.is_required,
            minimum=one.minimum,
            maximum=one.maximum,
            longest=one.longest,
            value=() if wording.secret else typed.all(_PREFIX + one.name) if typed is not None else one.at_first,
        )
        for one in form_fields(wording.form)
    ]


def _shape(field: FormField, *, secret: bool) -> str:
    if field.kind == "array":
        return "ticks"
    if offered := field.offered:
        return "radios" if len(offered) <= _MOST_RADIOS else "select"
    if field.kind in ("integer", "number"):
        return "number" if field.kind == "integer" else "decimal"
    return "password" if secret else _INPUTS.get(field.format, "text")


# ---- what a person did there, as an answer ----


def given_of(wording: Wording, form: Form, zone: str) -> Said:
    """Total: what makes no sense is an answer that will be refused."""
    if form.all("declined"):
        return Said(declined=True)
    if form.all("text"):
        return Said(text=form.get("text").replace("\r\n", "\n"))
    if wording.kind is QuestionKind.FORM:
        return Said(fields=given_fields(wording, form, zone))
    if wording.multiple:
        return Said(selected=tuple(form.all("selected")))
    return Said(value=form.get("value"))


def given_fields(wording: Wording, form: Form, zone: str) -> dict[str, Any]:
    """What was filled in, typed as the form wants it; what cannot be read is left to the one who judges it."""
    found = filled_in(wording.form, lambda name: form.all(_PREFIX + name))
    moments = [one.name for one in form_fields(wording.form) if one.format == "date-time" and one.name in found]
    return found | {name: _moment(found[name], zone) for name in moments}


def _moment(text: str, zone: str) -> str:
    """A browser writes what the clock on the wall shows."""
    try:
        at = datetime.fromisoformat(text)
    except ValueError:
        return text
    return text if at.tzinfo is not None else at.replace(tzinfo=known_zone(zone)).isoformat()


def revision_of(form: Form) -> int:
    """Of the wording the person had before them; 0, which no wording has, when the page does not say."""
    typed = form.get("revision")
    return int(typed) if typed.isascii() and typed.isdecimal() and len(typed) <= _LONGEST_REVISION else 0


def event_of(session_secret: str, ask_id: str, form: Form) -> str:
    """
    The same press of the same session is one event, however often the browser sends it.

    Keyed with the session, so that what was said cannot be guessed from it.
    """
    said = [ask_id, *(f"{name}={value}" for name, value in form.fields if name not in _NOT_SAID)]
    return hmac.new(session_secret.encode(), "\x1f".join(said).encode(), hashlib.sha256).hexdigest()


# ---- the pages ----


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionPages:
    asking: Asking
    figures: QuestionFigures
    concerned: Concerned

    async def waiting(self, who: Principal, *, besides: SubjectKind | None = None) -> int:
        person_id = person_id_of(who)
        return 0 if person_id is None else await self.figures.waiting_for(person_id, besides)

    async def cards(
        self, visit: Visit, most: int = _IN_PLACE, *, besides: SubjectKind | None = None
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
        """Only the owner may look for whom something is asked."""
        listed = ListPage(
            title="Questions",
            parts="questions.html",
            find=self._find,
            filters=(_ASKED_OF,) if visit.principal.is_owner else (),
            shelves=Shelves("status", _SHELVES, searched=_ALL),
            live="sse:questions throttle:2s",
            said="Questions were brought up to date.",
        )
        return await listed.show(visit)

    async def _find(self, visit: Visit, asked: ListQuery) -> Found[QuestionCard]:
        words = asked.values.get("q", "")
        about = [one.id for one in await self.concerned.people(words)] if words else None
        status = None if asked.shelf == _ALL else QuestionStatus(asked.shelf)
        views = await self.asking.listing(
            visit.principal, status=status, about=about, after=asked.before, limit=_PAGE_SIZE + 1
        )
        views, older = paged(views, _PAGE_SIZE, lambda one: one.question.id)
        cards = [await _card(visit, one) for one in views]
        is_open = status is QuestionStatus.OPEN and not words
        begins = is_open and asked.before is None
        besides = besides_for(visit.principal)
        mine = await self.cards(visit, _MOST_WAITING, besides=besides) if begins else []
        return Found(
            rows=[card for card in cards if not (is_open and card.asks_me)],
            older=older,
            ids=_people([*mine, *cards]),
            around={"begins": begins, "mine": mine, "waiting": await self.waiting(visit.principal, besides=besides)},
        )

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
            ConsolePage("/questions", pages.show, open_to=_can_be_asked),
            ConsolePage("/questions/{id}", pages.one, open_to=_can_be_asked),
            ConsolePage("/questions/{id}/answer", pages.answer, "POST", open_to=_can_be_asked),
        ),
    )


def _can_be_asked(who: Principal) -> bool:
    return person_id_of(who) is not None


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
