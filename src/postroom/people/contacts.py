"""The contacts of a book, as acts: find whom a name means, confirm it, keep, import and forget them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal

from pydantic import AfterValidator, BeforeValidator, Field

from postroom.kernel.acts.declaration import Answer, Call, Complain, HttpRoute, Shape, act, said
from postroom.kernel.values.errors import Code, Refused
from postroom.kernel.values.principal import EVERYONE, checked_address
from postroom.people.acts import ForgottenAnswer, Limit, Moment, Name, PeopleAct
from postroom.people.import_cards import CardFormat, cards_in
from postroom.people.model import ConfirmSource, DecisionMode, InputMode, MatchType, NewPerson, Person, first_on
from postroom.people.person_rules import EMAIL, TELEGRAM, new_contact, rewritten

if TYPE_CHECKING:
    from postroom.people.desk import PeopleDesk

    Desk = Call[PeopleDesk]

_TAG: Final = "contacts"
_WHOSE: Final = ("owner_agent",)
MOST_CHARACTERS: Final = 250_000
RowId = Annotated[str, Field(max_length=36, pattern="^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$")]
Agent = Annotated[str, Field(min_length=3, max_length=255, examples=["agent://household/owner"])]


# -- Answers --


def _first_on(channel: str) -> BeforeValidator:
    return BeforeValidator(lambda given: first_on(given, channel) if isinstance(given, tuple) else given)


Score = Annotated[float, AfterValidator(lambda score: round(score, 4))]


class CandidateBody(Shape):
    agent_address: str
    display_name: str
    alias: str
    match_type: MatchType
    score: Score
    hint: str
    why: str
    resolution_token: str | None = None


class ResolutionBody(Shape):
    """What became of a name."""

    resolved: bool
    matched_alias: str | None
    match_type: MatchType | None
    agent_address: str | None
    score: Score | None
    query_normalized: str = Field(validation_alias="query")
    why: str
    candidates: list[CandidateBody]
    resolution_token: str | None = Field(description="Give it back with confirm_send once the person has agreed.")
    expires_at: str | None

    @property
    def chosen(self) -> CandidateBody | None:
        return self.candidates[0] if self.resolved else None


class ResolveAnswer(ResolutionBody):
    ok: bool = True
    decision_mode: DecisionMode


class MemoryBody(Shape):
    memory_id: str = Field(validation_alias="id")
    query: str
    agent_address: str
    alias: str
    source: str
    confirm_count: int
    confirmed_at: Moment = Field(validation_alias="confirmed_at_us")


class ConfirmAnswer(MemoryBody):
    ok: bool = True
    match_type: Literal["memory"] = "memory"


class MemoryPage(Shape):
    ok: bool = True
    memory: list[MemoryBody]
    next_cursor: str | None


class ContactBody(Shape):  # a person, as far as the specification knows one
    contact_id: str = Field(validation_alias="id")
    name: str
    aliases: list[str]
    agent_address: str
    telegram_chat_id: Annotated[str | None, _first_on(TELEGRAM)] = Field(validation_alias="addresses")
    email: Annotated[str | None, _first_on(EMAIL)] = Field(validation_alias="addresses")
    trusted: bool
    source: str
    created_at: Moment = Field(validation_alias="created_at_us")
    updated_at: Moment = Field(validation_alias="updated_at_us")


class ContactAnswer(Shape):
    ok: bool = True
    contact: ContactBody


class ContactPage(Shape):
    ok: bool = True
    contacts: list[ContactBody]
    next_cursor: str | None


class SkippedCard(Shape):
    card: int
    reason: str


class ImportAnswer(Shape):
    ok: bool = True
    created: int
    updated: int
    skipped: list[SkippedCard]


# -- Whom a name means --


@act(by=EVERYONE, route=HttpRoute("POST /contacts/resolve", _TAG))
class ResolveContact(PeopleAct[ResolveAnswer]):
    """Find out whom a name means, without sending anything"""

    owner_agent: Agent = said("Whose book.", ...)
    query: Name = said("The name, as it was said or written.", ...)
    limit: Annotated[int, Field(ge=1, le=20)] = said("How many candidates.", 5)
    input_mode: InputMode = said("How the name came; what was heard is likened more freely.", InputMode.TEXT)
    locale: Annotated[str, Field(max_length=35)] | None = said("Changes nothing.")

    async def do(self, call: Desk) -> ResolveAnswer:
        book = call.work.book(call.caller, self.owner_agent)
        found = await call.work.resolver.resolve(book, self.query, input_mode=self.input_mode, limit=self.limit)
        return ResolveAnswer.model_validate(found)


@act(by=EVERYONE, route=HttpRoute("POST /contacts/confirm", _TAG))
class ConfirmContact(PeopleAct[ConfirmAnswer]):
    """Remember whom a person meant by a name"""

    owner_agent: Agent = said("Whose book.", ...)
    query: Name = said("The name, as it was said or written.", ...)
    agent_address: Agent | None = said("Who was meant, where no token was offered.")
    resolution_token: Annotated[str, Field(min_length=8, max_length=128)] | None = said("As it was offered.")
    choice: Agent | None = said("Who was meant, of several.")
    source: ConfirmSource = said("By what the person confirmed it.", ConfirmSource.USER_CHOICE)

    def check(self, complain: Complain) -> None:
        if self.resolution_token is None and self.choice is None and self.agent_address is None:
            error = "give the resolution_token you were offered, or an agent_address"
            complain("resolution_token", error, "required")

    async def do(self, call: Desk) -> ConfirmAnswer:
        chosen = self.choice or self.agent_address
        memory = await call.work.resolver.confirm(
            call.work.book(call.caller, self.owner_agent),
            self.query,
            token=self.resolution_token,
            address=checked_address(chosen, "agent_address") if chosen is not None else None,
            source=self.source,
            by_person=call.caller.is_person,
        )
        return ConfirmAnswer.model_validate(memory)


class _InBook(PeopleAct[Answer]):
    owner_agent: Annotated[str, Field(max_length=255)] | None = said("Whose book; the caller's own by default.")


class _Listing(_InBook[Answer]):
    cursor: RowId | None = said("`next_cursor` of the page before.")
    limit: Limit = said("How many.", 50)


@act(by=EVERYONE, route=HttpRoute("GET /contacts/memory", _TAG))
class ListContactMemory(_Listing[MemoryPage]):
    """What was confirmed so far"""

    async def do(self, call: Desk) -> MemoryPage:
        book = call.work.book(call.caller, self.owner_agent)
        found = await call.work.resolver.memories.listed(book, after=self.cursor, limit=self.limit + 1)
        shown = [MemoryBody.model_validate(one) for one in found[: self.limit]]
        return MemoryPage(memory=shown, next_cursor=shown[-1].memory_id if len(found) > self.limit else None)


@act(by=EVERYONE, route=HttpRoute("DELETE /contacts/memory/{memory_id}", _TAG))
class ForgetContactMemory(_InBook[ForgottenAnswer]):
    """Forget one confirmed choice"""

    memory_id: RowId = said("Of the choice.", ...)

    async def do(self, call: Desk) -> ForgottenAnswer:
        if not await call.work.resolver.memories.forget(call.work.book(call.caller, self.owner_agent), self.memory_id):
            raise Refused(Code.NOT_FOUND, "nothing is remembered under this id")
        return ForgottenAnswer()


# -- The contacts of a book --


class _ContactFields(_InBook[Answer]):
    name: Name = said("As people say it.", ...)
    aliases: Annotated[list[Name], Field(max_length=50)] = said("Other names.", ())
    agent: Agent | None = said("An address of their own.")
    telegram_chat_id: Annotated[str, Field(max_length=64)] | None = said("A number or an @username.")
    email: Annotated[str, Field(max_length=320)] | None = said("An e-mail address.")
    trusted: bool = said("Messages to this person need no approval.", False)

    def new(self, own_id: str | None = None) -> NewPerson:
        return new_contact(
            name=self.name,
            aliases=self.aliases,
            agent=self.agent,
            telegram_chat_id=self.telegram_chat_id,
            email=self.email,
            trusted=self.trusted,
            own_id=own_id,
        )


class _OfContact(_InBook[Answer]):
    contact_id: RowId = said("The contact's id.", ...)


@act(by=EVERYONE, route=HttpRoute("GET /contacts", _TAG))
class ListContacts(_Listing[ContactPage]):
    """The contacts of a book"""

    async def do(self, call: Desk) -> ContactPage:
        book = call.work.own_book(call.caller, self.owner_agent)
        found = await call.work.people.store.page(book, after=self.cursor, limit=self.limit + 1, only_contacts=True)
        shown = [ContactBody.model_validate(one) for one in found[: self.limit]]
        return ContactPage(contacts=shown, next_cursor=shown[-1].contact_id if len(found) > self.limit else None)


@act(by=EVERYONE, route=HttpRoute("POST /contacts", _TAG, status=201, in_query=_WHOSE))
class CreateContact(_ContactFields[ContactAnswer]):
    """Add a contact"""

    async def do(self, call: Desk) -> ContactAnswer:
        book, now_us = call.work.own_book(call.caller, self.owner_agent), call.work.people.clock.now_us()
        made = await call.work.people.store.create(
            book, self.new(), source="api", now_us=now_us, reserved_id=call.reserved_id
        )
        return _answer(made)


@act(by=EVERYONE, route=HttpRoute("GET /contacts/{contact_id}", _TAG))
class GetContact(_OfContact[ContactAnswer]):
    """One contact"""

    async def do(self, call: Desk) -> ContactAnswer:
        book = call.work.own_book(call.caller, self.owner_agent)
        return _answer(_contact(await call.work.people.store.get(book, self.contact_id)))


@act(by=EVERYONE, route=HttpRoute("PUT /contacts/{contact_id}", _TAG, in_query=_WHOSE))
class ReplaceContact(_ContactFields[ContactAnswer]):
    """Write a contact anew"""

    contact_id: RowId = said("The contact's id.", ...)

    async def do(self, call: Desk) -> ContactAnswer:
        new = self.new(self.contact_id)
        return await _changed(call, self, lambda known: rewritten(_contact(known), new))


@act(by=EVERYONE, route=HttpRoute("DELETE /contacts/{contact_id}", _TAG))
class DeleteContact(_OfContact[ForgottenAnswer]):
    """Remove a contact, and what was remembered of it"""

    async def do(self, call: Desk) -> ForgottenAnswer:
        book = call.work.own_book(call.caller, self.owner_agent)
        _contact(await call.work.people.store.get(book, self.contact_id))
        if not await call.work.people.store.delete(book, self.contact_id, now_us=call.work.people.clock.now_us()):
            raise _missing()
        return ForgottenAnswer()


@act(by=EVERYONE, route=HttpRoute("POST /contacts/{contact_id}/aliases", _TAG, in_query=_WHOSE))
class AddAlias(_OfContact[ContactAnswer]):
    """Give a contact another name"""

    alias: Name = said("The name.", ...)

    async def do(self, call: Desk) -> ContactAnswer:
        return await _changed(call, self, lambda contact: _renamed(contact, [*contact.aliases, self.alias]))


@act(by=EVERYONE, route=HttpRoute("DELETE /contacts/{contact_id}/aliases", _TAG))
class RemoveAlias(_OfContact[ContactAnswer]):
    """Take a name from a contact"""

    alias: Name = said("The name.", ...)

    async def do(self, call: Desk) -> ContactAnswer:
        def unnamed(contact: Person) -> NewPerson:
            if self.alias not in contact.aliases:
                raise Refused(Code.NOT_FOUND, "the contact has no such alias")
            return _renamed(contact, [one for one in contact.aliases if one != self.alias])

        return await _changed(call, self, unnamed)


@act(by=EVERYONE, route=HttpRoute("POST /contacts/import", _TAG, in_query=_WHOSE))
class ImportContacts(_InBook[ImportAnswer]):
    """Add contacts from a vCard or CSV file"""

    format: CardFormat = said("What the file is.", ...)
    content: Annotated[str, Field(min_length=1, max_length=MOST_CHARACTERS)] = said("What is in it.", ...)

    async def do(self, call: Desk) -> ImportAnswer:
        book, cards = call.work.own_book(call.caller, self.owner_agent), cards_in(self.content, self.format)
        created, updated = await call.work.people.store.merge(
            book, cards.read, source="import", now_us=call.work.people.clock.now_us()
        )
        skipped = [SkippedCard(card=number, reason=reason) for number, reason in cards.skipped]
        return ImportAnswer(created=created, updated=updated, skipped=skipped)


async def _changed(
    call: Desk, one: _OfContact[Any] | ReplaceContact, edit: Callable[[Person], NewPerson]
) -> ContactAnswer:
    book, now_us = call.work.own_book(call.caller, one.owner_agent), call.work.people.clock.now_us()
    return _answer(await call.work.people.store.change(book, one.contact_id, edit, now_us=now_us))


def _renamed(contact: Person, aliases: Sequence[str]) -> NewPerson:
    checked = new_contact(name=contact.name, aliases=aliases)
    return replace(_contact(contact).as_written, name=checked.name, aliases=checked.aliases)


def _contact(person: Person | None) -> Person:
    """The owner, and those who only sign in, are in the same book and are nobody's contacts."""
    if person is None or not person.is_in_contact_book:
        raise _missing()
    return person


def _answer(contact: Person | None) -> ContactAnswer:
    if contact is None:
        raise _missing()
    return ContactAnswer(contact=ContactBody.model_validate(contact))


def _missing() -> Refused:
    return Refused(Code.CONTACT_NOT_FOUND, "there is no such contact in this book")


CONTACT_ACTS: Final = (
    ResolveContact,
    ConfirmContact,
    ListContactMemory,
    ForgetContactMemory,
    ListContacts,
    CreateContact,
    GetContact,
    ReplaceContact,
    DeleteContact,
    AddAlias,
    RemoveAlias,
    ImportContacts,
)
"""In the order of the routes: the path of one contact would swallow `/contacts/memory`."""
