"""A whole household in one process, or some of its parts."""

from __future__ import annotations

import socket
from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, Final

from fastapi import APIRouter
from mcp.server.mcpserver import MCPServer
from prometheus_client import CollectorRegistry
from starlette.types import ASGIApp

from postroom.app.api_port import api_app
from postroom.app.channels import KNOWN_CHANNELS, SandboxAddress, build_channels
from postroom.app.correspondence import World, build_correspondence, listening, running_correspondence
from postroom.app.mcp_port import mcp_app
from postroom.app.outbound import PeerOutbound
from postroom.app.plane import running_plane
from postroom.app.serving import bind, port_of, serving
from postroom.app.store import OpenedStore, open_store
from postroom.app.webhook_post import WebhookPost
from postroom.butler.server import ButlerIdentity, ButlerParts
from postroom.butler.server import build_server as build_butler
from postroom.clock import SystemClock
from postroom.connectors.adapter_app import adapter_app
from postroom.connectors.face import FACES
from postroom.connectors.standalone import adapter_parts
from postroom.delivery.plane import Plane
from postroom.domain.ids import IdMint
from postroom.domain.principal import OPERATOR, Principal, Role
from postroom.guard.tokens import TokenFile
from postroom.messenger.execute import Execute
from postroom.messenger.server import build_server as build_messenger
from postroom.peers.http import HttpPeer
from postroom.peers.memory import MemoryPeer
from postroom.ports import Channel, Peer
from postroom.sandbox.server import Sandbox, SandboxOptions
from postroom.settings import Settings
from postroom.store.notifications_log import StoredNotificationsLog
from postroom.switchboard.deliver import Deliver
from postroom.switchboard.server import build_server as build_switchboard

BUTLERS: Final = {
    "general": "Looks after everything that belongs to no other butler",
    "health": "Looks after health: appointments, medication, measurements",
}
ADAPTERS: Final = tuple(FACES)
PARTS: Final = ("sandbox", "messenger", "switchboard", *BUTLERS, "api", *ADAPTERS)


@dataclass(slots=True, kw_only=True)
class Household:
    """What runs where."""

    settings: Settings
    parts: tuple[str, ...]
    addresses: dict[str, str] = field(default_factory=dict)


def parts_of(settings: Settings, only: Iterable[str] = ()) -> tuple[str, ...]:
    chosen = tuple(only) or PARTS
    return tuple(part for part in PARTS if part in chosen and (part != "sandbox" or settings.in_sandbox))


@asynccontextmanager
async def running(settings: Settings, parts: tuple[str, ...]) -> AsyncIterator[Household]:
    async with AsyncExitStack() as stack:
        yield await _Builder(settings, parts, stack).build()


