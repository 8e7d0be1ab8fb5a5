"""How the parts of one process find each other, and the parts of others."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AsyncExitStack
from typing import Any

from postroom.domain.clock import Clock
from postroom.domain.errors import TargetUnavailable
from postroom.domain.outcome import Outcome, refused
from postroom.domain.outgoing import Outgoing
from postroom.domain.peer import Peer
from postroom.domain.ports import Outbound
from postroom.domain.principal import OPERATOR, Principal, Role
from postroom.domain.registry import Registration
from postroom.doors.guard.inside import InsideDoor
from postroom.doors.guard.tokens import TokenFile
from postroom.system.roster.endpoints import Endpoints
from postroom.world.peers.http import HttpPeer
from postroom.world.peers.memory import InProcessServer, MemoryPeer
from postroom.world.peers.nobody import Nobody
from postroom.world.peers.over_wire import MessengerOverWire, SwitchboardOverWire


class Peers:
    """In memory when the other part lives here, over HTTP when it does not."""

    def __init__(self, tokens: TokenFile, endpoints: Endpoints, clock: Clock, stack: AsyncExitStack) -> None:
        self._clock = clock
        self._tokens = tokens
        self._endpoints = endpoints
        self._stack = stack
        self._here: dict[str, InProcessServer] = {}
        self._doors: dict[str, InsideDoor] = {}
        self.stopped = False
        self._connected: dict[tuple[str, str], MemoryPeer | HttpPeer] = {}

    def add(self, name: str, server: InProcessServer) -> None:
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
