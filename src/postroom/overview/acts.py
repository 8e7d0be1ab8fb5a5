"""What runs and what waits, who did what, and why a message is where it is."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Final, TypeVar

from pydantic import Field

from postroom.kernel.acts.declaration import Act, Call, Command, CommandOption, HttpRoute, Shape, act, said
from postroom.kernel.audit import AuditEntry, AuditKind, AuditQuery
from postroom.kernel.running.clock import Clock
from postroom.kernel.running.process import package_version
from postroom.kernel.values.errors import Code, FieldError, Refused, StoreUnavailable
from postroom.kernel.values.fields import Document
from postroom.kernel.values.ids import to_text
from postroom.kernel.values.principal import EVERYONE, HOUSEHOLDER, Kind, Principal, Role, sender_of
from postroom.message.channel import ListedAccount
from postroom.overview.audit import actors_of, cursor_of, read_cursor
from postroom.overview.counts import StoredOverview, WaitingNow
from postroom.overview.lookups import DeliveryReason, NothingKnown, SeveralMeant

if TYPE_CHECKING:
    from postroom.kernel.database.audit import StoredAudit
    from postroom.overview.lookups import Lookups

MOST_ENTRIES: Final = 200

# -- What runs and what waits, in one answer --


@dataclass(frozen=True, slots=True, kw_only=True)
class FailingChannel:
    name: str
    reason: str


class HouseholdAnswer(Shape):
    ok: bool = True
    version: str
    sandbox: bool
    started_at: str
    waiting: WaitingNow
    channels_failing: list[FailingChannel]


@dataclass(frozen=True, slots=True, kw_only=True)
class HouseholdStanding:
    """`listed` are the household's channels and how each is doing."""

    listed: Callable[[], Awaitable[Sequence[ListedAccount]]]
    overview: StoredOverview
    may_decide: Callable[[Principal], bool]
    in_sandbox: bool
    clock: Clock
    started_at_us: int

    async def seen_by(self, who: Principal) -> HouseholdAnswer:
        return HouseholdAnswer(
            version=package_version(),
            sandbox=self.in_sandbox,
            started_at=to_text(self.started_at_us),
            waiting=await self._waiting(who),
            channels_failing=[failing for one in await self.listed() if (failing := _failing_channel(one))],
        )

    async def _waiting(self, who: Principal) -> WaitingNow:
        """What cannot be read is not known."""
        try:
            found = await self.overview.waits(who, self.clock.now_us())
            letters = await self.overview.trouble() if who.is_owner else None
        except StoreUnavailable:
            return WaitingNow()
        return replace(
            found,
            approvals=found.approvals if self.may_decide(who) else None,
            dead_letters=letters.given_up + letters.held if letters else None,
        )


def _failing_channel(one: ListedAccount) -> FailingChannel | None:
    if not one.configured:
        return None
    if one.health is None:
        return FailingChannel(name=one.name, reason="the messenger does not answer")
    if one.health.circuit != "closed":
        return FailingChannel(name=one.name, reason=one.health.reason or f"its circuit is {one.health.circuit}")
    return FailingChannel(name=one.name, reason=f"hears nothing: {one.trouble.sentence}") if one.trouble else None


@act(by=HOUSEHOLDER, route=HttpRoute("GET /v1/household", "household", refusals=(401, 403, 503)))
class ShowHousehold(Act[HouseholdAnswer]):
    """What runs and what waits for you"""

    async def do(self, call: Call[HouseholdStanding]) -> HouseholdAnswer:
        return await call.work.seen_by(call.caller)


# -- Who did what --


class AuditBody(Shape):
    """`subject` is what was acted on, such as `person:ID`; `door` is `console`, `api`, `command` or a channel."""

    id: str
    at: str
    actor: str
    kind: str
    act: str
    subject: str
    detail: str
    door: str

    @classmethod
    def of(cls, one: AuditEntry) -> AuditBody:
        return cls(
            id=one.id,
            at=to_text(one.at_us),
            actor=one.actor,
            kind=str(one.kind),
            act=one.act,
            subject=one.subject,
            detail=one.detail,
            door=one.door,
        )


