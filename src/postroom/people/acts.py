"""The household's people over HTTP: for the owner all of them, for another person their own record."""

from __future__ import annotations

from typing import Annotated, Any, Final, Literal

from fastapi import APIRouter, Depends, Path, Query
from pydantic import BaseModel, Field, SerializerFunctionWrapHandler, model_serializer

from postroom.kernel.guard.http import Caller, IdempotencyKey, ReservedId, allowing
from postroom.kernel.serving.json_door import Done, JsonRoute, Strict, Text, failures
from postroom.kernel.values.errors import Code, FieldError, Refused
from postroom.kernel.values.ids import to_text
from postroom.kernel.values.principal import Principal, Role
from postroom.message.delivery import ClosedAddress
from postroom.people.model import (
    MAX_ADDRESSES,
    DraftAddress,
    Person,
    PersonAddress,
    PersonDraft,
    PersonRole,
)
from postroom.people.pairing import Pairing, StartedPairing
from postroom.people.people import People

REFUSALS: Final = failures(400, 401, 403, 404, 409, 413, 422, 503)
_OWN_FIELDS: Final = frozenset({"zone", "language", "default_butler"})  # what persons may change of themselves
Name = Annotated[Text, Field(min_length=1, max_length=255)]
Limit = Annotated[int, Query(ge=1, le=200)]
PersonId = Annotated[str, Path(min_length=1, max_length=128, description="`owner` is the owner.")]
Cursor = Annotated[Text | None, Query(max_length=128, description="`next_cursor` of the page before.")]
Begins = Annotated[str | None, Query(max_length=255, description="A name or an alias, or how it begins.")]
RoleName = Literal["owner", "approver", "member", "contact"]
Names = Annotated[list[Name], Field(max_length=50)]
Short = Annotated[Text, Field(max_length=64)]


class PlaceRequest(Strict):
    channel: Annotated[Text, Field(min_length=1, max_length=64)]
    address: Annotated[Text, Field(min_length=1, max_length=512)]


class AddressRequest(PlaceRequest):
    rank: Annotated[int | None, Field(description="1 is tried first; 50 at most. Without: the place in the list.")] = (
        None
    )
    label: Short = ""

    def draft(self) -> DraftAddress:
        return DraftAddress(channel=self.channel, address=self.address, rank=self.rank, label=self.label)


Addresses = Annotated[list[AddressRequest], Field(max_length=MAX_ADDRESSES)]


class _PersonFields(Strict):
    aliases: Names = Field(default_factory=list)
    role: RoleName = "contact"
    trusted: bool = False
    zone: Annotated[Short | None, Field(description="An IANA name, such as Europe/Berlin.")] = None
    language: Annotated[Short | None, Field(description="A language tag, such as pt-BR.")] = None
    default_butler: Annotated[Short | None, Field(description="Answers what they write to no butler by name.")] = None
    addresses: Addresses = Field(default_factory=list)

    def given(self) -> dict[str, Any]:
        """The fields of a draft that the caller wrote."""
        found = {name: getattr(self, name) for name in self.model_fields_set}
        if "aliases" in found:
            found["aliases"] = tuple(self.aliases)
        if "addresses" in found:
            found["addresses"] = tuple(one.draft() for one in self.addresses)
        return found


class PersonRequest(_PersonFields):
    name: Name

    def draft(self) -> PersonDraft:
        return PersonDraft(**self.given())


class PersonChange(_PersonFields):
    """Only what is given changes; a list is replaced as a whole."""

    name: Name = ""
    reopen: Annotated[list[PlaceRequest], Field(max_length=MAX_ADDRESSES)] = Field(
        default_factory=list, description="Addresses of this person that are to be written to again."
    )

    def given(self) -> dict[str, Any]:
        found = super().given()
        if "reopen" in found:
            found["reopen"] = tuple((one.channel, one.address) for one in self.reopen)
        return found


class ClosedBody(BaseModel):
    reason: Literal["bounced", "doubtful"]
    words: str
    delivery_id: str
    at: str

    @classmethod
    def of(cls, one: ClosedAddress) -> ClosedBody:
        return cls(reason=one.reason.value, words=one.words, delivery_id=one.delivery_id, at=to_text(one.at_us))


