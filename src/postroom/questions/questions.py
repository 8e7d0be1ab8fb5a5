"""Questions from beginning to end, and what every door calls: ask people, wait for them, and answer as one of them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Final

from postroom.attention.attention import QuestionTimes
from postroom.kernel.running.clock import Clock
from postroom.kernel.serving.servers import when_written
from postroom.kernel.values.errors import Code, FieldError, Refused, ValidationError
from postroom.kernel.values.ids import SECOND_US, seconds
from postroom.kernel.values.moments import Due, Reason
from postroom.kernel.values.principal import HOUSEHOLD_OWNER, OPERATOR, Principal, Role, person_id_of
from postroom.message.inbound import Assurance
from postroom.people.model import Person
from postroom.questions.asked_people import Strangers, asked, asked_people, found_people
from postroom.questions.model import (
    Added,
    Asked,
    Attempt,
    Heard,
    Presentation,
    PresentationStatus,
    Question,
    QuestionStatus,
    Resume,
    Said,
    Subject,
    SubjectKind,
    Verdict,
    Wording,
)
from postroom.questions.presenter import Planning
from postroom.questions.rules.judge import AnswerPolicy, judge, refused
from postroom.questions.rules.plan import (
    cancelled,
    escalate_at,
    opened,
    postponed,
    refuse_unknown_channels,
    remind_at,
    reminded,
    retimed,
    revised,
    taken,
)
from postroom.questions.rules.request import KeyReused, QuestionRequest, TooManyOpen, WordsGiven
from postroom.questions.shapes import AnswersPage, HeardAnswer, QuestionStory, QuestionView, for_others
from postroom.questions.store.questions import Decide, StoredQuestions
from postroom.questions.telling import Bells, Progress, WaitForEnd

_MAX_PAGE: Final = 200
_HIDDEN: Final = frozenset({"not_asked", "unknown_person"})  # to these the question does not exist
_AT_ONCE: Final = 10_000
_Changed = Callable[[Question], None]


# ---- the engine: asked once, heard by one rule, ended once ----


def _nothing(_question: Question) -> None:
    return None


class Questions:
    """`changed` is rung after every commit, with the question as it is then."""

    def __init__(
        self,
        store: StoredQuestions,
        clock: Clock,
        *,
        policy: AnswerPolicy = AnswerPolicy(),  # noqa: B008  # frozen
        changed: _Changed = _nothing,
    ) -> None:
        self._store = store
        self._clock = clock
        self._policy = policy
        self._changed = changed

    async def ask(self, question: Question, planned: Sequence[Presentation] | None = None) -> Asked:
        """With the places where it is shown, or left to be planned. Raises KeyReused and TooManyOpen."""
        asked = await self._store.ask(question, planned)
        if asked.refused:
            raise TooManyOpen
        if asked.conflict:
            raise KeyReused(asked.question.id)
        if asked.created:
            self._changed(asked.question)
        return asked

    async def hear(self, attempt: Attempt) -> Heard | None:
        """It is heard now, whatever it says; None when there is no such question."""
        heard = await self._store.hear(replace(attempt, heard_at_us=self._clock.now_us()), self._judge)
        if heard is not None and not heard.repeated:
            self._changed(heard.question)
        return heard

    def refusal(self, question: Question, attempt: Attempt) -> Verdict | None:
        """Of whoever wants to answer and has not said anything yet; nothing of it is kept."""
        return refused(question, attempt, self._clock.now_us(), self._policy)

    async def cancel(self, question_id: str, reason: str | None = None) -> Question | None:
        return await self._change(question_id, partial(cancelled, reason=reason, now_us=self._clock.now_us()))

    async def reminded(self, question_id: str) -> Question | None:
        """Notes the first reminder that another than the timekeeper sent."""
        return await self._change(question_id, partial(reminded, now_us=self._clock.now_us()))

    async def postpone(self, question_id: str, step: Reason, until_us: int) -> Question | None:
        return await self._change(question_id, partial(postponed, step=step, until_us=until_us))

    async def retime(self, question_id: str, decide: Decide) -> Question | None:
        return await self._change(question_id, decide)

    async def revise(self, question_id: str, wording: Wording, expires_at_us: int | None = None) -> Question | None:
        now_us = self._clock.now_us()
        decide = partial(revised, wording=wording, expires_at_us=expires_at_us, now_us=now_us)
        return await self._change(question_id, decide)

    async def take(self, due: Due) -> Question | None:
        """The step that is due, if it still is."""
        return await self._change(due.id, partial(taken, due=due))

    def _judge(self, question: Question, attempt: Attempt, shown: Presentation | None) -> Verdict:
        return judge(question, attempt, attempt.heard_at_us, shown, self._policy)

    async def _change(self, question_id: str, decide: Decide) -> Question | None:
        change = await self._store.change(question_id, decide)
        if change is None:
            return None
        if change.event is not None:
            self._changed(change.question)
        return change.question


# ---- what callers may do ----


@dataclass(frozen=True, slots=True, kw_only=True)
class Asking:
    """
    An agent sees its own questions, a person those that ask them, and the owner all.

    The questions of others are not found. `bells` ring after every commit in this process. `strangers` is there where
    a person agrees to what is sent to those who are not trusted: what they were not shown, they find at no door.
    `agents` are those a caller speaks for.
    """

    questions: Questions
    store: StoredQuestions
    planning: Planning
    bells: Bells
    clock: Clock
    mint: Callable[[int], str]
    times: QuestionTimes | None = None
    strangers: Strangers | None = None
    agents: Callable[[Principal], Collection[str]] = lambda _: ()

    async def ask(
        self,
        asker: Principal,
        request: QuestionRequest,
        *,
        wait_seconds: float,
        progress: Progress | None = None,
        subject: Subject | None = None,
    ) -> QuestionView:
        """
        Stored and planned, in one, before the waiting begins.

        Raises ValidationError, and KeyReused with the `ask_id`.
        """
        people = await self._people(asker, request)
        question = await self._opened(asker, request, subject, people)
        planned = self.planning.chosen(question, people, self.mint)
        if question.escalate_to and all(one.status is PresentationStatus.FAILED for one in planned):
            question = replace(question, escalate_after_seconds=0)
        stored = await self.questions.ask(question, planned)
        if stored.created and wait_seconds <= 0:
            return QuestionView(question=question, presentations=planned)
        view = await self._waited(asker, stored.question, wait_seconds, progress)
        return replace(view, joined=stored.joined)

    async def wait(
        self,
        asker: Principal,
        *,
        ask_id: str | None = None,
        key: str | None = None,
        wait_seconds: float,
        progress: Progress | None = None,
    ) -> QuestionView:
        """Others than the asker who may see it may wait for it, too; only the asker collects its end."""
        question = await self._named(asker, ask_id, key)
        return await self._waited(asker, question, wait_seconds, progress)

    async def answers(self, asker: Principal, *, since: str | None, limit: int) -> AnswersPage:
        """What ended for this asker, in the order in which it ended. A secret is not in it: `wait` hands it out."""
        _check_page(limit)
        position = _position(since)
        endings = await self.store.answers(str(asker), since=position, limit=limit)
        for one in endings:
            if not one.question.wording.secret:
                await self._collect(one.question)
        views = [await self._view(one.question) for one in endings]
        return AnswersPage(views=views, cursor=str(endings[-1].position if endings else position))

    async def cancel(self, asker: Principal, ask_id: str, reason: str | None = None) -> QuestionView:
        """By the asker or the owner; one that has ended stays as it ended."""
        question = await self._of(asker, ask_id)
        return await self._seen(asker, await self.questions.cancel(question.id, reason) or question)

    async def revise(self, asker: Principal, ask_id: str, words: WordsGiven) -> QuestionView:
        """Raises ValidationError, and Refused when it has ended."""
        question = await self._of(asker, ask_id)
        wording = words.revised(question.wording)
        length, now_us = words.whole_seconds, self.clock.now_us()
        until_us = None if length is None else now_us + seconds(length)
        if until_us is not None and self.times is not None:
            until_us = await self._open_until(question, self.times, until_us, now_us)
        revised = await self.questions.revise(question.id, wording, until_us)
        if revised is None or not revised.is_open:
            raise Refused(Code.ILLEGAL_TRANSITION, f"the question is {(revised or question).status}")
        return await self._seen(asker, revised)

    async def answer(
        self,
        person: Principal,
        ask_id: str,
        given: Said,
        *,
        channel: str,
        event_id: str,
        revision: int | None = None,
        assurance: Assurance = Assurance.SIGNED_IN,
    ) -> HeardAnswer:
        """
        By a signed-in person; the same `event_id` again, about the same question, has the first verdict.

        `revision` is of the wording they had before them; without it, the present one. `assurance` says how far it
        is certain that they did it themselves.
        """
        if await self._is_stranger(person):  # who answers nothing but what they were shown
            seen = await self._seen(person, await self._visible(person, ask_id))
            revision = seen.question.revision if revision is None else revision
        attempt = await self._attempt(person, ask_id, given, channel, event_id)
        surely = min(attempt.assurance, assurance, key=lambda one: one.rank)
        heard = await self.questions.hear(replace(attempt, revision=revision, assurance=surely))
        if heard is None or heard.verdict.code in _HIDDEN:
            raise _not_found()
        return HeardAnswer(verdict=heard.verdict, view=await self._seen(person, for_others(heard.question)))

    async def read(self, person: Principal, ask_id: str) -> QuestionView:
        """For whoever may see it; the asker sees it as it is, and collects nothing."""
        return await self._seen(person, await self._visible(person, ask_id))

    async def under(self, asker: Principal, key: str) -> Sequence[QuestionView]:
        """What this asker asked with that key, or nothing; collects nothing."""
        question = await self.store.by_key(str(asker), key)
        return [] if question is None else [await self._seen(asker, question)]

    async def story(self, person: Principal, ask_id: str) -> QuestionStory:
        """Why it is as it is. What others tried to answer is for the owner alone."""
        question = await self._visible(person, ask_id)
        attempts = await self.store.attempts(ask_id) if person.is_owner else ()
        view = await self._seen(person, question)
        return QuestionStory(view=view, events=await self.store.history(ask_id), attempts=attempts)

    async def listing(
        self,
        caller: Principal,
        *,
        status: QuestionStatus | None = None,
        mine: bool = False,
        besides: SubjectKind | None = None,
        about: Sequence[str] | None = None,
        after: str | None = None,
        limit: int = 50,
    ) -> Sequence[QuestionView]:
        """
        The newest first: of an agent what it asked, of a person also what asks them, of the owner all.

        `mine` is only what asks this person, `about` only what asks one of those people, `besides` leaves out what is
        about one kind of thing; `after` is the id of the last one seen.
        """
        _check_page(limit)
        person_id = person_id_of(caller)
        everything, only_theirs = caller.is_owner and not mine, mine and person_id is not None
        all_of_it, shown = not await self._is_stranger(caller), list[QuestionView]()
        while len(shown) < limit:
            found = await self.store.listing(
                asker=None if everything or only_theirs else str(caller),
                person_id=None if everything else person_id,
                status=status,
                besides=besides,
                about=about,
                before=after,
                limit=limit,
            )
            seen = [await self._seen_or_none(caller, one, all_of_it=all_of_it) for one in found]
            shown += [one for one in seen if one is not None]
            if len(found) < limit:
                break
            after = found[-1].id
        return shown[:limit]

    async def _people(self, asker: Principal, request: QuestionRequest) -> tuple[Person, ...]:
        refuse_unknown_channels(request.channels, self.planning.channels)
        people = self.planning.people
        named = request.to or ((asker.person,) if asker.person else ())  # a program works for one person
        to = await found_people(people, self._reach(asker), named, "recipient") if named else (await people.owner(),)
        _refuse_self(asker, to)
        return to

    def _reach(self, asker: Principal) -> Principal:
        """An assistant that speaks for the owner asks whom the owner asks."""
        return OPERATOR if HOUSEHOLD_OWNER in self.agents(asker) else asker

    async def _opened(
        self, asker: Principal, request: QuestionRequest, subject: Subject | None, people: Sequence[Person]
    ) -> Question:
        now_us = self.clock.now_us()
        question = opened(
            request,
            id=self.mint(now_us),
            asker=str(asker),
            people=tuple(map(asked, people)),
            escalate_to=await asked_people(
                self.planning.people, self._reach(asker), request.escalate_to, "escalate_to"
            ),
            resume=_resume(asker, request),
            subject=subject,
            now_us=now_us,
        )
        return await self._in_their_time(question, self.times) if self.times is not None else question

    async def _in_their_time(self, question: Question, times: QuestionTimes) -> Question:
        """Neither its time nor that of its reminder and escalation runs while it is quiet for those who are asked."""
        asked_us, until_us = question.created_at_us, await self._open_until(question, times, question.expires_at_us)
        later = replace(question, expires_at_us=until_us)
        if question.subject is None:  # what a question is about may have a time of its own
            later = replace(later, reckoned_by=await times.reckoned_by(_asked_first(question)))
        if (remind := question.remind_after_seconds) is not None:
            shown_us = [
                await times.shown_at(one.id, question.asker, question.urgency, asked_us) for one in question.people
            ]
            later = replace(later, remind_after_seconds=remind + _whole_seconds(min(shown_us) - asked_us))
        if (escalate := question.escalate_after_seconds) is not None:
            at_us = await self._open_until(question, times, asked_us + seconds(escalate))
            later = replace(later, escalate_after_seconds=_whole_seconds(at_us - asked_us))
        return later

    async def follow(self) -> None:
        """Where people have other wishes, what is left of the times of open questions is counted by them."""
        times, now_us = self.times, self.clock.now_us()
        if times is None:
            return
        for question in await self.store.listing(status=QuestionStatus.OPEN, limit=_AT_ONCE):
            people, before = _asked_first(question), times.known(question.reckoned_by)
            number = await times.reckoned_by(people)
            if before is None or question.reckoned_by == number:
                continue
            moved = partial(times.deadline_now, before, people, question.asker, question.urgency, now_us=now_us)
            shift_us = times.later_by(before, people, question.asker, question.urgency, now_us=now_us)
            remind, escalate = remind_at(question), escalate_at(question)
            decide = partial(
                retimed,
                seen=question,
                expires_at_us=moved(deadline_us=question.expires_at_us),
                remind_at_us=None if remind is None else max(now_us, remind + shift_us),
                escalate_at_us=None if escalate is None else moved(deadline_us=escalate),
                reckoned_by=number,
            )
            await self.questions.retime(question.id, decide)

    async def _open_until(
        self, question: Question, times: QuestionTimes, until_us: int, from_us: int | None = None
    ) -> int:
        return await times.deadline(
            [one.id for one in question.people],
            question.asker,
            question.urgency,
            asked_us=question.created_at_us if from_us is None else from_us,
            deadline_us=until_us,
        )

    async def _waited(
        self, caller: Principal, asked: Question, wait_seconds: float, progress: Progress | None
    ) -> QuestionView:
        is_asker = _is_asker(caller, asked)
        read = self.store.for_asker if is_asker else self.store.get
        waiting = WaitForEnd(read=read, store=self.store, bells=self.bells, clock=self.clock)
        question = await waiting.until_over(asked.id, wait_seconds, progress)
        if question is None:
            raise _not_found()
        if is_asker:
            await self._collect(question)
        return await self._seen(caller, question)

    async def _collect(self, question: Question) -> None:
        """Not before its asker gets it: one that has hung up is told when it asks again."""
        if not question.is_open and question.collected_at_us is None:
            await when_written(partial(self.store.collect, question.id, self.clock.now_us()))

    async def _named(self, asker: Principal, ask_id: str | None, key: str | None) -> Question:
        if ask_id is not None:
            return await self._visible(asker, ask_id)
        question = await self.store.by_key(str(asker), key or "")
        if question is None:
            raise _not_found()
        return question

    async def _of(self, asker: Principal, ask_id: str) -> Question:
        question = await self.store.get(ask_id)
        if question is None or not (_is_asker(asker, question) or asker.is_owner):
            raise _not_found()
        if question.subject is not None:
            raise Refused(Code.POLICY_DENIED, f"the question is about {question.subject}, and ends with that")
        return question

    async def _visible(self, caller: Principal, ask_id: str) -> Question:
        question = await self.store.get(ask_id)
        if question is None or not _may_see(caller, question):
            raise _not_found()
        return question

    async def _attempt(self, person: Principal, ask_id: str, given: Said, channel: str, event_id: str) -> Attempt:
        """The operator is the person at the machine; that their own scripts ask under that name makes it no agent's."""
        person_id, now_us = person_id_of(person), self.clock.now_us()
        known = await self.planning.people.find(person_id) if person_id else ()
        is_operator = person.role is Role.OPERATOR
        return Attempt(
            id=self.mint(now_us),
            question_id=ask_id,
            channel=channel,
            provider_event_id=f"{person}:{ask_id}:{event_id}",
            said=given,
            heard_at_us=now_us,
            person_id=person_id,
            person_name=next((one.name for one in known if one.id == person_id), person.name),
            assurance=Assurance.SIGNED_IN if person_id else Assurance.NONE,
            actor=None if is_operator else str(person),
            operator=is_operator,
        )

    async def _seen(self, caller: Principal, question: Question) -> QuestionView:
        """Raises Refused when they were not shown it, or not with these words."""
        view = await self._seen_or_none(caller, question, all_of_it=not await self._is_stranger(caller))
        if view is None:
            raise _not_found()
        return view

    async def _seen_or_none(self, caller: Principal, question: Question, *, all_of_it: bool) -> QuestionView | None:
        if _is_asker(caller, question):
            return await self._view(question)
        view = await self._view(for_others(question))
        return view if all_of_it or self.strangers is None else await self.strangers.seen(caller.name, view)

    async def _is_stranger(self, caller: Principal) -> bool:
        person_id = None if caller.is_owner else person_id_of(caller)
        return self.strangers is not None and person_id is not None and await self.strangers.knows(person_id)

    async def _view(self, question: Question) -> QuestionView:
        return QuestionView(question=question, presentations=await self.planning.plans.of(question.id))


