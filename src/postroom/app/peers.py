"""How the parts of one process find each other, and the parts of others."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AsyncExitStack
from typing import Any

from postroom.app.endpoints import Endpoints
from postroom.domain.errors import TargetUnavailable
from postroom.domain.principal import OPERATOR, Principal, Role
from postroom.domain.registry import Registration
from postroom.guard.tokens import TokenFile
from postroom.peers.http import HttpPeer
from postroom.peers.memory import MemoryPeer, Part


class Peers:
    """In memory when the other part lives here, over HTTP when it does not."""

    def __init__(self, tokens: TokenFile, endpoints: Endpoints, stack: AsyncExitStack) -> None:
        self._tokens = tokens
        self._endpoints = endpoints
        self._stack = stack
        self._here: dict[str, Part] = {}
        self._connected: dict[tuple[str, str], MemoryPeer | HttpPeer] = {}

    def add(self, name: str, server: Part) -> None:
        self._here[name] = server

    def to(self, target: str, *, caller: str) -> LatePeer:
        """May be handed out before the other part exists; it is looked for at the first call."""
        return LatePeer(self, target, caller)

    def registered(self, one: Registration) -> LatePeer:
        """For the switchboard, which calls butlers by their registration."""
        return self.to(one.name, caller="switchboard")

    async def connect(self) -> None:
        """Opens what is in memory; belongs in the task that will close the stack."""
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

    def _token(self, caller: str) -> str:
        return self._tokens.token_of(Principal(Role.BUTLER, caller)) or ""


class Nobody:
    """A part that this household has not."""

    def __init__(self, target: str) -> None:
        self._target = target

    async def call(
        self, tool: str, arguments: Mapping[str, Any], timeout_seconds: float, *, token: str | None = None
    ) -> dict[str, Any]:
        raise TargetUnavailable(f"{self._target} is not running")


class LatePeer:
    def __init__(self, peers: Peers, target: str, caller: str) -> None:
        self._peers = peers
        self._target = target
        self._caller = caller

    async def call(self, tool: str, arguments: Mapping[str, Any], timeout_seconds: float) -> dict[str, Any]:
        return await self._peers.find(self._target, self._caller).call(tool, arguments, timeout_seconds)
