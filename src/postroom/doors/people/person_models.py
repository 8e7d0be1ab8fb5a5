"""Bodies of requests and answers about people."""

from __future__ import annotations

from typing import Annotated, Any, Final, Literal

from pydantic import BaseModel, Field, SerializerFunctionWrapHandler, model_serializer

from postroom.domain.closed_address import ClosedAddress
from postroom.domain.person import MAX_ADDRESSES, Person, PersonAddress
from postroom.domain.person_draft import DraftAddress, PersonDraft
from postroom.domain.person_history import HistoryLine, LineKind, PersonHistory, WordsKept
from postroom.domain.time import to_text
from postroom.doors.guard.json_body import Strict, Text
from postroom.doors.people.models import Name

RoleName = Literal["owner", "approver", "member", "contact"]
Names = Annotated[list[Name], Field(max_length=50)]
Short = Annotated[Text, Field(max_length=64)]
_EXCERPT: Final = 160


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


class HistoryBody(BaseModel):
    kind: LineKind = Field(description="`message`: the person wrote it. `delivery`: it was sent to them.")
    direction: Literal["in", "out"]
    id: str = Field(description="Of the message, the delivery or the question; `postroom why ID` explains it.")
    delivery_id: str | None
    question_id: str | None
    channel: str | None
    address: str | None
    status: str
    origin_butler: str | None = Field(description="Who said it, asked it or was given it.")
    subject: str | None
    excerpt: str
    words: WordsKept = Field(description="`not_kept`: no butler was given them.")
    reason: str = Field(description="Why a message went where it went, or how a question ended.")
    answer: str
    answered_by: str
    session_id: str | None
    replies: list[str] = Field(description="The deliveries that answered a message.")
    at: str

    @classmethod
    def of(cls, one: HistoryLine) -> HistoryBody:
        return cls(
            kind=one.kind,
            direction="in" if one.is_from_person else "out",
            id=one.id,
            delivery_id=one.id if one.kind is LineKind.DELIVERY else None,
            question_id=one.id if one.kind is LineKind.QUESTION else None,
            channel=one.channel,
            address=one.address,
            status=one.status,
            origin_butler=one.butler,
            subject=one.subject,
            excerpt=one.words[:_EXCERPT],
            words=one.words_kept,
            reason=one.reason,
            answer=one.answer,
            answered_by=one.answered_by,
            session_id=one.session_id,
            replies=list(one.replies),
            at=to_text(one.at_us),
        )


class HistoryPage(BaseModel):
    ok: bool
    history: list[HistoryBody]
    next_cursor: str | None = Field(description="A page may be short, or empty, and still have one.")

    @classmethod
    def of(cls, found: PersonHistory) -> HistoryPage:
        return cls(ok=True, history=[HistoryBody.of(one) for one in found.lines], next_cursor=found.before)
