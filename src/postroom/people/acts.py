"""What callers do about the household's people: for the owner all of them, for another person their own record."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from postroom.conversations.model import HistoryLine, HistoryQuery, LineKind, WordsKept
from postroom.kernel.acts.declaration import Act, Answer, Call, Command, CommandOption, HttpRoute, Shape, act, said
from postroom.kernel.acts.reading import PageCursor
from postroom.kernel.values.errors import Code, FieldError, Mistyped, Refused
from postroom.kernel.values.ids import to_text
from postroom.kernel.values.principal import HOUSEHOLDER, Kind
from postroom.message.delivery import Closing
from postroom.people.model import MAX_ADDRESSES, MAX_NAME_CHARACTERS, NewPerson, PersonAddress, PersonRole

if TYPE_CHECKING:
    from postroom.people.desk import PeopleDesk

    Desk = Call[PeopleDesk]

_TAG: Final = "people"
_OWN_FIELDS: Final = frozenset({"zone", "language", "default_butler"})  # what persons may change of themselves
THEMSELVES: Final = HOUSEHOLDER | {Kind.PERSON}
MOST_LISTED: Final = 200

Name = Annotated[str, Field(min_length=1, max_length=MAX_NAME_CHARACTERS)]
PersonId = Annotated[str, Field(min_length=1, max_length=128)]
Cursor = Annotated[str, Field(max_length=128)]
Limit = Annotated[int, Field(ge=1, le=MOST_LISTED)]
Short = Annotated[str, Field(max_length=64)]
ChannelName = Annotated[str, Field(min_length=1, max_length=64)]
Moment = Annotated[str, BeforeValidator(lambda us: to_text(us) if isinstance(us, int) else us)]


# -- Answers --


def _when_set(words: str) -> Any:
    return Field(default=None, description=words, exclude_if=lambda value: value is None)


class ClosedBody(Shape):
    reason: Closing
    words: str
    delivery_id: str
    at: Moment = Field(validation_alias="at_us")


class AddressBody(Shape):
    channel: str
    address: str
    rank: int
    label: str
    verified_at: Moment | None = Field(validation_alias="verified_at_us")
    closed: ClosedBody | None = _when_set("Only while nothing is sent there, and why.")
    doubtful: ClosedBody | None = _when_set(
        "Only when mail came back from an address its owner had proved; it is written to."
    )


class PersonBody(Shape):
    person_id: str = Field(validation_alias="id")
    name: str
    aliases: list[str]
    role: PersonRole
    trusted: bool
    zone: str | None
    language: str | None
    default_butler: str | None
    addresses: list[AddressBody]
    agent_address: str
    source: str
    created_at: Moment = Field(validation_alias="created_at_us")
    updated_at: Moment = Field(validation_alias="updated_at_us")


class PersonAnswer(Shape):
    ok: bool = True
    person: PersonBody


class PeoplePage(Shape):
    ok: bool = True
    people: list[PersonBody]
    next_cursor: str | None


class ForgottenAnswer(Shape):
    ok: bool = True


class PairAnswer(Shape):
    ok: bool = True
    code: str | None = Field(description="For the person to send to the bot, once; null where a link was sent.")
    link_sent: bool
    sent_to: str | None = Field(description="Where the link went.")
    expires_at: str


# -- What a person is written down with --


class PlaceGiven(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)
    channel: ChannelName
    address: Annotated[str, Field(min_length=1, max_length=512)]


class AddressGiven(PlaceGiven):
    rank: int | None = said("1 is tried first; 50 at most. Without: the place in the list.")
    label: Short = ""

    def at(self, place: int) -> PersonAddress:
        rank = place if self.rank is None else self.rank
        return PersonAddress(channel=self.channel, address=self.address, rank=rank, label=self.label)


def place_typed(text: str, option: str = "--address") -> dict[str, str]:
    channel, colon, address = text.partition(":")
    if not colon or not channel.strip() or not address.strip():
        raise Mistyped(f"{option}: write CHANNEL:ADDRESS, such as email:bob@example.org.")
    return {"channel": channel.strip(), "address": address.strip()}


_ADDRESS: Final = CommandOption(("--address",), place_typed, metavar="CHANNEL:ADDRESS")
_ALIAS: Final = CommandOption(("--alias",), words="Another name.")


class PeopleAct(Act[Answer]):
    malformed = Code.SCHEMA_INVALID


class _PersonFields(PeopleAct[Answer]):
    null_counts = ("name", "aliases", "role", "trusted", *_OWN_FIELDS, "addresses", "reopen")
    aliases: Annotated[list[Name], Field(max_length=50)] = said("Other names.", ())
    role: PersonRole = said("approver, member or contact.", PersonRole.CONTACT)
    trusted: bool = said("Messages to this person need no approval.", False)
    zone: Short | None = said("Time zone, such as Europe/Berlin.")
    language: Short | None = said("Language tag, such as pt-BR.")
    default_butler: Short | None = said("Answers what they write to no butler by name.")
    addresses: Annotated[list[AddressGiven], Field(max_length=MAX_ADDRESSES)] = said(
        "The first one is tried first.", ()
    )

    def written(self, known: NewPerson) -> NewPerson:
        """With what the caller wrote; without a rank, an address has its place in the list."""
        found = {name: getattr(self, name) for name in self.model_fields_set - {"person", "reopen"}}
        if "aliases" in found:
            found["aliases"] = tuple(found["aliases"])
        if "addresses" in found:
            found["addresses"] = tuple(one.at(place) for place, one in enumerate(found["addresses"], 1))
        return replace(known, **found)


# -- All of them, for the owner: a model never lists people --


@act(by=HOUSEHOLDER, route=HttpRoute("GET /v1/people", _TAG))
class ListPeople(PeopleAct[PeoplePage]):
    """Everybody the household knows"""

    q: Annotated[str, Field(max_length=255)] | None = said("A name or an alias, or how it begins.")
    role: PersonRole | None = said("Only these.")
    cursor: Cursor | None = said("`next_cursor` of the page before.")
    limit: Limit = said("How many.", 50)

    async def do(self, call: Desk) -> PeoplePage:
        people = call.work.people
        found = await people.store.page(
            people.book, begins=self.q, role=self.role, after=self.cursor, limit=self.limit + 1
        )
        shown = [PersonBody.model_validate(one) for one in found[: self.limit]]
        return PeoplePage(people=shown, next_cursor=shown[-1].person_id if len(found) > self.limit else None)


@act(
    by=HOUSEHOLDER,
    route=HttpRoute("POST /v1/people", _TAG, status=201),
    command=Command(
        "people add",
        ("name",),
        {"addresses": _ADDRESS, "aliases": _ALIAS},
    ),
)
class CreatePerson(_PersonFields[PersonAnswer]):
    """Write a person down"""

    name: Name = said("As you would say it.", ...)

    async def do(self, call: Desk) -> PersonAnswer:
        source = "api" if call.door == "http" else call.door
        written = self.written(NewPerson(name=self.name))
        made = await call.work.people.create(written, source=source, reserved_id=call.reserved_id)
        return PersonAnswer(person=PersonBody.model_validate(made))


class _OfPerson(PeopleAct[Answer]):
    person: PersonId = said("`owner` is the owner.", ...)


@act(by=HOUSEHOLDER, route=HttpRoute("DELETE /v1/people/{person}", _TAG))
class DeletePerson(_OfPerson[ForgottenAnswer]):
    """Remove a person, and what was remembered of them"""

    async def do(self, call: Desk) -> ForgottenAnswer:
        await call.work.people.delete(self.person)
        return ForgottenAnswer()


# -- One, for the owner and for themselves --

_WHO: Final = CommandOption(words="A name, an alias or an id; `owner` is the owner.", metavar="WHO")
EDIT: Final = Command(
    "people edit",
    ("person",),
    {
        "person": _WHO,
        "aliases": _ALIAS,
        "addresses": _ADDRESS,
        "trusted": CommandOption(("--trusted/--no-trusted",)),
        "reopen": CommandOption(
            reads=partial(place_typed, option="--reopen"),
            words="Write to it again, though mail came back.",
            metavar="CHANNEL:ADDRESS",
        ),
    },
)
PAIR: Final = Command("pair", ("person",), {"person": _WHO, "channel": CommandOption(metavar="NAME")})


@act(by=THEMSELVES, route=HttpRoute("GET /v1/people/{person}", _TAG))
class GetPerson(_OfPerson[PersonAnswer]):
    """One person; a person may read themselves"""

    async def do(self, call: Desk) -> PersonAnswer:
        return PersonAnswer(person=PersonBody.model_validate(await call.work.person(call.caller, self.person)))


@act(
    by=THEMSELVES,
    route=HttpRoute(
        "PATCH /v1/people/{person}",
        _TAG,
        summary="Change what is given; a person may change their own zone and language",
    ),
    command=EDIT,
)
class ChangePerson(_PersonFields[PersonAnswer]):
    """Only what is given changes; a list is replaced as a whole."""

    person: PersonId = said("`owner` is the owner.", ...)
    name: Name = said("A new name.", "")
    reopen: Annotated[list[PlaceGiven], Field(max_length=MAX_ADDRESSES)] = said(
        "Addresses of this person that are to be written to again.", ()
    )

    async def do(self, call: Desk) -> PersonAnswer:
        call.work.check_own(call.caller, self.person)
        if not call.caller.is_owner and (others := sorted(self.model_fields_set - _OWN_FIELDS - {"person"})):
            fields = [FieldError(name, "is for the owner to change", "policy_denied") for name in others]
            raise Refused.of(Code.POLICY_DENIED, fields)
        if self.reopen:
            await call.work.people.reopen(self.person, [(one.channel, one.address) for one in self.reopen])
        changed = await call.work.people.edit(self.person, self.written)
        return PersonAnswer(person=PersonBody.model_validate(changed))


@act(
    by=THEMSELVES,
    route=HttpRoute("POST /v1/people/{person}/pair", _TAG, status=201),
    command=PAIR,
)
class PairPerson(_OfPerson[PairAnswer]):
    """Start the proof that an address is a person's: a code for them to send, or a link sent to them"""

    channel: ChannelName = said("Where the address is to be proved.", ...)

    async def do(self, call: Desk) -> PairAnswer:
        call.work.check_own(call.caller, self.person)
        own_key = None if call.key is None else f"{call.caller}\x1f{call.key}"
        started = await call.work.pairing.start(self.person, self.channel, key=own_key)
        return PairAnswer(
            code=started.code,
            link_sent=started.code is None,
            sent_to=started.sent_to,
            expires_at=to_text(started.expires_at_us),
        )


