"""Whom a call of `ask` means by its names: people of the household, found once and fixed."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from typing import Final

from postroom.kernel.values.errors import FieldError, InternalError, ValidationError
from postroom.kernel.values.fields import nearest
from postroom.kernel.values.principal import HOUSEHOLD_OWNER, OWNER, Principal, Role
from postroom.people.model import Person, PersonRole, has_proved
from postroom.people.people import HouseholdPeople
from postroom.people.store.people import StoredPeople
from postroom.questions.model import AskedPerson, Presentation, PresentationStatus, Preview, Question, was_seen
from postroom.questions.rules.form import form_fields
from postroom.questions.rules.words import is_hidden
from postroom.questions.shapes import QuestionView

_MOST_LISTED: Final = 5
_NAMED_AT_A_TIME: Final = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class AskedPeople:
    """Who is who in the household. Only who has proved an address is found by it: answers from there decide."""

    book: StoredPeople
    household: HouseholdPeople | None = None  # knows the owner, whom most questions ask, without a look each time

    async def find(self, who: str) -> Sequence[Person]:
        """By id, exact name or alias; `owner` means the owner and no other."""
        return await self.book.find(HOUSEHOLD_OWNER, who)

    async def at(self, channel: str, address: str) -> Person | None:
        found = await self.book.at(HOUSEHOLD_OWNER, channel, address)
        return next((person for person in found if has_proved(person, channel, address)), None)

    async def owner(self) -> Person:
        owner = await self.household.owner_person() if self.household else next(iter(await self.find(OWNER)), None)
        if owner is None:
            raise InternalError("the household has no owner")
        return owner

    async def names(self) -> Sequence[str]:
        """For telling who may have been meant."""
        page = await self.book.page(HOUSEHOLD_OWNER, after=None, limit=_NAMED_AT_A_TIME)
        return [name for person in page for name in (person.name, *person.aliases)]


async def asked_people(
    people: AskedPeople, asker: Principal, names: Sequence[str], field: str
) -> tuple[AskedPerson, ...]:
    """Raises ValidationError on the field for a name that is no one's, or several people's."""
    return tuple(asked(person) for person in await found_people(people, asker, names, field))


async def found_people(people: AskedPeople, asker: Principal, names: Sequence[str], field: str) -> tuple[Person, ...]:
    """The same, with what is known of them."""
    found = [await _one(people, asker, name, field) for name in names]
    return tuple({person.id: person for person in found}.values())


async def _one(people: AskedPeople, asker: Principal, name: str, field: str) -> Person:
    found = await in_reach(asker, await people.find(name), people.find)
    if len(found) == 1:
        return found[0]
    if found:
        raise _wrong(field, several(name, found), "ambiguous_person")
    near = nearest(name, await people.names()) if asker.serves == OWNER else None
    hint = f"; did you mean “{near}”?" if near else ""
    raise _wrong(field, f"no person is called “{name}”{hint}", "unknown_person")


def _wrong(field: str, error: str, code: str) -> ValidationError:
    return ValidationError.of([FieldError(field, error, code)])


async def in_reach(
    asker: Principal, found: Sequence[Person], find: Callable[[str], Awaitable[Sequence[Person]]]
) -> list[Person]:
    """
    Those of them whom the asker may write to; to it the others are as unknown as those who are nobody.

    The owner, and all that works for the owner, reach everybody. Whoever else calls reaches the owner and the person it
    works for; one of the household's own people, with a token of their own, also the others of them.
    """
    own = asker.serves
    if own == OWNER:
        return list(found)
    me = await find(own) if asker.role is Role.PERSON and own is not None else ()
    is_of_the_house = any(one.id == own and one.role is not PersonRole.CONTACT for one in me)
    return [one for one in found if one.id in (OWNER, own) or (is_of_the_house and one.role is not PersonRole.CONTACT)]


def asked(person: Person) -> AskedPerson:
    return AskedPerson(id=person.id, name=person.name or person.id)


def several(name: str, found: Sequence[Person]) -> str:
    """Only for who reaches all of them."""
    listed = ", ".join(f"{person.name} ({person.id})" for person in found[:_MOST_LISTED])
    return f"“{name}” is the name of several people: {listed}; name one by id"


# ---- what somebody may read whose messages need an approval: the words that were agreed to, no others ----


@dataclass(frozen=True, slots=True, kw_only=True)
class Strangers:
    """
    Their own token opens no other way to a question than its card, which the approval gate let pass.

    `is_edited`: whether a person changed the words before they agreed to them; the question itself keeps the old ones.
    """

    people: AskedPeople
    is_edited: Callable[[str], Awaitable[bool]]

    async def knows(self, person_id: str) -> bool:
        """Whether this is nobody that the household trusts."""
        found = [one for one in await self.people.find(person_id) if one.id == person_id]
        return not any(one.trusted or one.role is not PersonRole.CONTACT for one in found)

    async def seen(self, person_id: str, view: QuestionView) -> QuestionView | None:
        """As their card shows it; None for what they were not shown."""
        mine = [one for one in view.presentations if one.person_id == person_id]
        if not any(one.revision == view.question.revision and _reached(one) for one in mine):
            return None
        question = await self.on_card(view.question, mine)
        return None if question is None else replace(view, question=question)

    async def on_card(self, question: Question, cards: Sequence[Presentation]) -> Question | None:
        """No more of it than was agreed to; None where that is nothing, or not in these words."""
        if is_hidden(question) or any([await self.is_edited(one.id) for one in cards]):
            return None
        return _on_card(question)


def _on_card(question: Question) -> Question:
    """Of a form the names of its fields; the reason of its end is agreed to by itself."""
    wording, form = question.wording, question.wording.form
    if question.preview is not Preview.FULL:
        wording = replace(wording, context=None)
    if form is not None:
        plain = {one.name: {"type": "string"} for one in form_fields(form)}
        wording = replace(wording, form={"type": "object", "properties": plain})
    return replace(question, wording=wording, reason=None)


def _reached(one: Presentation) -> bool:
    return one.status is PresentationStatus.UNCERTAIN or was_seen(one)
