"""A messenger with everything behind it: a store, the plane, the sandbox, and a real MCP client in front."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mcp import Client
from sqlalchemy import text
from tests.services.ready_file import ready_file
from tests.support.worlds import world_of

from postroom.butlers.messenger.server import Execute, build_server
from postroom.delivery.accept import Plane
from postroom.delivery.model import Snapshot
from postroom.delivery.notify import deliver_envelope
from postroom.household.attention import build_attention
from postroom.household.channels import build_channels
from postroom.household.delivery import correction_desk, messenger_desk, running_plane
from postroom.household.questions import AskingParts, approving
from postroom.household.store import Store, open_store
from postroom.kernel.guard.tokens import TokenFile
from postroom.kernel.values.ids import DeliveryId
from postroom.kernel.values.principal import OPERATOR, TOKEN_META, Principal, Role
from postroom.message.delivery import TERMINAL, Status
from postroom.sandbox.accounts import SandboxAddress
from postroom.sandbox.faults import parse
from postroom.sandbox.records import Reaction, ReceivedMail, TelegramMessage
from postroom.sandbox.server import Sandbox, SandboxOptions
from postroom.settings import Settings

MESSENGER = Principal(Role.BUTLER, "messenger")
HEALTH = Principal(Role.BUTLER, "health")
SWITCHBOARD = Principal(Role.BUTLER, "switchboard")
ANNA = Principal(Role.USER, "anna")
BEN = Principal(Role.PERSON, "ben")
OWNER = Principal(Role.PERSON, "owner")
CI = Principal(Role.PROGRAM, "owner", person="owner")
CHATGPT = Principal(Role.CONNECTOR, "chatgpt")
WAIT_SECONDS = 20.0


def settings_for(home: Path, database_url: str = "", **sections: Any) -> Settings:
    """Quick to retry and with room in every limit, unless a test says otherwise."""
    given: dict[str, Any] = {
        "retry": {"max_attempts": 2, "base_seconds": 0.01, "jitter": 0},
        "limits": {
            "global_per_minute": 100_000,
            "recipient_per_minute": 100_000,
            "in_flight": 10_000,
            "channels": {"telegram.bot": 100_000, "email.bot": 100_000},
        },
        "breaker": {"failure_threshold": 1_000},
        "delivery": {"telegram_chat_interval_seconds": 0, "sweep_seconds": 0.5},
    }
    for name, section in sections.items():
        given[name] = {**given.get(name, {}), **section} if isinstance(section, Mapping) else section
    return Settings.model_validate({"home": home, "database_url": database_url, **given})


@dataclass(frozen=True, slots=True, kw_only=True)
class House:
    client: Client
    plane: Plane
    store: Store
    sandbox: Sandbox
    tokens: TokenFile

    async def call(
        self, tool: str, arguments: Mapping[str, Any] | None = None, *, by: Principal = OPERATOR
    ) -> dict[str, Any]:
        """The structured answer; the client has held it against the published schema."""
        result = await self.client.call_tool(tool, dict(arguments or {}), meta=self.meta(by))
        assert not result.is_error, result.content
        assert result.structured_content is not None
        assert json.loads(result.content[0].text) == result.structured_content
        return dict(result.structured_content)

    def meta(self, principal: Principal) -> Any:
        return {TOKEN_META: self.tokens.token_of(principal) or ""}

    async def notify(self, message: str = "hello", **changes: Any) -> dict[str, Any]:
        return await deliver_envelope(
            self.plane, envelope(message, **changes), request_id=self.new_id(), wait_seconds=WAIT_SECONDS
        )

    async def dead_letter(self, message: str = "hello", *, uncertain: bool = False, **changes: Any) -> dict[str, Any]:
        """Let a delivery fail until it is given up, and return its line in the list."""
        channel = changes.get("channel", "telegram")
        way = {"mode": "accept_then_cut"} if uncertain else {"status": 503}
        self.break_channel(channel, times=1 if uncertain else 2, **way)
        if uncertain:
            changes = {**changes, "on_uncertain": "hold"}
        answer = await self.notify(message, **changes)
        assert answer["delivery"]["status"] == Status.DEAD_LETTERED, answer
        listed = await self.call("messenger_dead_letter_list", {"limit": 500})
        return next(one for one in listed["dead_letters"] if one["delivery_id"] == answer["delivery"]["delivery_id"])

    def break_channel(self, channel: str = "telegram", **fault: Any) -> None:
        self.sandbox.faults.arm(parse({"channel": channel, **fault}))

    async def settled(self, delivery_id: str) -> Snapshot:
        found = await self.plane.outcomes.wait(DeliveryId(delivery_id), WAIT_SECONDS, look_first=True)
        assert found is not None and found.status in TERMINAL
        return found

    async def rows(self, statement: str, **values: Any) -> list[dict[str, Any]]:
        def work(connection: Any) -> list[dict[str, Any]]:
            prefix = "messenger." if connection.dialect.name == "postgresql" else ""
            found = connection.execute(text(statement.format(messenger=prefix)), values)
            return [dict(row) for row in found.mappings()] if found.returns_rows else []

        return await self.store.database.write(work)

    def messages(self) -> list[TelegramMessage]:
        """What arrived on the person's phone, oldest first."""
        return self.sandbox.ledger.shown(TelegramMessage, from_person=False)

    def texts(self) -> list[str]:
        return [one.text for one in self.messages()]

    def reactions(self) -> list[Reaction]:
        return self.sandbox.ledger.shown(Reaction)

    def mails(self) -> list[ReceivedMail]:
        return self.sandbox.ledger.shown(ReceivedMail, from_person=False)

    def new_id(self) -> str:
        return self.plane.acceptance.mint(self.plane.acceptance.clock.now_us())