class AuditPage(Shape):
    ok: bool = True
    entries: list[AuditBody]
    next_cursor: str | None


AUDIT: Final = Command(
    "audit",
    options={"kind": CommandOption(words=f"Only this kind: {', '.join(AuditKind)}.")},
    without=("cursor", "limit"),  # the command turns the pages itself
)


@act(
    by=frozenset({Kind.OPERATOR}),
    route=HttpRoute("GET /v1/audit", "audit", refusals=(400, 401, 403, 422, 503)),
    command=AUDIT,
)
class ListAudit(Act[AuditPage]):
    """Who signed in, decided and changed what, newest first"""

    person: Annotated[str, Field(max_length=255)] | None = said("Only what this person did, by id; `owner`.")
    kind: AuditKind | None = said("Only this kind.")
    cursor: Annotated[str, Field(max_length=160)] | None = said("`next_cursor` of the page before.")
    limit: Annotated[int, Field(ge=1, le=MOST_ENTRIES)] = said("How many.", 50)

    async def do(self, call: Call[StoredAudit]) -> AuditPage:
        before = read_cursor(self.cursor) if self.cursor else None
        if self.cursor and before is None:
            told = FieldError("cursor", "must be next_cursor of an earlier page", "cursor")
            raise Refused.of(Code.SCHEMA_INVALID, [told])
        actors = actors_of(self.person) if self.person else ()
        wanted = AuditQuery(limit=self.limit + 1, actors=actors, kind=self.kind, before=before)
        found = await call.work.page(wanted)
        more = cursor_of(found[self.limit - 1]) if len(found) > self.limit else None
        return AuditPage(entries=[AuditBody.of(one) for one in found[: self.limit]], next_cursor=more)


# -- What became of a message, for its sender and for the operator --


class WhyAnswer(Shape):
    ok: bool = True
    reasons: list[DeliveryReason]


class TraceAnswer(Shape):
    ok: bool = True
    trace: Document


_DELIVERIES: Final = (401, 403, 404, 422, 503)
_IDENTIFIER: Final = "Of a delivery or its request; its unique beginning."
_Identifier = Annotated[str, Field(max_length=128)]
_Found = TypeVar("_Found")


_WHAT: Final = "A delivery, a request, a note, a question or a message to a butler."
WHY: Final = Command("why", ("identifier",), {"identifier": CommandOption(words=_WHAT, metavar="ID")})
TRACE: Final = Command(
    "trace",
    ("identifier",),
    {"identifier": CommandOption(words="A request id or a delivery id.", metavar="ID")},
)


@act(
    by=EVERYONE,
    route=HttpRoute("GET /v1/deliveries/{identifier}/why", "deliveries", refusals=_DELIVERIES),
    command=WHY,
)
class WhyDelivery(Act[WhyAnswer]):
    """Why a message of yours is where it is, in plain English"""

    identifier: _Identifier = said(_IDENTIFIER, ...)

    async def do(self, call: Call[Lookups]) -> WhyAnswer:
        return WhyAnswer(reasons=await _found(call.work.why, self.identifier, call.caller))


@act(
    by=EVERYONE,
    route=HttpRoute("GET /v1/deliveries/{identifier}/trace", "deliveries", refusals=_DELIVERIES),
    command=TRACE,
)
class TraceDelivery(Act[TraceAnswer]):
    """Every hop, attempt and receipt of a message of yours"""

    identifier: _Identifier = said(_IDENTIFIER, ...)

    async def do(self, call: Call[Lookups]) -> TraceAnswer:
        return TraceAnswer(trace=await _found(call.work.trace, self.identifier, call.caller))


async def _found(look: Callable[[str, str | None], Awaitable[_Found]], identifier: str, caller: Principal) -> _Found:
    """The operator sees everything."""
    origin = None if caller.role is Role.OPERATOR else sender_of(caller)
    if origin is None and caller.role is not Role.OPERATOR:
        raise Refused(Code.POLICY_DENIED, f"{caller} sends no messages of its own")
    try:
        return await look(identifier, origin)
    except (NothingKnown, SeveralMeant) as error:
        raise Refused(Code.NOT_FOUND, str(error)) from None
