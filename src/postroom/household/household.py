"""A whole household in one process, or some of its parts."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Collection, Iterable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial
from typing import Final

import structlog
from fastapi import APIRouter
from prometheus_client import CollectorRegistry
from starlette.applications import Starlette
from starlette.types import ASGIApp

from postroom.approvals.approvals import Approvals
from postroom.attention.acts import ACTS as ATTENTION_ACTS
from postroom.attention.attention import Attention
from postroom.butlers.acts import ShowButler
from postroom.butlers.calendar.acts import CALENDAR_ACTS
from postroom.butlers.daemon import (
    ELSEWHERE_THAN_MESSENGER,
    ELSEWHERE_THAN_SWITCHBOARD,
    Butler,
    add_message_tools,
    build_server,
)
from postroom.butlers.loading import check_modules
from postroom.butlers.messenger.server import Execute
from postroom.butlers.messenger.server import build_server as build_messenger
from postroom.butlers.routing import SWITCHBOARD_ACTS
from postroom.butlers.switchboard import Registry
from postroom.butlers.wire import routed_by
from postroom.connectors.tools import ACTS as ASSISTANT_ACTS
from postroom.console.live import Bulk, Changes
from postroom.delivery.accept import Plane
from postroom.household.attention import (
    asking_to_confirm,
    attending,
    attention_desk,
    build_attention,
    notice_ear,
    refuse_unknown_people,
    running_inbox,
)
from postroom.household.butlers import (
    build_board,
    build_butler,
    build_sessions,
    cannot_answer,
    living,
    start_sessions,
)
from postroom.household.console import Console, ConsoleParts, RunningHousehold, operators_link, running_console
from postroom.household.conversations import (
    AddTools,
    Correspondence,
    adapter,
    assistant_server,
    build_correspondence,
    listening,
    working,
)
from postroom.household.delivery import (
    DRAIN_SECONDS,
    correction_desk,
    messenger_desk,
    running_plane,
    showing_life,
)
from postroom.household.peers import Peers
from postroom.household.people import knowing_people, open_channels, pressing, sending_links
from postroom.household.ports import api_app, build_sending, butler_app, message_tools, plain_routers
from postroom.household.questions import (
    AskingParts,
    approving,
    ask_routers,
    assistants_ask,
    butler_asks,
    presenting,
    start_resuming,
)
from postroom.household.store import (
    ADAPTERS,
    SANDBOX,
    SANDBOX_IMAP,
    SANDBOX_SMTP,
    SWITCHBOARD,
    WORKER,
    World,
    fixed_ports,
    open_in_time,
    sandbox_ports,
    shipped,
)
from postroom.inbox.acts import SendNotification
from postroom.inbox.inbox import Inbox
from postroom.inbox.routes import confirmation_router, inbox_router
from postroom.kernel.acts.routes import act_router
from postroom.kernel.acts.tools import add_tools
from postroom.kernel.guard.tokens import SessionTokens, TokenFile, keeping_last_use
from postroom.kernel.guard.tools import GuardedServer, ToolPolicy
from postroom.kernel.running.clock import SharedClock
from postroom.kernel.running.loop import Loops
from postroom.kernel.running.telemetry import LoopMeter
from postroom.kernel.running.timekeeper import Timekeeper
from postroom.kernel.serving.servers import HttpServer, serving
from postroom.kernel.values.principal import OPERATOR, Principal, Role
from postroom.message.acts import Notify
from postroom.message.channel import Channel, Outbound
from postroom.sandbox.accounts import SandboxAddress
from postroom.sandbox.server import Sandbox, SandboxOptions
from postroom.settings import Settings
from postroom.settings.listeners import Listeners, bounds_of
from postroom.settings.roster import MESSENGER, ButlerConfig, Endpoints


@asynccontextmanager
async def running(
    settings: Settings,
    parts: Sequence[str],
    roster: Sequence[ButlerConfig] | None = None,
    environment: Mapping[str, str] | None = None,
) -> AsyncIterator[RunningHousehold]:
    """`environment` is what modules and models may be given of it, by name."""
    butlers = shipped(settings) if roster is None else roster
    for config in butlers:
        check_modules(config)
    async with AsyncExitStack() as stack:
        yield await _Builder(settings, parts, stack).build(butlers, environment or {})


def _pages(parts: ConsoleParts, changes: Changes, bulk: Bulk) -> Starlette:
    from postroom.household.console_pages import console_pages  # late: many households run without any page

    return console_pages(parts, changes, bulk)


class _Builder:
    """Starts the parts in the order they need each other; the stack stops them in the opposite order."""

    def __init__(self, settings: Settings, parts: Sequence[str], stack: AsyncExitStack) -> None:
        self._settings = settings
        self._parts = tuple(parts)
        self._stack = stack
        self._listeners = Listeners(settings=settings, stack=stack)
        self._household: RunningHousehold
        self._world: World  # as soon as there is a store, as all that follows
        self._registered: Registry
        self._asking: AskingParts
        self._attention: Attention
        self._plane: Plane | None = None
        self._channels: Mapping[str, Channel] = {}
        self._approvals: Approvals | None = None
        self._correspondence: Correspondence | None = None
        self._console: Console | None = None
        self._butlers: list[Butler] = []
        self._servers: dict[str, GuardedServer] = {}
        self._routers: list[APIRouter] = []
        self._assistant_doors: list[AddTools] = []
        self._serving: list[HttpServer] = []

    async def build(self, roster: Sequence[ButlerConfig], environment: Mapping[str, str]) -> RunningHousehold:
        settings, clock, registry = self._settings, SharedClock(), CollectorRegistry()
        tokens, loops = TokenFile(settings.tokens_file), Loops(clock, LoopMeter(registry).failed)
        self._household = RunningHousehold(settings=settings, parts=self._parts, loops=loops)
        endpoints = await self._bind(roster)
        butlers = (Principal(Role.BUTLER, config.name) for config in roster)
        tokens.ensure([OPERATOR, *butlers, *(Principal(Role.CONNECTOR, name) for name in ADAPTERS)])
        await self._stack.enter_async_context(keeping_last_use(tokens, loops))
        if MESSENGER in self._parts:
            _warn_of_users(tokens.principals(), settings.approvals.approvers)
        sandbox = await self._start_sandbox()
        mine = [config for config in roster if config.name in self._parts]
        if mine or {WORKER, "api"} & set(self._parts):
            store = await self._stack.enter_async_context(open_in_time(settings, clock, loops))
            self._world = World(
                settings=settings,
                store=store,
                clock=clock,
                loops=loops,
                tokens=tokens,
                peers=Peers(tokens, endpoints, clock, self._stack),
                endpoints=endpoints,
                timekeeper=Timekeeper(store.moments, store.marks, clock),
                roster=roster,
                environment=environment,
                registry=registry,
                pages_url=self._listeners.pages_url,
                links_due=self._household.links_due,
            )
            timekeeper = self._world.timekeeper
            await self._stack.enter_async_context(loops.running("timekeeper", timekeeper.look, wake=timekeeper.wake))
            await self._build_parts(mine, sandbox)
        await self._serve()
        self._stack.push_async_callback(self._wind_down)
        return self._household

    async def _build_parts(self, mine: Sequence[ButlerConfig], sandbox: SandboxAddress | None) -> None:
        world = self._world
        self._registered = Registry(world.store.database, world.clock)
        await self._stack.enter_async_context(knowing_people(world))
        self._attention = self._household.attention = build_attention(world)
        await refuse_unknown_people(self._attention)
        inbox = await self._open_inbox()
        self._asking = self._household.asking = AskingParts(world, self._attention.book)
        if WORKER in self._parts:
            await self._start_plane(sandbox, inbox)
        await self._build_butlers(mine, sandbox, inbox)
        await self._build_correspondence(inbox)
        if "api" in self._parts:
            self._build_plain_doors()
            await self._build_console(inbox, sandbox)

    async def _wind_down(self) -> None:
        """First of all when stopping: sessions while every door they speak through is open, callers while connected."""
        await asyncio.gather(*(one.sessions.stop() for one in self._butlers if one.sessions))
        if self._plane is not None:
            await self._plane.stop(DRAIN_SECONDS)
        for server in self._serving:
            server.end()  # all at once: each of them grants its callers a few seconds

    async def _bind(self, roster: Sequence[ButlerConfig]) -> Endpoints:
        known, endpoints = fixed_ports(self._settings, roster), Endpoints(self._settings, roster)
        wanted = {part: known[part] for part in self._parts if part in known}
        await self._listeners.bind(wanted | (sandbox_ports(self._settings) if SANDBOX in self._parts else {}))
        for part in wanted:
            endpoints.bound(part, self._listeners.port(part))
        return endpoints

    async def _start_sandbox(self) -> SandboxAddress | None:
        if not self._settings.in_sandbox:
            return None
        if SANDBOX not in self._parts:
            return sandbox_elsewhere(self._settings)
        address = await start_sandbox(self._settings, self._listeners, self._stack)
        self._household.addresses |= addresses_of(address)
        return address

    async def _open_inbox(self) -> Inbox:
        opening = running_inbox(self._world, self._attention.book)
        inbox = self._household.inbox = await self._stack.enter_async_context(opening)
        self._routers += [inbox_router(inbox), confirmation_router(inbox.confirmations, inbox.clock)]
        self._assistant_doors.append(lambda server: add_tools(server, [SendNotification], inbox))
        return inbox

    async def _build_butlers(self, mine: Sequence[ButlerConfig], sandbox: SandboxAddress | None, inbox: Inbox) -> None:
        for config in sorted(mine, key=lambda one: one.name != MESSENGER):
            if config.name == MESSENGER:
                await self._build_messenger(config, await self._start_plane(sandbox, inbox))
            elif config.name == SWITCHBOARD:
                await self._build_switchboard(config)
            else:
                way = self._world.peers.to(SWITCHBOARD, Principal(Role.BUTLER, config.name))
                butler = await self._butler(config, way)
                self._servers[config.name] = build_server(butler)
                self._world.peers.add(config.name, self._servers[config.name])
        for butler in self._butlers:
            server = self._servers[butler.name]
            if butler.name not in (MESSENGER, SWITCHBOARD):
                butler_asks(server, butler, self._asking)
            if butler.calendar is not None:
                add_tools(server, CALENDAR_ACTS, butler.calendar, butler=butler.name)
                self._stack.push_async_callback(butler.calendar.stop)
        self._world.peers.open()
        for butler in self._butlers:
            await self._stack.enter_async_context(living(butler, self._world, self._registered))

    async def _butler(self, config: ButlerConfig, outbound: Outbound) -> Butler:
        """Its own sessions' tokens are known to its own server and to no other."""
        tokens = SessionTokens(config.name, self._world.tokens)
        butler = build_butler(
            config,
            self._world,
            outbound=outbound,
            attention=self._attention,
            sessions=build_sessions(config, self._world, tokens),
            verifier=tokens,
        )
        self._butlers.append(butler)
        return butler

    async def _start_plane(self, sandbox: SandboxAddress | None, inbox: Inbox) -> Plane:
        world, channels = self._world, open_channels(self._world, sandbox)
        started = attending(world, self._attention, running_plane(world, channels))
        plane = await self._stack.enter_async_context(started)
        await self._stack.enter_async_context(showing_life(world, alone=self._parts == (WORKER,)))
        await self._stack.enter_async_context(asking_to_confirm(world, inbox, plane))
        await self._stack.enter_async_context(presenting(self._asking, plane))
        await self._stack.enter_async_context(sending_links(world, plane))
        self._plane, self._channels = plane, channels
        return plane

    async def _build_correspondence(self, inbox: Inbox) -> None:
        """The API works on intents; the messenger, which has the bot, hears what people answer."""
        if not {"api", MESSENGER} & set(self._parts):
            return
        outbound, route = self._world.peers.to(SWITCHBOARD), partial(routed_by, self._world.peers.to(SWITCHBOARD))
        built = build_correspondence(self._world, outbound, route, self._asking, inbox.email_due.ring)
        if "api" in self._parts:
            await self._stack.enter_async_context(working(built, self._asking))
            self._correspondence = built
            self._routers += built.routers
            self._assistant_doors.append(lambda server: add_tools(server, ASSISTANT_ACTS, built.at_home))
        if MESSENGER in self._parts:
            world, channels, way_out = self._world, self._channels, self._plane or outbound
            notices = notice_ear(world, self._attention, channels, way_out).handle
            ears = listening(world, self._asking, route, built.replies, notices, channels, way_out)
            await self._stack.enter_async_context(ears)

    def _build_plain_doors(self) -> None:
        outbound = self._world.peers.to(SWITCHBOARD)
        sending = build_sending(self._world, outbound, self._attention)
        notices = attention_desk(self._world, self._attention)
        self._assistant_doors.append(lambda server: message_tools(server, sending))
        self._routers += plain_routers(self._world, sending, self._approvals)
        self._routers += [*ask_routers(self._asking), act_router(ATTENTION_ACTS, notices)]
        self._routers.append(pressing(self._asking, outbound))
        self._assistant_doors.append(lambda server: assistants_ask(server, self._asking))
        self._assistant_doors.append(lambda server: add_tools(server, ATTENTION_ACTS, notices))

    async def _build_console(self, inbox: Inbox, sandbox: SandboxAddress | None) -> None:
        parts = ConsoleParts(
            world=self._world,
            inbox=inbox,
            asking=self._asking.asking,
            attention=self._attention,
            messenger=self._world.peers.to(MESSENGER),
            approvals=self._approvals,
            outbound=self._world.peers.to(SWITCHBOARD),
            sandbox_url=sandbox.control_url if sandbox else None,
            silent=cannot_answer(self._world.roster, self._world.environment),
        )
        self._console = await self._stack.enter_async_context(running_console(parts, _pages))
        self._household.sign_in = partial(operators_link, self._world, self._listeners.url("api"))

    async def _build_messenger(self, config: ButlerConfig, plane: Plane) -> None:
        world, attention = self._world, self._attention
        approvals = self._approvals = approving(self._asking, plane)
        desk = correction_desk(world, plane, attention, self._asking.bells.every.ring)
        butler = await self._butler(config, plane)
        execute = Execute(plane=plane, clock=world.clock, corrections=desk)
        tools = messenger_desk(world, plane, desk, attention)
        server = build_messenger(execute, tools, butler.verifier, approvals=approvals, approvers=world.approvers)
        add_message_tools(server, butler, (Notify,))
        server.point_elsewhere(ELSEWHERE_THAN_MESSENGER)
        self._servers[MESSENGER] = server
        self._world.peers.add(MESSENGER, server, execute.submit)

    async def _build_switchboard(self, config: ButlerConfig) -> None:
        board = build_board(self._world, self._registered)
        butler = await self._butler(config, self._world.peers.to(SWITCHBOARD, Principal(Role.BUTLER, SWITCHBOARD)))
        policy = ToolPolicy({}, butler.verifier)
        server = GuardedServer(SWITCHBOARD, policy, description=config.butler.description)
        add_tools(server, SWITCHBOARD_ACTS, board, butler=SWITCHBOARD)
        add_tools(server, (ShowButler,), butler, butler=SWITCHBOARD)
        add_message_tools(server, butler, (Notify,))
        server.point_elsewhere(ELSEWHERE_THAN_SWITCHBOARD)
        self._servers[SWITCHBOARD] = server
        self._world.peers.add(SWITCHBOARD, server, board.submit)

    async def _serve(self) -> None:
        (connections, _), failing = bounds_of(self._settings.serving), self._household.loops.troubles
        apps: dict[str, ASGIApp] = {
            butler.name: butler_app(self._servers[butler.name], butler.verifier, self._settings, failing)
            for butler in self._butlers
        }
        if "api" in self._parts:
            assistants = assistant_server(self._world.tokens, self._assistant_doors)
            console = self._console.app if self._console else None
            apps["api"] = api_app(self._world, self._routers, assistants, console)
        apps |= {name: self._adapter(name) for name in ADAPTERS if name in self._parts}
        for name, application in apps.items():
            server = serving(application, self._listeners[name], connections)
            self._serving.append(await self._stack.enter_async_context(server))
            self._household.addresses[name] = self._listeners.url(name) + ("/mcp" if name in self._servers else "")
        for butler in self._butlers:
            await start_sessions(butler.name, butler.sessions, self._stack, self._household.loops)
        if asking := self._household.asking:
            await start_resuming(asking, self._butlers, self._stack)
            self._stack.callback(asking.bells.close)  # those who wait are let go while they are still connected
        if inbox := self._household.inbox:
            self._stack.callback(inbox.feed.stop)  # first of all, so that no open stream holds up the servers
        if self._correspondence:
            self._stack.callback(self._correspondence.gateway.signal.close)
        if self._console:
            self._stack.callback(self._console.changes.stop)

    def _adapter(self, name: str) -> ASGIApp:
        own_url, api_url, failing = (
            self._listeners.url(name),
            self._listeners.url("api"),
            self._household.loops.troubles,
        )
        return adapter(
            name, self._settings, own_url=own_url, api_url=api_url, at_home=self._correspondence, failing=failing
        )


