"""Whether a signed-in person could answer a question now: the judge's own word on a try that is not made."""

from __future__ import annotations

from postroom.domain.answer_attempt import Attempt, Said, VerdictKind
from postroom.domain.assurance import Assurance
from postroom.domain.person_id_of import person_id_of
from postroom.domain.principal import Principal, Role
from postroom.domain.question import Question
from postroom.work.questions.judge import CONSOLE, judge


def may_answer(who: Principal, question: Question, now_us: int) -> bool:
    """In the console; declining is open to all who may answer, so it stands for any answer."""
    person_id, is_operator = person_id_of(who), who.role is Role.OPERATOR
    attempt = Attempt(
        id="",
        question_id=question.id,
        channel=CONSOLE,
        provider_event_id="",
        said=Said(declined=True),
        heard_at_us=now_us,
        person_id=person_id,
        assurance=Assurance.SIGNED_IN if person_id else Assurance.NONE,
        actor=None if is_operator else str(who),
        operator=is_operator,
    )
    heard = judge(question, attempt, now_us).kind
    return heard is VerdictKind.ACCEPTED or (heard is VerdictKind.INVALID and not question.wording.may_decline)
