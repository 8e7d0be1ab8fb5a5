"""How work is handed on: a butler's messages to the messenger, one butler's question to another, and who is there."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any, Final

from pydantic import Field

from postroom.butlers.model import Registration, eligibility
from postroom.butlers.wire import route_error
from postroom.kernel.acts.declaration import READS, Act, Answer, Call, Hints, Shape, Tool, act, said
from postroom.kernel.acts.reading import Stripped, Text, Whatever, needed
from postroom.kernel.values.errors import FieldError, PostroomError, ValidationError, error_answer
from postroom.kernel.values.ids import to_text
from postroom.kernel.values.principal import BUTLERS, Kind
from postroom.message.acts import MessageAnswer, OpenAnswer
from postroom.message.wire import notify_error

if TYPE_CHECKING:
    from postroom.butlers.daemon import Butler
    from postroom.butlers.messenger.server import Execute
    from postroom.butlers.switchboard import Switchboard

    AtBoard = Call[Switchboard]

_ROUTERS: Final = frozenset({Kind.OPERATOR, Kind.SWITCHBOARD})
_OPERATOR: Final = frozenset({Kind.OPERATOR})
_SENDS: Final = Hints(open_world=True)
_OBJECT: Final = {"type": "object"}
WaitSeconds = Annotated[float, Field(ge=0, le=600)]
_WAIT: Final = "How long to wait for the outcome."


# Messages, which the switchboard hands to the messenger.


@act(by=BUTLERS, tool=Tool("deliver", _SENDS))
class DeliverEnvelope(Act[MessageAnswer]):
    """Hand a notify.v1 envelope to the messenger and answer with its notify_response.v1."""

    notify_request: Whatever = needed("The envelope; it speaks for its sender.", **_OBJECT)
    request_id: Annotated[Stripped, Field(max_length=128)] | None = said("Under which the outcome is found again.")
    wait_seconds: WaitSeconds = said(_WAIT, 20.0)

    @classmethod
    def refused(cls, error: PostroomError) -> Mapping[str, Any]:
        return notify_error(error)

    async def do(self, call: AtBoard) -> Any:
        return await call.work.deliver(
            call.caller, self.notify_request, request_id=self.request_id, wait_seconds=self.wait_seconds
        )


# Work for a butler: `route` at the switchboard becomes `route.execute` at the butler's own server.


class RouteAnswer(OpenAnswer, total=False):
    """route_response.v1."""

    schema_version: str
    request_context: dict[str, Any]
    status: str
    inbox_id: str
    result: dict[str, Any]
    timing: dict[str, Any]


class _Routed(Act[RouteAnswer]):
    @classmethod
    def refused(cls, error: PostroomError) -> Mapping[str, Any]:
        return route_error(error, {})


@act(by=BUTLERS, tool=Tool("route"))
class RouteToButler(_Routed):
    """Ask another butler to work on a prompt; it answers `accepted` once it has stored it."""

    target_butler: Annotated[str, Field(max_length=64)] = said("Its name, as butlers_list has it.", ...)
    prompt: Annotated[str, Field(max_length=100_000)] = said("What it is to do.", ...)
    input_context: dict[str, Any] | None = said("What it should know besides.")
    request_context: dict[str, Any] | None = said("Of the request that this is part of.")

    async def do(self, call: AtBoard) -> Any:
        return await call.work.route(
            call.caller,
            self.target_butler,
            self.prompt,
            context=self.input_context,
            request_context=self.request_context,
        )


@act(by=_ROUTERS, tool=Tool("route.execute"))
class TakeRoute(_Routed):
    """Take a route.v1 from the switchboard; answers `accepted` once it is stored."""

    route: Whatever = needed("The route.v1.", **_OBJECT)

    async def do(self, call: Call[Butler]) -> Any:
        return await call.work.take_route(call.caller, self.route)


@act(by=_ROUTERS, tool=Tool("route.execute", _SENDS))
class CarryOutRoute(TakeRoute):
    """Execute a route.v1 that carries a notify.v1; answers with a route_response.v1."""

    wait_seconds: WaitSeconds = said(_WAIT, 20.0)

    async def do(self, call: Call[Any]) -> Any:
        messenger: Execute = call.work
        return await messenger.execute(call.caller, self.route, wait_seconds=self.wait_seconds)


# Who is there, and who gets no work for now.


class RegisteredButler(Shape):
    name: str
    endpoint_url: str
    description: str
    modules: tuple[str, ...]
    eligibility: str
    reason: str | None
    last_seen_at: str


class ButlersAnswer(OpenAnswer, total=False):
    butlers: list[RegisteredButler]


class RegistryAnswer(OpenAnswer, total=False):
    status: str
    name: str
    error: Any


class _InRegistry(Act[Answer]):
    @classmethod
    def refused(cls, error: PostroomError) -> Mapping[str, Any]:
        return error_answer(error)


@act(by=BUTLERS, tool=Tool("butlers_list", READS))
class ListButlers(_InRegistry[ButlersAnswer]):
    """Every butler, whether it may be sent work, and if not, why."""

    async def do(self, call: AtBoard) -> Any:
        now_us = call.work.clock.now_us()
        return {"butlers": [_shown(one, now_us) for one in await call.work.registry.all()]}


def _shown(one: Registration, now_us: int) -> RegisteredButler:
    state, reason = eligibility(one, now_us)
    return RegisteredButler(
        name=one.name,
        endpoint_url=one.endpoint_url,
        description=one.description,
        modules=one.modules,
        eligibility=str(state),
        reason=reason,
        last_seen_at=to_text(one.last_seen_at_us),
    )


class _AboutButler(_InRegistry[RegistryAnswer]):
    name: Annotated[Text, Field(max_length=64)] = said("The butler's, as butlers_list has it.", ...)

    async def quarantined(self, call: AtBoard, reason: str | None) -> Any:
        if await call.work.registry.quarantine(self.name, reason):
            return {"status": "ok", "name": self.name}
        raise ValidationError.of([FieldError("name", "names no butler here", "unknown_butler")])


@act(by=_OPERATOR, tool=Tool("butler_quarantine"))
class QuarantineButler(_AboutButler):
    """Send no more work to a butler until it is released."""

    reason: Annotated[Text, Field(max_length=500)] = said("What those who ask it for something are told.", ...)

    async def do(self, call: AtBoard) -> Any:
        return await self.quarantined(call, self.reason)


@act(by=_OPERATOR, tool=Tool("butler_release"))
class ReleaseButler(_AboutButler):
    """End a quarantine."""

    async def do(self, call: AtBoard) -> Any:
        return await self.quarantined(call, None)


SWITCHBOARD_ACTS: Final = (
    DeliverEnvelope,
    RouteToButler,
    ListButlers,
    QuarantineButler,
    ReleaseButler,
)
