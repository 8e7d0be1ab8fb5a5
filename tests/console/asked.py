"""Questions put to the people of a household by its butlers, through what every door calls."""

from __future__ import annotations

from typing import Any

from postroom.household.store import connect_store
from postroom.kernel.acts.reading import made
from postroom.kernel.values.principal import Principal, Role
from postroom.people.model import PersonRole
from postroom.questions.acts import AskPeople
from postroom.questions.model import Question
from postroom.questions.questions import Asking
from tests.household.living import Living

HEALTH = Principal(Role.BUTLER, "health")
ANNA = Principal(Role.PERSON, "anna")
BEN = Principal(Role.PERSON, "ben")


def asking(home: Living) -> Asking:
    assert home.household.asking is not None
    return home.household.asking.asking


async def admit(home: Living, *people: Principal) -> None:
    """As the household does with those who hold a token when it starts."""
    store = connect_store(home.settings)
    try:
        await store.people.admit({one.name: PersonRole.MEMBER for one in people}, now_us=1)
    finally:
        await store.database.close()


async def ask(home: Living, question: str, asker: Principal = HEALTH, **more: Any) -> Question:
    request = made(AskPeople, **{"question": question, **more}).request()
    return (await asking(home).ask(asker, request, wait_seconds=0)).question


async def now(home: Living, question: Question, asker: Principal = HEALTH) -> Question:
    """As its asker has it."""
    return (await asking(home).wait(asker, ask_id=question.id, wait_seconds=0)).question
