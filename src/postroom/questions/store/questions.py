"""Questions on disk: each change, with the line it leaves in the feed and the cards it concerns, is one transaction."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final, NamedTuple, Protocol, TypeVar

from sqlalchemy import (
    ColumnElement,
    Connection,
    Select,
    and_,
    bindparam,
    delete,
    exists,
    func,
    or_,
    select,
    union,
    update,
)
from sqlalchemy.exc import IntegrityError

from postroom.kernel.database.engine import Coalescer, Database, Repeated, looked_up, write_twice
from postroom.kernel.database.moments import put_moment
from postroom.kernel.database.prepared import Prepared
from postroom.kernel.database.rows import of_json, to_json
from postroom.kernel.running.process import Seal
from postroom.kernel.values.ids import seconds
from postroom.kernel.values.moments import Reason
from postroom.kernel.values.principal import Principal
from postroom.questions.model import (
    EVENT_OF_END,
    Asked,
    Attempt,
    Ending,
    Heard,
    KeptAttempt,
    Presentation,
    PresentationStatus,
    Question,
    QuestionAnswer,
    QuestionChange,
    QuestionEvent,
    QuestionEventType,
    QuestionKind,
    QuestionStatus,
    Subject,
    SubjectKind,
    Verdict,
    VerdictKind,
    decided,
)
from postroom.questions.store import steps
from postroom.questions.store.presentations import found_presentations, presentation_by_id, write_toggles
from postroom.questions.store.steps import (
    insert_attempt,
    read_attempt,
    read_event,
    read_verdict,
    subject_of_row,
)
from postroom.questions.store.tables import (
    presentation_parts,
    presentation_tokens,
    presentations,
    question_attempts,
    question_events,
    question_people,
    questions,
)

_JOIN_ENDED_US: Final = seconds(600)  # how long after its end an answer that the asker has not had is still joined
SECRET_GRACE_SECONDS: Final = 300  # how long after it was handed out a secret is there for its asker to ask again
_JOINED_ENDS: Final = (QuestionStatus.ANSWERED, QuestionStatus.DECLINED, QuestionStatus.EXPIRED)
_FIRST_REVISION: Final = 1
_ENDS: Final = [str(event) for event in EVENT_OF_END.values()]
_ASKED_AT_ONCE: Final = 50  # while they are written no other event is
_IS_OPEN = questions.c.status == str(QuestionStatus.OPEN)
_WORDS: Final = {"wording": None, "state": None, "resume": None, "answer": None, "reason": None}

# These are asked for every question, press and answer.
_BY_KEYS: Final = Prepared(
    select(questions).where(
        questions.c.asker == bindparam("its_asker"), questions.c.key.in_(bindparam("keys", expanding=True))
    )
)
_SUBJECT: Final = Prepared(
    select(questions.c.subject_kind, questions.c.subject_id).where(questions.c.id == bindparam("its_id"))
)
_HEARD_BEFORE: Final = Prepared(
    select(question_attempts).where(
        question_attempts.c.channel == bindparam("its_channel"),
        question_attempts.c.provider_event_id == bindparam("its_event"),
    )
)
_COLLECT: Final = Prepared(
    update(questions)
    .where(questions.c.id == bindparam("its_id"), ~_IS_OPEN, questions.c.collected_at.is_(None))
    .values(collected_at=bindparam("now"))
    .returning(questions.c.secret)
)
_Value = TypeVar("_Value")
_NewQuestion = tuple[Question, Sequence[Presentation] | None]
Judge = Callable[[Question, Attempt, Presentation | None], Verdict]
Decide = Callable[[Question], QuestionChange]


class Ride(Protocol):
    """What a question is about, where that is decided in the same transaction."""

    def hold(self, connection: Connection, subject: Subject) -> None:
        """Until the transaction ends, no one else decides it."""
        ...

    def decide(self, connection: Connection, question: Question, attempt: Attempt, verdict: Verdict) -> Verdict:
        """The accepted verdict, with what it decides written down; or why that cannot be decided any more."""
        ...

    def expire(self, connection: Connection, question: Question, at_us: int) -> None:
        """Nobody answered in time."""
        ...


class StoredQuestions:
    """
    `rides` are what questions may be about, where an answer decides that in its own transaction.

    Of each asker at most `most_open` wait at once, and those that processes accept at the same moment; what the
    household asks about something of its own has bounds of its own.
    """

    def __init__(
        self,
        database: Database,
        seal: Seal,
        rides: Mapping[SubjectKind, Ride] = {},  # never written to
        most_open: int | None = None,
    ) -> None:
        self._database = database
        self._repeated = Repeated(database)
        self._seal = seal
        self._rides = rides
        self._most_open = most_open
        self._asks: Coalescer[_NewQuestion, Asked] = Coalescer(self._ask_all, most=_ASKED_AT_ONCE)

    async def ask(self, question: Question, planned: Sequence[Presentation] | None = None) -> Asked:
        """
        Stored, or the one that was asked before under the same key or, without a key, in the same words.

        Questions that arrive together are committed together. `planned` is where it is shown; None leaves that open.
        """
        try:
            return await self._asks.submit((question, planned))
        except IntegrityError:  # another process was first: the second time it is seen
            return await self._asks.submit((question, planned))

    async def _ask_all(self, batch: Sequence[_NewQuestion]) -> Sequence[Asked]:
        """
        A group commit. In one order always, so that two processes never wait for each other; the turn in the feed
        comes last.
        """
        ordered = sorted(batch, key=lambda one: (one[0].asker, one[0].key or "", one[0].revision_hash))

        def work(connection: Connection) -> dict[str, Asked]:
            for question, _ in ordered:
                if question.key is None:
                    steps.wait_for_equals(connection, question)
            found = self._within_bounds(connection, _asked(connection, [question for question, _ in ordered]))
            if new := [one for one in ordered if found[one[0].id].created]:
                steps.insert_questions(connection, new)
                steps.append_all(connection, [_opened(question) for question, _ in new])
            return found

        found = await self._database.write(work)
        return [found[question.id] for question, _ in batch]

    def _within_bounds(self, connection: Connection, found: dict[str, Asked]) -> dict[str, Asked]:
        """With those refused that are one too many, and whatever equals them."""
        new = [one.question for one in found.values() if one.created and one.question.subject is None]
        if self._most_open is None or not new:
            return found
        count, beyond = steps.open_of(connection, {one.asker for one in new}), set[str]()
        for question in new:
            count[question.asker] += 1
            if count[question.asker] > self._most_open:
                beyond.add(question.id)
        refused = {
            name: replace(one, created=False, refused=True) for name, one in found.items() if one.question.id in beyond
        }
        return found | refused

    async def get(self, question_id: str) -> Question | None:
        return await self._database.read(lambda connection: steps.by_id(connection, question_id))

    async def by_key(self, asker: str, key: str) -> Question | None:
        return await self._database.read(lambda connection: next(iter(_by_keys(connection, asker, [key])), None))

    async def to_resume(self, ids: Sequence[str]) -> Sequence[Question]:
        """Those of them whose end wakes a butler, in the order in which they ended."""
        if not ids:
            return []
        table = questions.c
        asked = select(questions).where(table.id.in_(ids), table.resume.is_not(None)).order_by(table.ended_at, table.id)
        return await self._found(asked)

    async def about(self, subject: Subject) -> Sequence[Question]:
        return await self._database.read(lambda connection: steps.questions_about(connection, subject))

    async def hear(self, attempt: Attempt, judge: Judge, ride: Ride | None = None) -> Heard | None:
        """
        None when there is no such question; an event that was heard before has its first verdict again.

        `ride` stands for that of its subject, at a door where more is said than an answer.
        """

        def work(connection: Connection) -> Heard | None:
            self._hold_subject(connection, attempt.question_id)
            question = steps.locked(connection, attempt.question_id)
            if question is None:
                return None
            if verdict := _verdict_before(connection, attempt):
                return Heard(verdict=verdict, question=question, repeated=True)
            return self._judged(connection, question, attempt, judge, ride or self._ride(question.subject))

        return await write_twice(self._database, work)

    async def change(self, question_id: str, decide: Decide) -> QuestionChange | None:
        """`decide` sees the question as it is, and may run again; nothing else changes it meanwhile."""

        def work(connection: Connection) -> QuestionChange | None:
            before = steps.locked(connection, question_id)
            if before is None:
                return None
            change = decide(before)
            is_expired = before.is_open and change.question.status is QuestionStatus.EXPIRED
            if is_expired and (ride := self._ride(before.subject)):
                ride.expire(connection, before, change.at_us)
            self._write(connection, before, change)
            return change

        return await self._database.write(work)

    async def for_asker(self, question_id: str) -> Question | None:
        """With a secret in it, until that is wiped."""

        def work(connection: Connection) -> Question | None:
            question = steps.by_id(connection, question_id)
            sealed = question and question.wording.secret and not question.is_open
            return self._unsealed(connection, question) if question and sealed else question

        return await self._database.read(work)

    async def collect(self, question_id: str, now_us: int) -> None:
        """
        Notes that its end has been handed out.

        That it was written is no proof that it was read: a secret is kept a while for an asker who asks again.
        """

        def work(connection: Connection) -> None:
            if _COLLECT.run(connection, {"its_id": question_id, "now": now_us}).scalar():
                wiped_us = now_us + seconds(SECRET_GRACE_SECONDS)
                put_moment(connection, steps.MOMENTS, question_id, Reason.FORGET, wiped_us)

        await self._database.write(work)

    async def wipe(self, question_id: str) -> None:
        """The secret that its asker has had."""
        table = questions.c
        over = update(questions).where(table.id == question_id, table.secret, table.status != str(QuestionStatus.OPEN))
        await self._database.write(lambda connection: connection.execute(over.values(answer=None)))

    async def shown_on(self, question_id: str) -> Sequence[str]:
        """The channels where a card of it is, or may be: a delivery of which the end is not known yet counts."""
        table = presentations.c
        sent = and_(table.delivery_id.is_not(None), table.status != str(PresentationStatus.FAILED))
        asked = select(table.channel).where(table.question_id == question_id, sent).distinct()
        return await self._database.read(lambda connection: connection.execute(asked).scalars().all())

    async def listing(
        self,
        *,
        asker: str | None = None,
        person_id: str | None = None,
        status: QuestionStatus | None = None,
        besides: SubjectKind | None = None,
        about: Sequence[str] | None = None,
        before: str | None = None,
        limit: int = 50,
    ) -> Sequence[Question]:
        """
        The newest first, of an asker or for a person, or both; `before` is the id of the last one seen.

        With `about`, of these only what asks one of those people.
        """
        wanted = _wanted(status, besides, about, before)
        newest = select(questions).order_by(questions.c.id.desc()).limit(limit)
        if asker is not None and person_id is not None:
            both = (_of_asker(asker, wanted, limit), _for_person(person_id, wanted, limit))
            together = union(*(select(one.subquery("whose")) for one in both)).subquery("together")
            return await self._found(newest.where(questions.c.id.in_(select(together.c.id))))
        if person_id is not None:
            return await self._found(newest.where(questions.c.id.in_(_for_person(person_id, wanted, limit))))
        return await self._found(newest.where(*wanted, *([questions.c.asker == asker] if asker is not None else [])))

    async def attempts(self, question_id: str) -> Sequence[KeptAttempt]:
        table = question_attempts
        asked = select(table).where(table.c.question_id == question_id).order_by(table.c.id)
        return await self._read(asked, read_attempt)

    async def events(self, *, since: int, limit: int, asker: str | None = None) -> Sequence[QuestionEvent]:
        """In the order in which they were committed, so that nothing ever appears before `since` afterwards."""
        table = question_events
        asked = select(table).where(table.c.position > since).order_by(table.c.position).limit(limit)
        asked = asked if asker is None else asked.where(table.c.asker == asker)
        return await self._repeated.read(
            (since, limit, asker), lambda connection: [read_event(row) for row in connection.execute(asked)]
        )

    async def last_position(self) -> int:
        """Of the newest line of the feed, 0 when there is none."""
        newest = select(func.coalesce(func.max(question_events.c.position), 0))
        return await self._database.read(lambda connection: int(connection.execute(newest).scalar_one()))

    async def history(self, question_id: str) -> Sequence[QuestionEvent]:
        table = question_events
        asked = select(table).where(table.c.question_id == question_id).order_by(table.c.position)
        return await self._read(asked, read_event)

    async def answers(self, asker: str, *, since: int, limit: int) -> Sequence[Ending]:
        """What ended for this asker after that place in the feed."""
        line = question_events.c
        asked = select(line.position, line.question_id).where(line.asker == asker, line.position > since)
        asked = asked.where(line.event_type.in_(_ENDS)).order_by(line.position).limit(limit)

        def work(connection: Connection) -> list[Ending]:
            places = connection.execute(asked).all()
            ended = select(questions).where(questions.c.id.in_([place.question_id for place in places]))
            known = {question.id: question for question in steps.found(connection, ended)}
            return [Ending(position=place.position, question=known[place.question_id]) for place in places]

        return await self._database.read(work)

    def _hold_subject(self, connection: Connection, question_id: str) -> None:
        """An intent is held before its question: whoever decides it elsewhere holds the two in this order."""
        row = _SUBJECT.run(connection, {"its_id": question_id}).first()
        subject = subject_of_row(row) if row else None
        if subject and (ride := self._ride(subject)):
            ride.hold(connection, subject)

    def _ride(self, subject: Subject | None) -> Ride | None:
        return self._rides.get(subject.kind) if subject else None

    def _judged(
        self, connection: Connection, question: Question, attempt: Attempt, judge: Judge, ride: Ride | None
    ) -> Heard:
        shown = presentation_by_id(connection, question.id, attempt.presentation_id)
        if attempt.revision is None and shown is not None:  # which may be seen before it is noted
            attempt = replace(attempt, revision=shown.revision or _FIRST_REVISION)
        verdict = judge(question, attempt, shown)
        if verdict.kind is VerdictKind.ACCEPTED and ride is not None:
            verdict = ride.decide(connection, question, attempt, verdict)
        insert_attempt(connection, attempt, verdict, secret=question.wording.secret)
        if verdict.toggles is not None and shown is not None:
            write_toggles(connection, shown.id, verdict.toggles, attempt.heard_at_us)
        if verdict.kind is not VerdictKind.ACCEPTED:
            return Heard(verdict=verdict, question=question)
        change = decided(question, attempt, verdict)
        self._write(connection, question, change)
        return Heard(verdict=verdict, question=change.question)

    def _write(self, connection: Connection, before: Question, change: QuestionChange) -> None:
        steps.write(connection, before, change, self._kept(change.question, change.question.answer))

    def _kept(self, question: Question, answer: QuestionAnswer | None) -> str | None:
        if answer is None:
            return None
        text = to_json(answer)
        return self._seal.seal(text, question.id) if question.wording.secret else text

    def _unsealed(self, connection: Connection, question: Question) -> Question:
        mine = questions.c.id == question.id
        sealed = connection.execute(select(questions.c.answer).where(mine)).scalar()
        if sealed is None:
            return question
        return replace(question, answer=of_json(QuestionAnswer, self._seal.unseal(sealed, question.id)))

    async def _found(self, asked: Select[Any]) -> list[Question]:
        return await self._database.read(lambda connection: steps.found(connection, asked))

    async def _read(self, asked: Select[Any], shape: Callable[[Any], _Value]) -> list[_Value]:
        return await self._database.read(lambda connection: [shape(row) for row in connection.execute(asked)])


def _wanted(
    status: QuestionStatus | None, besides: SubjectKind | None, about: Sequence[str] | None, before: str | None
) -> list[ColumnElement[bool]]:
    table, found = questions.c, list[ColumnElement[bool]]()
    if about is not None:
        theirs = select(question_people.c.question_id).where(question_people.c.person_id.in_(about))
        found.append(table.id.in_(theirs))
    if status is not None:
        found.append(table.status == str(status))
    if besides is not None:
        found.append(table.subject_kind.is_distinct_from(str(besides)))
    if before is not None:
        found.append(table.id < before)
    return found


def _of_asker(asker: str, wanted: Sequence[ColumnElement[bool]], limit: int) -> Select[Any]:
    """Each of the two along its own index, and no further than the page: "or" would read all that either ever had."""
    return (
        select(questions.c.id).where(questions.c.asker == asker, *wanted).order_by(questions.c.id.desc()).limit(limit)
    )


def _for_person(person_id: str, wanted: Sequence[ColumnElement[bool]], limit: int) -> Select[Any]:
    theirs = question_people.c
    asked = select(questions.c.id).join(question_people, theirs.question_id == questions.c.id)
    return asked.where(theirs.person_id == person_id, *wanted).order_by(theirs.question_id.desc()).limit(limit)


def _asked(connection: Connection, together: Sequence[Question]) -> dict[str, Asked]:
    """What each of them stands for; of equal ones that come together, the first."""
    found, firsts = dict[str, Asked](), _under_their_keys(connection, together)
    for question in together:
        mine = (question.asker, question.key) if question.key else (question.asker, "", question.fingerprint)
        known = firsts.get(mine) or (None if question.key else _joinable(connection, question))
        firsts[mine] = known or question
        found[question.id] = _stands_for(known, question)
    return found


def _stands_for(known: Question | None, question: Question) -> Asked:
    if known is None:
        return Asked(question=question, created=True)
    same = question.fingerprint in (known.fingerprint, known.revision_hash)
    return Asked(question=known, created=False, conflict=not same)


def _opened(question: Question) -> QuestionChange:
    return QuestionChange(question=question, event=QuestionEventType.OPENED, at_us=question.created_at_us)


def _under_their_keys(connection: Connection, together: Sequence[Question]) -> dict[tuple[str, ...], Question]:
    """What was asked before, by one look for each asker, however many of their questions come together."""
    keys: dict[str, list[str]] = {}
    for question in together:
        if question.key:
            keys.setdefault(question.asker, []).append(question.key)
    known = [one for asker, theirs in keys.items() for one in _by_keys(connection, asker, theirs)]
    return {(one.asker, one.key or ""): one for one in known}


def _by_keys(connection: Connection, asker: str, keys: list[str]) -> list[Question]:
    return steps.questions_of(connection, _BY_KEYS.run(connection, {"its_asker": asker, "keys": keys}))


def _joinable(connection: Connection, question: Question) -> Question | None:
    """Open, or over for a moment only and not yet heard of; what the asker itself took back is not asked for again."""
    table = questions.c
    waiting = table.status == str(QuestionStatus.OPEN)
    fresh = and_(
        table.status.in_([str(status) for status in _JOINED_ENDS]),
        table.kind != str(QuestionKind.APPROVE),  # a yes from before is no yes to doing it again
        table.collected_at.is_(None),
        table.ended_at > question.created_at_us - _JOIN_ENDED_US,
    )
    equal = (table.asker == question.asker, table.revision_hash == question.fingerprint)
    return steps.one(
        connection, select(questions).where(*equal, or_(waiting, fresh)).order_by(table.id.desc()).limit(1)
    )


def _verdict_before(connection: Connection, attempt: Attempt) -> Verdict | None:
    same = {"its_channel": attempt.channel, "its_event": attempt.provider_event_id}
    row = _HEARD_BEFORE.run(connection, same).first()
    return read_verdict(row) if row else None


# ---- for those who hold a connection already ----


class Story(NamedTuple):
    question: Question
    presentations: Sequence[Presentation]
    attempts: Sequence[KeptAttempt]


def story(connection: Connection, question_id: str) -> Story | None:
    question = steps.by_id(connection, question_id)
    if question is None:
        return None
    attempts, cards = question_attempts.c, presentations.c
    tried = select(question_attempts).where(attempts.question_id == question_id).order_by(attempts.id)
    placed = select(presentations).where(cards.question_id == question_id).order_by(cards.id)
    return Story(
        question, found_presentations(connection, placed), [read_attempt(row) for row in connection.execute(tried)]
    )


# ---- how many wait for a person, and whether anything has changed ----


class QuestionFigures:
    def __init__(self, database: Database) -> None:
        self._database = database

    async def waiting_for(self, person_id: str, besides: SubjectKind | None = None) -> int:
        """How many open questions ask this person, without those about one kind of thing."""
        return await self._database.read(lambda connection: waiting_for(connection, person_id, besides))

    async def pulse(self) -> tuple[int, ...]:
        """The moment of the newest change of any question or card, then how far each has come."""
        return await self._database.read(_pulse)


def besides_for(who: Principal) -> SubjectKind | None:
    """To the owner a message that waits stands among the approvals, and not as the question about it as well."""
    return SubjectKind.APPROVAL if who.is_owner else None


def waiting_for(connection: Connection, person_id: str, besides: SubjectKind | None = None) -> int:
    """Of what is open, whom it asks: of what the person was ever asked there is more with every year."""
    people = question_people.c
    theirs = looked_up(people.question_id == questions.c.id, people.person_id == person_id)
    many = select(func.count()).select_from(questions).where(_IS_OPEN, theirs)
    if besides is not None:
        many = many.where(questions.c.subject_kind.is_distinct_from(str(besides)))
    return int(connection.execute(many).scalar_one())


def _pulse(connection: Connection) -> tuple[int, ...]:
    """Asked every second while a page is open: of the cards only those of open questions are looked at."""
    events, cards = question_events.c, presentations.c
    newest = connection.execute(select(events.position, events.at).order_by(events.position.desc()).limit(1)).first()
    of_open = cards.question_id.in_(select(questions.c.id).where(_IS_OPEN))
    moved_at, many = connection.execute(select(func.max(cards.updated_at), func.count()).where(of_open)).one()
    position, at = (newest.position, newest.at) if newest else (0, 0)
    return (max(at, moved_at or 0), position, moved_at or 0, many)


# ---- erasing what people wrote about questions that are long over; who, when and how it ended stays for longer ----


def old_words(ended_before_us: int) -> ColumnElement[bool]:
    return and_(questions.c.ended_at < ended_before_us, questions.c.erased_at.is_(None))


def old_questions(ended_before_us: int) -> ColumnElement[bool]:
    """Those that may go altogether; their keys may be used again then."""
    return and_(questions.c.ended_at < ended_before_us, questions.c.erased_at.is_not(None))


def erase_old(connection: Connection, *, ended_before_us: int, now_us: int, limit: int) -> int:
    """The texts of questions that ended before then; how many there were."""
    old = select(questions.c.id).where(old_words(ended_before_us)).limit(limit)
    return _erase(connection, _locked(connection, old), now_us)


def erase_asked(connection: Connection, person_id: str, now_us: int) -> int:
    """The same for every question that is over and asked this person, however short ago."""
    table, person = questions.c, question_people.c
    asked = exists().where(person.question_id == table.id, person.person_id == person_id)
    over = select(table.id).where(table.ended_at.is_not(None), table.erased_at.is_(None), asked)
    return _erase(connection, _locked(connection, over), now_us)


def _locked(connection: Connection, wanted: Select[Any]) -> Sequence[str]:
    return connection.execute(wanted.with_for_update(of=questions, skip_locked=True)).scalars().all()


def _erase(connection: Connection, ids: Sequence[str], now_us: int) -> int:
    cards = select(presentations.c.id).where(presentations.c.question_id.in_(ids))
    connection.execute(update(questions).where(questions.c.id.in_(ids)).values(**_WORDS, erased_at=now_us))
    mine = question_attempts.c.question_id.in_(ids)
    connection.execute(update(question_attempts).where(mine).values(said=None))
    for table in (presentation_tokens, presentation_parts):
        connection.execute(delete(table).where(table.c.presentation_id.in_(cards)))
    return len(ids)
