"""Questions and attempts as tests need them."""

from __future__ import annotations

from typing import Any

from tests.clock import START_US

from postroom.kernel.acts.reading import made
from postroom.kernel.values.ids import IdMint, seconds
from postroom.message.inbound import Assurance
from postroom.questions.acts import AskPeople
from postroom.questions.model import AskedPerson, Attempt, Question, Said
from postroom.questions.rules.plan import opened

MINT = IdMint()
ANNA = AskedPerson(id="anna", name="Anna")
BEN = AskedPerson(id="ben", name="Ben")
CLEO = AskedPerson(id="cleo", name="Cleo")
HOUR_US = seconds(3600)


def new_question(
    *,
    asker: str = "butler:general",
    people: tuple[AskedPerson, ...] = (ANNA, BEN),
    now_us: int = START_US,
    **arguments: Any,
) -> Question:
    """A choice between ship and wait, open for an hour."""
    asked = {"question": "Ship it?", "options": ["ship", "wait"], "deadline_seconds": 3600, **arguments}
    asked = {name: value for name, value in asked.items() if value is not None}
    escalated = (CLEO,) if "escalate_to" in asked else ()
    return opened(
        made(AskPeople, **asked).request(),
        id=MINT.mint(now_us),
        asker=asker,
        people=people,
        escalate_to=escalated,
        now_us=now_us,
    )


def new_attempt(question: Question, said: Said | None = None, **changes: Any) -> Attempt:
    """Anna presses "ship" on the phone, a second after she was asked."""
    fresh = MINT.mint(START_US)
    given: dict[str, Any] = {
        "id": fresh,
        "question_id": question.id,
        "channel": "telegram",
        "provider_event_id": fresh,
        "said": said or Said(value="ship"),
        "heard_at_us": question.created_at_us + seconds(1),
        "person_id": "anna",
        "person_name": "Anna",
        "assurance": Assurance.CHANNEL,
    }
    return Attempt(**{**given, **changes})