class AddressBody(BaseModel):
    channel: str
    address: str
    rank: int
    label: str
    verified_at: str | None
    closed: ClosedBody | None = Field(default=None, description="Only while nothing is sent there, and why.")
    doubtful: ClosedBody | None = Field(
        default=None, description="Only when mail came back from an address its owner had proved; it is written to."
    )

    @model_serializer(mode="wrap")
    def _without_what_is_not(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        told: dict[str, Any] = handler(self)
        return {name: value for name, value in told.items() if value or name not in ("closed", "doubtful")}

    @classmethod
    def of(cls, one: PersonAddress) -> AddressBody:
        return cls(
            channel=one.channel,
            address=one.address,
            rank=one.rank,
            label=one.label,
            verified_at=None if one.verified_at_us is None else to_text(one.verified_at_us),
            closed=ClosedBody.of(one.closed) if one.closed else None,
            doubtful=ClosedBody.of(one.doubtful) if one.doubtful else None,
        )


class PersonBody(BaseModel):
    person_id: str
    name: str
    aliases: list[str]
    role: RoleName
    trusted: bool
    zone: str | None
    language: str | None
    default_butler: str | None
    addresses: list[AddressBody]
    agent_address: str
    source: str
    created_at: str
    updated_at: str

    @classmethod
    def of(cls, person: Person) -> PersonBody:
        return cls(
            person_id=person.id,
            name=person.name,
            aliases=list(person.aliases),
            role=person.role.value,
            trusted=person.trusted,
            zone=person.zone,
            language=person.language,
            default_butler=person.default_butler,
            addresses=[AddressBody.of(one) for one in person.addresses],
            agent_address=person.agent_address,
            source=person.source,
            created_at=to_text(person.created_at_us),
            updated_at=to_text(person.updated_at_us),
        )


class PersonAnswer(BaseModel):
    ok: bool
    person: PersonBody


class PeoplePage(BaseModel):
    ok: bool
    people: list[PersonBody]
    next_cursor: str | None


def check_own(caller: Principal, person_id: str) -> None:
    if not caller.is_owner and not (caller.role is Role.PERSON and caller.name == person_id):
        raise Refused(Code.POLICY_DENIED, f"{caller} may not do this")


def _is_owner(caller: Principal) -> bool:
    return caller.is_owner


ByOwner = [Depends(allowing(_is_owner))]  # a model never lists people


def people_router(people: People, history: APIRouter) -> APIRouter:
    """`history` holds the routes of what was said with a person; readers of the description find them second."""
    router = APIRouter(route_class=JsonRoute, tags=["people"], responses=REFUSALS)
    _add_listing(router, people)
    router.routes.extend(history.routes)
    _add_writing(router, people)
    _add_own(router, people)
    return router


def _add_listing(router: APIRouter, people: People) -> None:
    @router.get("/v1/people", operation_id="listPeople", summary="Everybody the household knows", dependencies=ByOwner)
    async def listed(
        q: Begins = None, role: RoleName | None = None, cursor: Cursor = None, limit: Limit = 50
    ) -> PeoplePage:
        wanted = PersonRole(role) if role else None
        found = await people.store.page(people.book, begins=q, role=wanted, after=cursor, limit=limit + 1)
        shown = [PersonBody.of(one) for one in found[:limit]]
        return PeoplePage(ok=True, people=shown, next_cursor=shown[-1].person_id if len(found) > limit else None)


def _add_writing(router: APIRouter, people: People) -> None:
    @router.post(
        "/v1/people",
        operation_id="createPerson",
        summary="Write a person down",
        status_code=201,
        dependencies=ByOwner,
    )
    async def create(body: PersonRequest, reserved_id: ReservedId) -> PersonAnswer:
        made = await people.create(body.draft(), source="api", reserved_id=reserved_id)
        return PersonAnswer(ok=True, person=PersonBody.of(made))

    @router.delete(
        "/v1/people/{person_id}",
        operation_id="deletePerson",
        summary="Remove a person, and what was remembered of them",
        dependencies=ByOwner,
    )
    async def delete(person_id: PersonId) -> Done:
        await people.delete(person_id)
        return Done(ok=True)


def _add_own(router: APIRouter, people: People) -> None:
    @router.get("/v1/people/{person_id}", operation_id="getPerson", summary="One person; a person may read themselves")
    async def get(person_id: PersonId, caller: Caller) -> PersonAnswer:
        check_own(caller, person_id)
        return PersonAnswer(ok=True, person=PersonBody.of(await people.get(person_id)))

    @router.patch(
        "/v1/people/{person_id}",
        operation_id="changePerson",
        summary="Change what is given; a person may change their own zone and language",
    )
    async def change(person_id: PersonId, body: PersonChange, caller: Caller) -> PersonAnswer:
        check_own(caller, person_id)
        given = body.given()
        if not caller.is_owner and (others := sorted(given.keys() - _OWN_FIELDS)):
            fields = [FieldError(name, "is for the owner to change", "policy_denied") for name in others]
            raise Refused.of(Code.POLICY_DENIED, fields)
        return PersonAnswer(ok=True, person=PersonBody.of(await people.change(person_id, **given)))


# Start a pairing: the owner for any person, a person for themselves; a model never.


class PairRequest(Strict):
    channel: Annotated[Text, Field(min_length=1, max_length=64, description="Where the address is to be proved.")]


class PairAnswer(BaseModel):
    ok: bool
    code: str | None = Field(description="For the person to send to the bot, once; null where a link was sent.")
    link_sent: bool
    sent_to: str | None = Field(description="Where the link went.")
    expires_at: str

    @classmethod
    def of(cls, started: StartedPairing) -> PairAnswer:
        return cls(
            ok=True,
            code=started.code,
            link_sent=started.code is None,
            sent_to=started.sent_to,
            expires_at=to_text(started.expires_at_us),
        )


def pairing_router(pairing: Pairing) -> APIRouter:
    router = APIRouter(route_class=JsonRoute, tags=["people"], responses=REFUSALS)

    @router.post(
        "/v1/people/{person_id}/pair",
        operation_id="pairPerson",
        summary="Start the proof that an address is a person's: a code for them to send, or a link sent to them",
        status_code=201,
    )
    async def pair(person_id: PersonId, body: PairRequest, caller: Caller, key: IdempotencyKey) -> PairAnswer:
        check_own(caller, person_id)
        own_key = None if key is None else f"{caller}\x1f{key}"
        return PairAnswer.of(await pairing.start(person_id, body.channel, key=own_key))

    return router
