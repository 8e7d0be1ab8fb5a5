"""A question as a form in a person's own client: one more place where it is shown, never the truth about it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from hashlib import sha256
from typing import Any, Final

from mcp.server.mcpserver import Context
from mcp.shared.exceptions import MCPError
from mcp_types import ElicitRequest, ElicitRequestFormParams, ElicitResult, InputRequiredResult

from postroom.kernel.guard.tools import Rule
from postroom.kernel.values.errors import PostroomError
from postroom.kernel.values.principal import Principal, person_id_of
from postroom.message.inbound import Assurance
from postroom.questions.model import Question, QuestionKind, VerdictKind, Wording
from postroom.questions.questions import Asking
from postroom.questions.rules.cards import made
from postroom.questions.rules.judge import may_answer
from postroom.questions.rules.reading import MAX_ANSWER_CHARACTERS, Given, check_given
from postroom.questions.rules.words import asking_words, is_hidden

ANSWER: Final = "answer"
CHANNEL: Final = "client"
_FORM_KEYS: Final = ("type", "properties", "required")  # all that clients know
_MOST_TIMES: Final = 3  # that one call shows it, so that a program that answers by itself comes to an end


def _may_be_a_form(question: Question) -> bool:
    """
    No permission, no secret and nothing that is hidden from screens is put into a program's hands.

    What the household asks by itself, and what is to be shown at named places only, is asked there.
    """
    is_plain = question.subject is None and question.channels is None and not is_hidden(question)
    return is_plain and question.wording.kind is not QuestionKind.APPROVE


def _form_words(question: Question, zone: str, problem: str = "") -> str:
    return asking_words(question, zone, listed=False, how=problem).plain


def _form_schema(wording: Wording) -> dict[str, Any]:
    """It has always a field: a form without one is accepted by programs with no person near."""
    if wording.kind is QuestionKind.FORM:
        form = wording.form or {}
        return {key: form[key] for key in _FORM_KEYS if key in form}
    return {"type": "object", "properties": {ANSWER: _field(wording)}, "required": [ANSWER]}


def _field(wording: Wording) -> dict[str, Any]:
    if wording.kind is QuestionKind.TEXT:
        return {"type": "string", "title": "Answer", "minLength": 1, "maxLength": MAX_ANSWER_CHARACTERS}
    offered = [{"const": one.value, "title": one.label} for one in wording.options]
    if wording.multiple:
        return {"type": "array", "title": "Answer", "items": {"anyOf": offered}, "minItems": 1}
    return {"type": "string", "title": "Answer", "oneOf": offered}


def _given_of(wording: Wording, content: Mapping[str, Any]) -> Given:
    """Raises ValidationError. What counts as an answer is judged elsewhere."""
    if wording.kind is QuestionKind.FORM:
        return check_given({"fields": dict(content)})
    return check_given({_said_as(wording): content.get(ANSWER, "")})


def _said_as(wording: Wording) -> str:
    if wording.kind is QuestionKind.TEXT:
        return "text"
    return "selected" if wording.multiple else "value"


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientForms:
    """
    `people`: whose own tokens may answer. Programs and butlers ask, and whoever asks does not answer.

    That a person filled a form in, only the client says: it decides nothing, and is the least certain of all answers.
    """

    asking: Asking
    people: Rule
    zone_of: Callable[[str], str]

    def shows(self, who: Principal, question: Question) -> bool:
        return self._is_theirs(who, question) and may_answer(who, question, self.asking.clock.now_us())

    async def hear(self, who: Principal, question: Question, said: ElicitResult, event: str) -> str | None:
        """
        What is wrong with it, for the person to see; None when there is nothing more to show.

        Declined, cancelled and empty forms are no one's word: they close the form and leave the question open.
        """
        if said.action != "accept" or not said.content or not self._is_theirs(who, question):
            return None
        try:
            heard = await self.asking.answer(
                who,
                question.id,
                _given_of(question.wording, said.content),
                channel=CHANNEL,
                event_id=f"{event}:{question.revision}:{_digest(said.content)}",
                revision=question.revision,
                assurance=Assurance.LOW,
            )
        except PostroomError as error:
            return error.message
        return heard.verdict.reason if heard.verdict.kind is VerdictKind.INVALID else None

    @asynccontextmanager
    async def beside(self, call: Context[Any, Any], who: Principal, question: Question) -> AsyncIterator[None]:
        """For the older protocol: shown while the caller waits; whatever ends the waiting takes the form away."""
        if not self.shows(who, question):
            yield
            return
        showing = asyncio.create_task(self._show(call, who, question))
        try:
            yield
        finally:
            showing.cancel()
            await asyncio.wait({showing})

    async def next_round(
        self, call: Context[Any, Any], who: Principal, question: Question
    ) -> InputRequiredResult | None:
        """For the newer protocol: what the client is to show before it calls again; None when it is to wait."""
        shown, said = shown_before(call), (call.input_responses or {}).get(ANSWER)
        if shown is None or not isinstance(said, ElicitResult):
            return await self._round(who, question) if self.shows(who, question) else None
        before = _in_the_wording(question, shown)
        problem = await self.hear(who, before, said, "form") if before else "The question has changed."
        now = (await self.asking.read(who, question.id)).question
        return await self._round(who, now, problem) if problem is not None and self.shows(who, now) else None

    async def _show(self, call: Context[Any, Any], who: Principal, question: Question) -> None:
        problem: str | None = ""
        with suppress(MCPError):  # the client cannot, after all
            for _ in range(_MOST_TIMES):
                said = await call.session.elicit_form(
                    await made(question, _form_words, question, self._zone(who), problem or ""),
                    _form_schema(question.wording),
                    related_request_id=call.request_context.request_id,
                )
                problem = await self.hear(who, question, said, "form")
                question = (await self.asking.read(who, question.id)).question
                if problem is None or not self.shows(who, question):
                    return

    async def request(self, who: Principal, question: Question, problem: str = "") -> ElicitRequest:
        words = await made(question, _form_words, question, self._zone(who), problem)
        schema = _form_schema(question.wording)
        return ElicitRequest(params=ElicitRequestFormParams(message=words, requested_schema=schema))

    async def _round(self, who: Principal, question: Question, problem: str | None = "") -> InputRequiredResult:
        state = json.dumps([question.id, question.revision])
        requests = {ANSWER: await self.request(who, question, problem or "")}
        return InputRequiredResult(input_requests=dict(requests), request_state=state)

    def _zone(self, who: Principal) -> str:
        return self.zone_of(person_id_of(who) or "")

    def _is_theirs(self, who: Principal, question: Question) -> bool:
        person_id = person_id_of(who)
        return person_id is not None and self.people(who) and question.asks(person_id) and _may_be_a_form(question)


@dataclass(frozen=True, slots=True)
class ShownBefore:
    """What the last round of a call showed."""

    ask_id: str
    revision: int


def shown_before(call: Context[Any, Any]) -> ShownBefore | None:
    """The state is sealed, so what is in it is what we wrote."""
    state = call.request_state
    return None if state is None else ShownBefore(*json.loads(state))


def _in_the_wording(question: Question, shown: ShownBefore) -> Question | None:
    return question if (question.id, question.revision) == (shown.ask_id, shown.revision) else None


def _digest(content: Any) -> str:
    return sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()[:32]
