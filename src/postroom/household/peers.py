"""How the parts of a household reach each other: in this process without a wire, elsewhere over MCP."""

from __future__ import annotations

from collections.abc import Awaitable
from contextlib import AsyncExitStack
from dataclasses import dataclass
from typing import Final, Protocol

import structlog
from mcp.server.mcpserver.exceptions import ToolError
from mcp.shared.exceptions import MCPError

from postroom.butlers.wire import document_within, messenger_route, notify_request, read_route_response
from postroom.delivery.rules.policy import span
from postroom.household.store import SWITCHBOARD
from postroom.kernel.guard.tokens import TokenFile
from postroom.kernel.guard.tools import GuardedServer
from postroom.kernel.http.answers import JsonObject
from postroom.kernel.running.clock import Clock, Overdue
from postroom.kernel.values.errors import (
    DeliveryTimeout,
    InternalError,
    PostroomError,
    TargetUnavailable,
    ValidationError,
)
from postroom.kernel.values.fields import Document
from postroom.kernel.values.ids import to_text
from postroom.kernel.values.principal import OPERATOR, Principal, Role
from postroom.message.outgoing import Outcome, Outgoing, refused
from postroom.message.wire import read_response
from postroom.settings.peer import HttpPeer, Peer
from postroom.settings.roster import MESSENGER, Endpoints

_MESSAGE_TOOLS: Final = {SWITCHBOARD: "deliver", MESSENGER: "route.execute"}  # of each part, the one that takes them
_MARGIN_SECONDS: Final = {SWITCHBOARD: 10.0, MESSENGER: 5.0}  # beyond what the caller waits for
_log = structlog.get_logger("postroom.peers")


class Takes(Protocol):
    """What a part does with a message that another one hands to it."""

    def __call__(
        self, caller: Principal, outgoing: Outgoing, *, request_id: str, wait_seconds: float
    ) -> Awaitable[Outcome]: ...


@dataclass(frozen=True, slots=True)
class _Here:
    server: GuardedServer
    takes: Takes | None


class Peers:
    """The parts of this process, and where the others are. None is reached before all are there, or after the end."""

    def __init__(self, tokens: TokenFile, endpoints: Endpoints, clock: Clock, stack: AsyncExitStack) -> None:
        self.clock = clock
        self.overdue = Overdue()
        self._tokens = tokens
        self._endpoints = endpoints
        self._stack = stack
        self._here: dict[str, _Here] = {}
        self._wires: dict[str, HttpPeer] = {}
        self._is_open = False

    def add(self, name: str, server: GuardedServer, takes: Takes | None = None) -> None:
        """A part of this process; with `takes`, the others hand messages to it without a wire."""
        self._here[name] = _Here(server, takes)

    def open(self) -> None:
        """Belongs in the task that will close the stack."""
        self._is_open = True
        self._stack.callback(self._close)

    def _close(self) -> None:
        self._is_open = False

    def to(self, target: str, caller: Principal = OPERATOR) -> WayTo:
        """May be handed out before the other part exists. Without a caller it is the household's own way."""
        return WayTo(self, target, caller)

    def here(self, target: str, caller: Principal) -> _Here | None:
        found = None if self._own_switchboard(target, caller) else self._here.get(target)
        if found is not None and not self._is_open:
            raise TargetUnavailable(f"{target} is not running")
        return found

    def wire(self, target: str, caller: Principal) -> HttpPeer:
        url = self._own_switchboard(target, caller) or self._endpoints.url(target)
        if url is None:
            raise TargetUnavailable(f"{target} is not running")
        if url not in self._wires:
            self._wires[url] = HttpPeer(target, url, "")  # each call brings its token
            self._stack.push_async_callback(self._wires[url].close)
        return self._wires[url]

    def token(self, caller: Principal) -> str:
        return self._tokens.known_of(caller) or ""

    def _own_switchboard(self, target: str, caller: Principal) -> str | None:
        is_its_own = target == SWITCHBOARD and caller.role is Role.BUTLER
        return self._endpoints.own_switchboard(caller.name) if is_its_own else None


