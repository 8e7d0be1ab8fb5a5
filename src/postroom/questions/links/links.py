"""Answers by a one-time link: it names one card of one person, opens nothing else, and dies with the wording."""

from __future__ import annotations

import hashlib
import hmac
import secrets
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Final

from fastapi import APIRouter, Path, Request
from fastapi.responses import HTMLResponse

from postroom.kernel.running.clock import Clock
from postroom.kernel.serving.json_door import JsonRoute
from postroom.kernel.values.errors import Code, Refused, StoreUnavailable, ValidationError
from postroom.kernel.values.ids import seconds
from postroom.message.inbound import Assurance
from postroom.questions.asked_people import AskedPeople, Strangers
from postroom.questions.links.page import (
    ACT,
    CONFIRM,
    DECLINE,
    HEADERS,
    NONCE,
    VALUE,
    SentForm,
    confirm_page,
    given_of,
    plain_page,
    question_page,
    read_form,
)
from postroom.questions.model import (
    Attempt,
    Presentation,
    PressedToken,
    Question,
    QuestionKind,
    Said,
    TokenAction,
    VerdictKind,
)
from postroom.questions.questions import Questions
from postroom.questions.rules.cards import hash_of, made
from postroom.questions.shapes import HeardAnswer, OpenedLink, QuestionView
from postroom.questions.store.presentations import StoredPresentations
from postroom.questions.store.questions import StoredQuestions