@asynccontextmanager
async def opened(settings: Settings) -> AsyncIterator[House]:
    tokens = TokenFile(settings.tokens_file)
    tokens.ensure([OPERATOR, MESSENGER, HEALTH, SWITCHBOARD, ANNA, BEN, OWNER, CI, CHATGPT])
    async with AsyncExitStack() as stack:
        sandbox = await stack.enter_async_context(Sandbox(SandboxOptions()))
        address = SandboxAddress("127.0.0.1", sandbox.bot_api_port, sandbox.smtp_port)
        if settings.database.startswith("sqlite"):
            ready_file(settings.home / "postroom.db")
        store = await stack.enter_async_context(open_store(settings))
        channels = build_channels(settings, address if settings.in_sandbox else None)
        world = world_of(settings, store)
        plane = await stack.enter_async_context(running_plane(world, channels))
        asking = AskingParts(world)
        approvals = approving(asking, plane)
        desk = correction_desk(world, plane, build_attention(world), asking.bells.every.ring)
        execute = Execute(plane=plane, clock=world.clock, corrections=desk)
        tools = messenger_desk(world, plane, desk)
        server = build_server(execute, tools, tokens, approvals=approvals, approvers=world.approvers)
        client = await stack.enter_async_context(Client(server))
        await client.list_tools(meta={TOKEN_META: tokens.token_of(OPERATOR) or ""})
        yield House(client=client, plane=plane, store=store, sandbox=sandbox, tokens=tokens)


def envelope(message: str = "hello", **changes: Any) -> dict[str, Any]:
    """A plain send to a chat; names of the delivery go there, all others on top."""
    delivery = {"intent": "send", "channel": "telegram", "message": message, "recipient": "1000"}
    if changes.get("channel") == "email":
        delivery["recipient"] = "owner@sandbox.example"
    top: dict[str, Any] = {"schema_version": "notify.v1", "origin_butler": "health"}
    for name, value in changes.items():
        (delivery if name in ("intent", "channel", "message", "recipient", "subject", "emoji") else top)[name] = value
    return {**top, "delivery": delivery}


def context(request_id: str = "request-1", *, thread: str | None = None) -> dict[str, Any]:
    told = {
        "request_id": request_id,
        "source_channel": "telegram",
        "source_endpoint_identity": "bot",
        "source_sender_identity": "1000",
    }
    return {**told, "source_thread_identity": thread} if thread else told


async def together(*works: Any) -> list[Any]:
    return list(await asyncio.wait_for(asyncio.gather(*works), 60))
