"""The parts of one process that take messages from the others without a wire."""

from __future__ import annotations

from collections.abc import Awaitable, Coroutine, Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from typing import Any, Final, Protocol

import structlog
from mcp.server.mcpserver.exceptions import ToolError
from mcp.shared.exceptions import MCPError

from postroom.butlers.messenger.server import Execute
from postroom.butlers.model import Registration
from postroom.butlers.switchboard import Switchboard
from postroom.butlers.wire import Route, document_within, messenger_route, notify_request, read_route_response
from postroom.delivery.rules.policy import span
from postroom.household.store import SWITCHBOARD
from postroom.kernel.guard.tokens import TokenFile
from postroom.kernel.guard.tools import GuardedServer, ToolPolicy
from postroom.kernel.running.clock import Clock, Overdue
from postroom.kernel.values.errors import (
    DeliveryTimeout,
    InternalError,
    PostroomError,
    TargetUnavailable,
    ValidationError,
)
from postroom.kernel.values.ids import to_text
from postroom.kernel.values.principal import OPERATOR, Principal, Role
from postroom.message.channel import Outbound
from postroom.message.outgoing import Outcome, Outgoing, refused
from postroom.message.wire import Routed, read_response, read_routed
from postroom.settings.peer import HttpPeer, Peer
from postroom.settings.roster import MESSENGER, Endpoints


def switchboard_door(server: GuardedServer, board: Switchboard) -> InsideDoor:
    return InsideDoor(
        part=SWITCHBOARD,
        tool="deliver",
        policy=server.policy,
        takes=board.submit,
        margin_seconds=SWITCHBOARD_MARGIN_SECONDS,
    )


def messenger_door(server: GuardedServer, execute: Execute) -> InsideDoor:
    return InsideDoor(
        part=MESSENGER,
        tool="route.execute",
        policy=server.policy,
        takes=execute.submit,
        margin_seconds=MESSENGER_MARGIN_SECONDS,
    )


# How the parts of one process find each other, and the parts of others.


class Peers:
    """In memory when the other part lives here, over HTTP when it does not."""

    def __init__(self, tokens: TokenFile, endpoints: Endpoints, clock: Clock, stack: AsyncExitStack) -> None:
        self._clock = clock
        self._tokens = tokens
        self._endpoints = endpoints
        self._stack = stack
        self._here: dict[str, GuardedServer] = {}
        self._doors: dict[str, InsideDoor] = {}
        self.stopped = False
        self._connected: dict[tuple[str, str], MemoryPeer | HttpPeer] = {}

    def add(self, name: str, server: GuardedServer) -> None:
        self._here[name] = server

    def take(self, door: InsideDoor) -> None:
        """A part of this process to which the others hand messages without a wire."""
        self._doors[door.part] = door

    def outbound(self, target: str, *, caller: str | None) -> LateOutbound:
        """The way of a message to the switchboard or the messenger; without a caller, of the household itself."""
        return LateOutbound(self, target, caller)

    def to(self, target: str, *, caller: str) -> LatePeer:
        """May be handed out before the other part exists; it is looked for at the first call."""
        return LatePeer(self, target, caller)

    def registered(self, one: Registration) -> LatePeer:
        """For the switchboard, which calls butlers by their registration."""
        return self.to(one.name, caller="switchboard")

    async def connect(self) -> None:
        """Opens what is in memory; belongs in the task that will close the stack."""
        self._stack.callback(self._stop)
        if SWITCHBOARD in self._here:
            await self._connect(SWITCHBOARD, SWITCHBOARD)
        for name in self._here:
            if name != "switchboard" and "switchboard" in self._here:
                await self._connect(name, "switchboard")
                if self._endpoints.own_switchboard(name) is None:
                    await self._connect("switchboard", name)

    async def _connect(self, target: str, caller: str) -> None:
        peer = MemoryPeer(self._here[target], self._token(caller))
        await peer.connect()
        self._stack.push_async_callback(peer.close)
        self._connected[target, caller] = peer

    async def operator(self, target: str) -> MemoryPeer | HttpPeer | Nobody:
        """For parts of the household that are no butler; belongs in the task that will close the stack."""
        token, url = self._tokens.token_of(OPERATOR) or "", self._endpoints.url(target)
        peer: MemoryPeer | HttpPeer
        if target in self._here:
            peer = MemoryPeer(self._here[target], token)
            await peer.connect()
        elif url is not None:
            peer = HttpPeer(target, url, token)
        else:
            return Nobody(target)
        self._stack.push_async_callback(peer.close)
        return peer

    def find(self, target: str, caller: str) -> MemoryPeer | HttpPeer:
        known = self._connected.get((target, caller))
        if known is not None:
            return known
        own = self._endpoints.own_switchboard(caller) if target == "switchboard" else None
        url = own or self._endpoints.url(target)
        if url is None or (target in self._here and own is None):
            raise TargetUnavailable(f"{target} is not running")
        peer = HttpPeer(target, url, self._token(caller))
        self._stack.push_async_callback(peer.close)
        self._connected[target, caller] = peer
        return peer

    def way(self, target: str, caller: str | None) -> Outbound:
        own = self._endpoints.own_switchboard(caller) if caller and target == "switchboard" else None
        if own is None and (door := self._doors.get(target)):
            if self.stopped:
                raise TargetUnavailable(f"{target} is not running")
            return door.for_token(self._token(caller))
        peer = self._peer(target, caller)
        return SwitchboardOverWire(peer) if target == "switchboard" else MessengerOverWire(peer, self._clock)

    def _peer(self, target: str, caller: str | None) -> Peer:
        if caller is not None:
            return self.find(target, caller)
        url = self._endpoints.url(target)
        if url is None:
            return Nobody(target)
        peer = HttpPeer(target, url, self._token(None))
        self._stack.push_async_callback(peer.close)
        return peer

    def _token(self, caller: str | None) -> str:
        principal = OPERATOR if caller is None else Principal(Role.BUTLER, caller)
        return self._tokens.token_of(principal) or ""

    def _stop(self) -> None:
        self.stopped = True