@dataclass(frozen=True, slots=True)
class WayTo:
    """
    From one part to another, wherever that one runs: it is looked for at every call.

    In this process the same token meets the same policy and the same tool as over a wire, and gets the same answer.
    """

    peers: Peers
    target: str
    caller: Principal

    async def call(self, tool: str, arguments: JsonObject, timeout_seconds: float) -> Document:
        token = self.peers.token(self.caller)
        if (found := self.peers.here(self.target, self.caller)) is None:
            wire = self.peers.wire(self.target, self.caller)
            return await wire.call(tool, arguments, timeout_seconds, token=token)
        return await self._inside(tool, found.server.from_inside(token, tool, arguments), timeout_seconds)

    async def call_as(self, who: Principal, tool: str, arguments: JsonObject, timeout_seconds: float) -> Document:
        """In the name of somebody whom a door of this process has let in."""
        if (found := self.peers.here(self.target, self.caller)) is not None:
            return await self._inside(tool, found.server.from_caller(who, tool, arguments), timeout_seconds)
        if not (token := self.peers.token(who)):
            raise TargetUnavailable(f"{who} has no token any more")
        return await self.peers.wire(self.target, self.caller).call(tool, arguments, timeout_seconds, token=token)

    async def submit(self, outgoing: Outgoing, *, request_id: str, wait_seconds: float) -> Outcome:
        try:
            found = self.peers.here(self.target, self.caller)
        except TargetUnavailable as error:
            return refused(_unanswered(self.target, error, 0), request_id=request_id, channel=outgoing.channel)
        if found is not None and found.takes is not None:
            return await self._handed(found.server, found.takes, outgoing, request_id, wait_seconds)
        over = OverMcp(self.target, self, self.peers.clock)
        return await over.submit(outgoing, request_id=request_id, wait_seconds=wait_seconds)

    async def _inside(self, tool: str, asked: Awaitable[Document | None], timeout_seconds: float) -> Document:
        try:
            answer = await self.peers.overdue.limit(asked, timeout_seconds)
        except TimeoutError:
            raise DeliveryTimeout(f"{self.target} did not answer in time") from None
        except MCPError as error:
            raise ValidationError(f"{self.target} refused: {error.error.message}") from error
        except ToolError as error:
            _log.error("peer.failed", part=self.target, tool=tool, cause=type(error.__cause__).__name__)
            raise InternalError(f"{self.target} failed in {tool}") from error
        if answer is None:
            raise InternalError(f"{self.target} failed in {tool}")
        return answer

    async def _handed(
        self, server: GuardedServer, takes: Takes, outgoing: Outgoing, request_id: str, wait_seconds: float
    ) -> Outcome:
        """Under the rule of the tool that takes messages; as the value it is, since nobody in between reads it."""
        tool, patience = _MESSAGE_TOOLS[self.target], wait_seconds + _MARGIN_SECONDS[self.target]
        caller = server.policy.verifier.verify(self.peers.token(self.caller))
        error: PostroomError
        if caller is None or not server.policy.allows(caller, tool):
            error = ValidationError(f"{self.target} refused: {caller or 'nobody'} may not call {tool}")
            return refused(error, request_id=request_id, channel=outgoing.channel)
        work = takes(caller, outgoing, request_id=request_id, wait_seconds=wait_seconds)
        try:
            with span(f"tools/call {tool}", {"postroom.part": self.target}):  # as the SDK names it over a wire
                return await self.peers.overdue.limit(work, patience)
        except TimeoutError:
            error = _unanswered(self.target, DeliveryTimeout(""), patience)
        except PostroomError as its_own:
            error = its_own
        except Exception as bug:
            _log.error("peer.failed", part=self.target, tool=tool, cause=type(bug).__name__)
            error = InternalError(f"{self.target} failed in {tool}")
        return refused(error, request_id=request_id, channel=outgoing.channel)


@dataclass(frozen=True, slots=True)
class OverMcp:
    """A message on its way to a part elsewhere: notify.v1 to the switchboard, route.v1 to the messenger."""

    target: str
    peer: Peer
    clock: Clock

    async def submit(self, outgoing: Outgoing, *, request_id: str, wait_seconds: float) -> Outcome:
        patience = wait_seconds + _MARGIN_SECONDS[self.target]
        asked = self._written(outgoing, request_id) | {"wait_seconds": wait_seconds}
        try:
            answer = await self.peer.call(_MESSAGE_TOOLS[self.target], asked, patience)
            return read_response(read_route_response(answer) if self.target == MESSENGER else answer)
        except PostroomError as error:
            told = _unanswered(self.target, error, patience)
            return refused(told, request_id=request_id, channel=outgoing.channel)

    def _written(self, outgoing: Outgoing, request_id: str) -> dict[str, object]:
        envelope = document_within(outgoing)
        if self.target == SWITCHBOARD:
            return {"notify_request": envelope, "request_id": request_id}
        received_at, sender = to_text(self.clock.now_us()), outgoing.origin_butler
        work = notify_request(envelope)
        return {"route": messenger_route(work, request_id=request_id, received_at=received_at, sender=sender)}


def _unanswered(part: str, error: PostroomError, patience_seconds: float) -> PostroomError:
    """What a silent or absent part means for the message."""
    if isinstance(error, DeliveryTimeout):
        return DeliveryTimeout(f"the {part} did not answer within {patience_seconds:.0f} s; it may still be delivered")
    if isinstance(error, TargetUnavailable):
        return TargetUnavailable(f"the {part} cannot be reached; nothing was sent")
    return error