PATH: Final = "/a"  # below it, a page for each link
LIFE_SECONDS: Final = 86_400
_GONE: Final = "This link is not good any more: the question was answered, changed or taken back, or never existed."
_THANKS: Final = "Thank you. Your answer was noted; this page can be closed."
_AWAY: Final = "Your answer could not be kept at the moment. Please go back and send it again."
_AGAIN: Final = "This page was open for too long, so nothing was sent. Please answer again."
_FIRST: Final = "ask"
_SECOND: Final = "confirm"
_STATUS: Final = {
    VerdictKind.ACCEPTED: 200,
    VerdictKind.LATE: 410,
    VerdictKind.LOST_RACE: 410,
    VerdictKind.UNAUTHORISED: 403,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Links:
    """What the page behind `/a/{token}` calls."""

    questions: Questions
    store: StoredQuestions
    cards: StoredPresentations
    people: AskedPeople
    clock: Clock
    mint: Callable[[int], str]
    strangers: Strangers | None = None  # None while nothing needs an approval

    async def open(self, token: str) -> OpenedLink:
        """Decides nothing, however often it is opened. Raises Refused when there is no such link."""
        pressed, question = await self._behind(token)
        shown = pressed.presentation
        return OpenedLink(
            view=QuestionView(question=question),
            person_id=shown.person_id,
            person_name=next((one.name for one in question.people if one.id == shown.person_id), ""),
            revision=pressed.token.revision,
        )

    async def answer(self, token: str, given: Said, *, event_id: str) -> HeardAnswer:
        """As sure as the address the link was sent to."""
        pressed, question = await self._behind(token)
        shown, now_us = pressed.presentation, self.clock.now_us()
        proved = await self.people.at(shown.channel, shown.address)
        is_proved = proved is not None and proved.id == shown.person_id
        attempt = Attempt(
            id=self.mint(now_us),
            question_id=question.id,
            channel=shown.channel,
            provider_event_id=f"link:{shown.id}:{event_id}",
            said=given,
            heard_at_us=now_us,
            person_id=shown.person_id,
            person_name=proved.name if proved and is_proved else "",
            assurance=Assurance.CHANNEL if is_proved else Assurance.LOW,
            presentation_id=shown.id,
            revision=pressed.token.revision,
        )
        heard = await self.questions.hear(attempt)
        if heard is None:
            raise _no_link()
        return HeardAnswer(verdict=heard.verdict, view=QuestionView(question=heard.question))

    async def _behind(self, token: str) -> tuple[PressedToken, Question]:
        pressed = await self.cards.pressed(hash_of(token))
        if pressed is None or pressed.token.action is not TokenAction.OPEN:
            raise _no_link()
        question = await self.store.get(pressed.presentation.question_id)
        if question is None or question.wording.secret:
            raise _no_link()
        shown = await self._on_card(question, pressed.presentation)
        if shown is None:
            raise _no_link()
        return pressed, shown

    async def _on_card(self, question: Question, card: Presentation) -> Question | None:
        """Who has the link has the card; whom the household does not trust is shown no more than stands there."""
        if self.strangers is None or not await self.strangers.knows(card.person_id):
            return question
        return await self.strangers.on_card(question, [card])


def _no_link() -> Refused:
    return Refused(Code.NOT_FOUND, "this link is not valid, or no longer")


# ---- proof that a form came from a page of ours: made for one link, one wording, one step, and not for long ----


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkNonce:
    """`step` is what the page asks for; one made for another step is worth nothing."""

    key: bytes
    token: str
    revision: int
    step: str

    def make(self, now_us: int) -> str:
        stem = f"{now_us}.{secrets.token_hex(16)}"
        return f"{stem}.{self._seal(stem)}"

    def is_own(self, nonce: str, now_us: int) -> bool:
        stem, _, sealed = nonce.rpartition(".")
        made = stem.partition(".")[0]
        if not (nonce.isascii() and made.isdecimal() and len(made) < 19):
            return False
        is_fresh = 0 <= now_us - int(made) <= seconds(LIFE_SECONDS)
        return is_fresh and hmac.compare_digest(sealed, self._seal(stem))

    def _seal(self, stem: str) -> str:
        parts = "\x1f".join([self.token, str(self.revision), self.step, stem])
        return hmac.new(self.key, parts.encode(), hashlib.sha256).hexdigest()


# ---- the door: looking decides nothing, the form does, once ----


_Token = Annotated[str, Path(max_length=128, description="From the link")]


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkPages:
    """`key` seals the forms of the pages."""

    links: Links
    key: bytes
    clock: Clock
    zone_of: Callable[[str], str]

    async def look(self, token: str) -> HTMLResponse:
        opened = await self._opened(token)
        return _answer(plain_page(_GONE), 410) if opened is None else await self._asked(token, opened)

    async def sent(self, token: str, form: SentForm) -> HTMLResponse:
        opened = await self._opened(token)
        if opened is None:
            return _answer(plain_page(_GONE), 410)
        step = _step(form)
        if not self._nonce(token, opened, step).is_own(form.get(NONCE), self.clock.now_us()):
            return await self._asked(token, opened, _AGAIN, 400)
        try:
            given = given_of(_meant(form), opened.view.question.wording)
        except ValidationError as error:
            return await self._asked(token, opened, error.fields[0].error, 422)
        if step == _FIRST and opened.view.question.wording.kind is QuestionKind.APPROVE:
            return await self._confirm(token, opened, given)
        return await self._decided(token, opened, given, form.get(NONCE))

    async def _decided(self, token: str, opened: OpenedLink, given: Said, nonce: str) -> HTMLResponse:
        """The same form sent twice is one answer; another answer from the same page is another."""
        event_id = hashlib.sha256(f"{nonce}\x1f{given!r}".encode("utf-8", "surrogatepass")).hexdigest()
        try:
            heard = await self.links.answer(token, given, event_id=event_id)
        except StoreUnavailable:
            return _answer(plain_page(_AWAY), 503)
        return await self._told(token, opened, heard)

    async def _told(self, token: str, opened: OpenedLink, heard: HeardAnswer) -> HTMLResponse:
        verdict = heard.verdict
        if verdict.kind is VerdictKind.ACCEPTED:
            return _answer(plain_page(_THANKS))
        if verdict.kind in _STATUS:
            return _answer(plain_page(_sentence(verdict.reason)), _STATUS[verdict.kind])
        return await self._asked(token, opened, _sentence(verdict.reason), 422)

    async def _opened(self, token: str) -> OpenedLink | None:
        """None for a link that is unknown, used, or of words that are no longer the question's."""
        try:
            opened = await self.links.open(token)
        except Refused as error:
            if error.code is not Code.NOT_FOUND:
                raise
            return None
        is_over = opened.view.question.expires_at_us < self.clock.now_us()
        return opened if opened.is_current and opened.view.question.is_open and not is_over else None

    async def _asked(
        self, token: str, opened: OpenedLink, problem: str | None = None, status: int = 200
    ) -> HTMLResponse:
        nonce = self._nonce(token, opened, _FIRST).make(self.clock.now_us())
        zone = self.zone_of(opened.person_id)
        question = opened.view.question
        page = await made(question, question_page, question, opened.person_name, nonce, problem, zone=zone)
        return _answer(page, status)

    async def _confirm(self, token: str, opened: OpenedLink, given: Said) -> HTMLResponse:
        act, value = (DECLINE, "") if given.declined else (_SECOND, given.value or "")
        nonce = self._nonce(token, opened, _confirming(act, value)).make(self.clock.now_us())
        question = opened.view.question
        return _answer(await made(question, confirm_page, question, opened.person_name, nonce, act, value))

    def _nonce(self, token: str, opened: OpenedLink, step: str) -> LinkNonce:
        return LinkNonce(key=self.key, token=token, revision=opened.revision, step=step)


def link_router(pages: LinkPages) -> APIRouter:
    router = APIRouter(
        prefix=PATH,
        tags=["asks"],
        route_class=JsonRoute,
        default_response_class=HTMLResponse,
        responses={410: {"description": "The link is not good any more"}},
    )

    async def show(token: _Token) -> HTMLResponse:
        return await pages.look(token)

    router.add_api_route(
        "/{token}", show, methods=["GET"], operation_id="showAskLink", summary="The page of a one-time link"
    )
    router.add_api_route("/{token}", show, methods=["HEAD"], include_in_schema=False)

    @router.post("/{token}", operation_id="answerByLink", summary="Answer by a one-time link; approvals in two steps")
    async def answer(request: Request, token: _Token) -> HTMLResponse:
        return await pages.sent(token, read_form(await request.body()))

    return router


def _step(form: SentForm) -> str:
    act = form.get(CONFIRM)
    return _confirming(act, form.get(VALUE)) if act else _FIRST


def _confirming(act: str, value: str) -> str:
    """A page that confirms one thing cannot be made to confirm another."""
    return f"{_SECOND}\x1f{act}\x1f{value}"


def _meant(form: SentForm) -> SentForm:
    """On the second page the choice was made before; its button says no more than yes."""
    act = form.get(CONFIRM)
    return SentForm(((ACT, act), (VALUE, form.get(VALUE)))) if act else form


def _sentence(reason: str) -> str:
    return f"{reason[:1].upper()}{reason[1:]}."


def _answer(page: str, status: int = 200) -> HTMLResponse:
    return HTMLResponse(page, status, HEADERS)