class LatePeer:
    def __init__(self, peers: Peers, target: str, caller: str) -> None:
        self._peers = peers
        self._target = target
        self._caller = caller

    async def call(self, tool: str, arguments: Mapping[str, Any], timeout_seconds: float) -> dict[str, Any]:
        return await self._peers.find(self._target, self._caller).call(tool, arguments, timeout_seconds)


class LateOutbound:
    """May be handed out before the other part exists; it is looked for at the first message."""

    def __init__(self, peers: Peers, target: str, caller: str | None) -> None:
        self._peers = peers
        self._target = target
        self._caller = caller
        self._found: Outbound | None = None

    async def submit(self, outgoing: Outgoing, *, request_id: str, wait_seconds: float) -> Outcome:
        try:
            if self._found is None or self._peers.stopped:
                self._found = self._peers.way(self._target, self._caller)
        except TargetUnavailable as error:
            return refused(error, request_id=request_id, channel=outgoing.channel)
        return await self._found.submit(outgoing, request_id=request_id, wait_seconds=wait_seconds)


# Hands a message to another part of this process: the same token and the same policy as over a wire, no wire.


class Takes(Protocol):
    """What a part does with a message that another one hands to it."""

    def __call__(
        self, caller: Principal, outgoing: Outgoing, *, request_id: str, wait_seconds: float
    ) -> Awaitable[Outcome]: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class InsideDoor:
    """A part that takes messages under the rule of one of its tools."""

    part: str
    tool: str
    policy: ToolPolicy
    takes: Takes
    margin_seconds: float
    overdue: Overdue = field(default_factory=Overdue)

    def for_token(self, token: str) -> InsideOutbound:
        return InsideOutbound(self, token)


@dataclass(frozen=True, slots=True)
class InsideOutbound:
    door: InsideDoor
    token: str

    async def submit(self, outgoing: Outgoing, *, request_id: str, wait_seconds: float) -> Outcome:
        try:
            return await self._submit(outgoing, request_id, wait_seconds)
        except PostroomError as error:
            return refused(error, request_id=request_id, channel=outgoing.channel)

    async def _submit(self, outgoing: Outgoing, request_id: str, wait_seconds: float) -> Outcome:
        door = self.door
        caller = door.policy.verifier.verify(self.token)
        if caller is None or not door.policy.allows(caller, door.tool):
            raise ValidationError(f"{door.part} refused: {caller or 'nobody'} may not call {door.tool}")
        patience = wait_seconds + door.margin_seconds
        work = door.takes(caller, outgoing, request_id=request_id, wait_seconds=wait_seconds)
        try:
            with span(f"tools/call {door.tool}", {"postroom.part": door.part}):  # as the SDK names it over a wire
                return await door.overdue.limit(work, patience)
        except TimeoutError:
            raise DeliveryTimeout(
                f"the {door.part} did not answer within {patience:.0f} s; it may still be delivered"
            ) from None
        except PostroomError:
            raise
        except Exception as error:
            raise InternalError(f"{door.part} failed in {door.tool}") from error


# A part in the same process: its MCP tools without a wire.


_log = structlog.get_logger("postroom.peers")