class _Builder:
    """Starts the parts in the order they need each other; the stack stops them in the opposite order."""

    def __init__(self, settings: Settings, parts: tuple[str, ...], stack: AsyncExitStack) -> None:
        self._settings = settings
        self._parts = parts
        self._stack = stack
        self._clock = SystemClock()
        self._mint = IdMint()
        self._registry = CollectorRegistry()
        self._tokens = TokenFile(settings.tokens_file)
        self._household = Household(settings=settings, parts=parts)
        self._servers: dict[str, MCPServer[Any]] = {}
        self._sockets: dict[str, socket.socket] = {}
        self._plane: Plane | None = None
        self._channels: Mapping[str, Channel] = {}
        self._routers: list[APIRouter] = []
        self._butler_peers: dict[str, Peer] = {}

    async def build(self) -> Household:
        self._bind()
        self._tokens.ensure([OPERATOR, *(Principal(Role.BUTLER, name) for name in _butler_names())])
        self._tokens.ensure(Principal(Role.CONNECTOR, name) for name in ADAPTERS)
        sandbox = await self._start_sandbox()
        if {"messenger", "switchboard", "api"} & set(self._parts):
            store = await self._stack.enter_async_context(open_store(self._settings))
            if "messenger" in self._parts:
                await self._build_messenger(store, sandbox)
            if "switchboard" in self._parts:
                await self._build_switchboard(store)
            await self._build_correspondence(store)
        await self._build_butlers()
        if "api" in self._parts:
            self._butler_peers |= {name: await self._peer(name, "switchboard") for name in BUTLERS}
        await self._serve()
        return self._household

    def _bind(self) -> None:
        """All ports or none, before anything is started."""
        for part in self._parts:
            if part != "sandbox":
                self._sockets[part] = bind(part, self._settings.host, getattr(self._settings.ports, part))
                self._stack.callback(self._sockets[part].close)

    async def _start_sandbox(self) -> SandboxAddress | None:
        if not self._settings.in_sandbox:
            return None
        ports = self._settings.ports
        if "sandbox" not in self._parts:
            return SandboxAddress(self._settings.host, ports.sandbox, ports.sandbox_smtp)
        options = SandboxOptions(
            host=self._settings.host,
            bot_api_port=ports.sandbox,
            smtp_port=ports.sandbox_smtp,
            ledger_path=self._settings.home / "sandbox.db",
        )
        self._settings.home.mkdir(parents=True, exist_ok=True, mode=0o700)
        sandbox = await self._stack.enter_async_context(Sandbox(options))
        self._household.addresses["sandbox"] = f"http://{self._settings.host}:{sandbox.bot_api_port}/sandbox/"
        self._household.addresses["sandbox_smtp"] = f"smtp://{self._settings.host}:{sandbox.smtp_port}"
        return SandboxAddress(self._settings.host, sandbox.bot_api_port, sandbox.smtp_port)

    async def _build_messenger(self, store: OpenedStore, sandbox: SandboxAddress | None) -> None:
        channels = build_channels(self._settings, sandbox)
        plane = await self._stack.enter_async_context(
            running_plane(self._settings, store, channels, self._registry, self._clock, self._mint)
        )
        self._plane, self._channels = plane, channels
        self._servers["messenger"] = build_messenger(Execute(plane=plane, clock=self._clock), self._tokens)

    async def _build_correspondence(self, store: OpenedStore) -> None:
        """The API works on intents; the messenger, which has the bot, hears what people answer."""
        world = World(
            settings=self._settings,
            database=store.database,
            tokens=self._tokens,
            clock=self._clock,
            mint=self._mint,
            butlers=frozenset(BUTLERS),
        )
        outbound = self._plane or PeerOutbound(self._operator_peer("switchboard"))
        if "api" in self._parts:
            built = await self._stack.enter_async_context(running_correspondence(world, outbound, self._butler_peers))
            self._routers += built.routers
        else:
            built = build_correspondence(world, outbound, self._butler_peers, WebhookPost())
        await self._stack.enter_async_context(listening(world, self._channels, built.replies))

    def _operator_peer(self, target: str) -> HttpPeer:
        url = f"http://{self._settings.host}:{getattr(self._settings.ports, target)}/mcp"
        peer = HttpPeer(target, url, self._tokens.token_of(OPERATOR) or "")
        self._stack.push_async_callback(peer.close)
        return peer

    async def _build_switchboard(self, store: OpenedStore) -> None:
        log = StoredNotificationsLog(store.database, self._mint.mint)
        self._stack.push_async_callback(log.flush)
        deliver = Deliver(
            messenger=await self._peer("messenger", "switchboard"),
            log=log,
            clock=self._clock,
            mint=self._mint.mint,
            channels=KNOWN_CHANNELS,
        )
        self._servers["switchboard"] = build_switchboard(deliver, self._tokens)

    async def _build_butlers(self) -> None:
        for name, description in BUTLERS.items():
            if name not in self._parts:
                continue
            parts = ButlerParts(
                switchboard=await self._peer("switchboard", name),
                verifier=self._tokens,
                clock=self._clock,
                mint=self._mint.mint,
                channels=KNOWN_CHANNELS,
                notify_wait_seconds=self._settings.delivery.notify_wait_seconds,
            )
            identity = ButlerIdentity(name=name, description=description, port=port_of(self._sockets[name]))
            self._servers[name] = build_butler(identity, parts)

    async def _peer(self, target: str, caller: str) -> MemoryPeer | HttpPeer:
        """In memory when the other part lives here, over HTTP when it does not."""
        token = self._tokens.token_of(Principal(Role.BUTLER, caller)) or ""
        peer: MemoryPeer | HttpPeer
        if target in self._servers:
            peer = MemoryPeer(self._servers[target], token)
        else:
            port = getattr(self._settings.ports, target)
            peer = HttpPeer(target, f"http://{self._settings.host}:{port}/mcp", token)
        await peer.connect()
        self._stack.push_async_callback(peer.close)
        return peer

    async def _serve(self) -> None:
        hosts, origins = (*self._settings.allowed_hosts, self._settings.host), self._settings.allowed_origins
        apps: dict[str, ASGIApp] = {
            name: mcp_app(server, self._tokens, hosts=hosts, origins=origins) for name, server in self._servers.items()
        }
        if "api" in self._parts:
            apps["api"] = api_app(self._registry, self._tokens, routers=self._routers, hosts=hosts, origins=origins)
        apps |= {name: self._adapter(name) for name in ADAPTERS if name in self._parts}
        for name, application in apps.items():
            await self._stack.enter_async_context(serving(application, self._sockets[name]))
            self._household.addresses[name] = self._url(name) + ("/mcp" if name in self._servers else "")

    def _adapter(self, name: str) -> ASGIApp:
        elsewhere = self._settings.connector(name).household_url
        api_url = self._url("api") if "api" in self._parts else elsewhere or self._url("api")
        return adapter_app(
            FACES[name], adapter_parts(FACES[name], self._settings, api_url=api_url, own_url=self._url(name))
        )

    def _url(self, name: str) -> str:
        listener = self._sockets.get(name)
        port = port_of(listener) if listener else getattr(self._settings.ports, name)
        return f"http://{self._settings.host}:{port}"


def _butler_names() -> tuple[str, ...]:
    return ("switchboard", "messenger", *BUTLERS)