def _resume(asker: Principal, request: QuestionRequest) -> Resume | None:
    """A butler wakes itself and no other; the owner may wake any."""
    wished = request.resume
    if wished is None:
        return None
    own = asker.name if asker.role is Role.BUTLER else None
    butler = wished.butler or own
    if butler is None:
        raise ValidationError.of([FieldError("resume.butler", "is required", "required")])
    if butler != own and not asker.is_owner:
        raise ValidationError.of([FieldError("resume.butler", "may only be the butler that asks", "not_allowed")])
    return Resume(butler=butler, prompt=wished.prompt, material=wished.material)


def _refuse_self(asker: Principal, to: Sequence[Person]) -> None:
    if asker.role in (Role.PERSON, Role.USER) and [one.id for one in to] == [asker.name]:
        raise ValidationError.of([FieldError("recipient", "must name another person than the one who asks", "self")])


def _is_asker(caller: Principal, question: Question) -> bool:
    return str(caller) == question.asker


def _may_see(caller: Principal, question: Question) -> bool:
    person_id = person_id_of(caller)
    return _is_asker(caller, question) or caller.is_owner or (person_id is not None and question.asks(person_id))


def _asked_first(question: Question) -> list[str]:
    return [one.id for one in question.people if one.added is Added.ASKED]


def _whole_seconds(length_us: int) -> int:
    return -(-length_us // SECOND_US)


def _check_page(limit: int) -> None:
    if not 1 <= limit <= _MAX_PAGE:
        raise ValidationError.of([FieldError("limit", f"must be from 1 to {_MAX_PAGE}", "out_of_range")])


def _position(since: str | None) -> int:
    text = "0" if since is None else since.strip()
    if not (text.isascii() and text.isdecimal() and len(text) <= 18):
        raise ValidationError.of([FieldError("since", "must be a cursor of an earlier page", "cursor")])
    return int(text)


def _not_found() -> Refused:
    return Refused(Code.NOT_FOUND, "there is no such question")