class MemoryPeer:
    """The same errors as over HTTP, from the same checks."""

    def __init__(self, part: GuardedServer, token: str) -> None:
        self._part = part
        self._token = token
        self._open = False
        self._overdue = Overdue()

    async def connect(self) -> None:
        self._open = True

    async def close(self) -> None:
        self._open = False

    async def call(
        self, tool: str, arguments: Mapping[str, Any], timeout_seconds: float, *, token: str | None = None
    ) -> dict[str, Any]:
        """With a `token`, in the name of somebody else for once."""
        self._must_be_open()
        asked = self._part.from_inside(self._token if token is None else token, tool, arguments)
        return await self._answer(tool, asked, timeout_seconds)

    async def call_as(
        self, caller: Principal, tool: str, arguments: Mapping[str, Any], timeout_seconds: float
    ) -> dict[str, Any]:
        """In the name of somebody whom a door of this process has let in."""
        self._must_be_open()
        return await self._answer(tool, self._part.from_caller(caller, tool, arguments), timeout_seconds)

    def _must_be_open(self) -> None:
        if not self._open:
            raise TargetUnavailable(f"{self._part.name} is not running")

    async def _answer(
        self, tool: str, asked: Coroutine[Any, Any, dict[str, Any] | None], timeout_seconds: float
    ) -> dict[str, Any]:
        try:
            answer = await self._overdue.limit(asked, timeout_seconds)
        except TimeoutError:
            raise DeliveryTimeout(f"{self._part.name} did not answer in time") from None
        except MCPError as error:
            raise ValidationError(f"{self._part.name} refused: {error.error.message}") from error
        except ToolError as error:
            _log.error("peer.failed", part=self._part.name, tool=tool, cause=type(error.__cause__).__name__)
            raise InternalError(f"{self._part.name} failed in {tool}") from error
        if answer is None:
            raise InternalError(f"{self._part.name} failed in {tool}")
        return answer


# The peer that is not there.


class Nobody:
    """A part that this household has not."""

    def __init__(self, target: str) -> None:
        self._target = target

    async def call(
        self, tool: str, arguments: Mapping[str, Any], timeout_seconds: float, *, token: str | None = None
    ) -> dict[str, Any]:
        raise TargetUnavailable(f"{self._target} is not running")


# A message on its way to a part in another process: notify.v1 to the switchboard, route.v1 to the messenger.


SWITCHBOARD_MARGIN_SECONDS: Final = 10.0
MESSENGER_MARGIN_SECONDS: Final = 5.0


class SwitchboardOverWire:
    """Its tool `deliver`."""

    def __init__(self, switchboard: Peer) -> None:
        self._switchboard = switchboard

    async def submit(self, outgoing: Outgoing, *, request_id: str, wait_seconds: float) -> Outcome:
        arguments = {
            "notify_request": document_within(outgoing),
            "request_id": request_id,
            "wait_seconds": wait_seconds,
        }
        patience = wait_seconds + SWITCHBOARD_MARGIN_SECONDS
        try:
            return read_response(await self._switchboard.call("deliver", arguments, patience))
        except PostroomError as error:
            return refused(unanswered(error, patience), request_id=request_id, channel=outgoing.channel)


class MessengerOverWire:
    """Its tool `route.execute`."""

    def __init__(self, messenger: Peer, clock: Clock) -> None:
        self._messenger = messenger
        self._clock = clock

    async def submit(self, outgoing: Outgoing, *, request_id: str, wait_seconds: float) -> Outcome:
        envelope, received_at = document_within(outgoing), to_text(self._clock.now_us())
        route = messenger_route(
            notify_request(envelope), request_id=request_id, received_at=received_at, sender=outgoing.origin_butler
        )
        arguments = {"route": route, "wait_seconds": wait_seconds}
        try:
            answer = await self._messenger.call("route.execute", arguments, wait_seconds + MESSENGER_MARGIN_SECONDS)
            return read_response(read_route_response(answer))
        except PostroomError as error:
            return refused(error, request_id=request_id, channel=outgoing.channel)


class RoutesOverWire:
    """The switchboard's `route`: it knows where each butler lives and whether it may be sent work."""

    def __init__(self, switchboard: Peer) -> None:
        self._switchboard = switchboard

    async def route(self, butler: str, route: Route, timeout_seconds: float) -> Routed:
        arguments = {
            "target_butler": butler,
            "prompt": route.prompt,
            "input_context": route.context,
            "request_context": route.request_context,
        }
        return read_routed(await self._switchboard.call("route", arguments, timeout_seconds))


def unanswered(error: PostroomError, patience_seconds: float) -> PostroomError:
    """What a silent or absent switchboard means for the message."""
    if isinstance(error, DeliveryTimeout):
        return DeliveryTimeout(
            f"the switchboard did not answer within {patience_seconds:.0f} s; it may still be delivered"
        )
    if isinstance(error, TargetUnavailable):
        return TargetUnavailable("the switchboard cannot be reached; nothing was sent")
    return error