# -- Everything said with a person: for the owner of everybody, for another person their own --

_EXCERPT: Final = 160


class HistoryBody(Shape):
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


class HistoryPage(Shape):
    ok: bool = True
    history: list[HistoryBody]
    next_cursor: str | None = Field(description="A page may be short, or empty, and still have one.")


HISTORY: Final = Command("people history", ("person",), {"person": _WHO}, without=("cursor", "limit"))


@act(by=THEMSELVES, route=HttpRoute("GET /v1/people/{person}/history", _TAG), command=HISTORY)
class ListSentToPerson(_OfPerson[HistoryPage]):
    """Everything said with a person, both ways, newest first; a person may read their own"""

    cursor: PageCursor | None = said("`next_cursor` of the page before.")
    limit: Limit = said("How many.", 50)
    butler: Short | None = said("Only what this butler said, asked or was given.")
    channel: Short | None = said("Only what was said on this channel.")

    async def do(self, call: Desk) -> HistoryPage:
        person = await call.work.person(call.caller, self.person)
        wanted = HistoryQuery(
            limit=self.limit, before=self.cursor, butler=self.butler or None, channel=self.channel or None
        )
        found = await call.work.histories.of(person, wanted)
        return HistoryPage(history=[HistoryBody.of(one) for one in found.lines], next_cursor=found.before)


ACTS: Final = (ListPeople, CreatePerson, DeletePerson, GetPerson, ChangePerson, PairPerson, ListSentToPerson)