# Say at start which tokens of the first version decide nothing any more.


def _warn_of_users(principals: Iterable[Principal], approvers: Collection[str]) -> None:
    """Programs hold such tokens, too, so a user decides only when the settings name that user."""
    users = sorted(one.name for one in principals if one.role is Role.USER and one.name not in approvers)
    if users:
        structlog.get_logger("postroom.tokens").warning(
            "tokens.users_decide_nothing",
            users=users,
            mend="name people in approvals.approvers, or make tokens with `postroom token create --person ID`",
        )


# Start the sandbox on the ports that were bound for it.


_REACHED_AT: Final = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104 - one who listens everywhere listens there too


async def start_sandbox(settings: Settings, listeners: Listeners, stack: AsyncExitStack) -> SandboxAddress:
    settings.home.mkdir(parents=True, exist_ok=True, mode=0o700)
    options = SandboxOptions(
        host=settings.host,
        bot_api_socket=listeners[SANDBOX],
        smtp_socket=listeners[SANDBOX_SMTP],
        imap_socket=listeners[SANDBOX_IMAP],
        ledger_path=settings.home / "sandbox.db",
        household=settings.household_id,
        zone=settings.household.local_zone,
    )
    sandbox = await stack.enter_async_context(Sandbox(options))
    return SandboxAddress(_host(settings), sandbox.bot_api_port, sandbox.smtp_port, sandbox.imap_port)


def sandbox_elsewhere(settings: Settings) -> SandboxAddress:
    """In another process of this household."""
    ports = settings.ports
    return SandboxAddress(_host(settings), ports.sandbox, ports.sandbox_smtp, ports.sandbox_imap)


def addresses_of(sandbox: SandboxAddress) -> dict[str, str]:
    return {SANDBOX: sandbox.control_url, SANDBOX_SMTP: sandbox.smtp_url, SANDBOX_IMAP: sandbox.imap_url}


def _host(settings: Settings) -> str:
    return _REACHED_AT.get(settings.host, settings.host)
