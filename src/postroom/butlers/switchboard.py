"""The switchboard: it knows who is calling, and hands on messages, questions about them, corrections and work."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

import structlog
from sqlalchemy import BigInteger, Column, Connection, Float, Row, Table, Text, insert, select, update

from postroom.butlers.model import Eligibility, Registration, eligibility
from postroom.butlers.wire import (
    ROUTE_V1,
    parse_within,
    read_lineage,
    route_error,
)
from postroom.delivery.model import RefusedCall
from postroom.delivery.notify import lineage_of, note_refusal
from postroom.delivery.store.rows import StoredRefusedCalls
from postroom.kernel.database.engine import Database
from postroom.kernel.database.rows import read, values
from postroom.kernel.database.schema import SWITCHBOARD, metadata
from postroom.kernel.running.clock import Clock
from postroom.kernel.values.errors import FieldError, PostroomError, TargetUnavailable, ValidationError
from postroom.kernel.values.fields import Document, text_problem
from postroom.kernel.values.ids import seconds, to_text
from postroom.kernel.values.principal import Principal, Role
from postroom.message.channel import KnownChannels, Outbound
from postroom.message.delivery import DeliveryFailure
from postroom.message.outgoing import Outcome, Outgoing, refused
from postroom.message.wire import notify_response, parse_notify
from postroom.settings.peer import Peer

TIMEOUT_SECONDS: Final = 30.0
_TOOL: Final = "route.execute"


@dataclass(frozen=True, slots=True, kw_only=True)
class Switchboard:
    """`outbound` takes messages to the messenger, `peer_of` finds the way to a butler."""

    outbound: Outbound
    peer_of: Callable[[Registration], Peer]
    registry: Registry
    refusals: StoredRefusedCalls
    channels: KnownChannels
    clock: Clock
    mint: Callable[[int], str]

    # A butler's message on to the messenger, and a note of what was refused.

    async def deliver(
        self,
        caller: Principal,
        envelope: object,
        *,
        request_id: str | None,
        wait_seconds: float,
    ) -> Document:
        """notify.v1 in, notify_response.v1 out."""
        request_id = request_id or self.mint(self.clock.now_us())
        given = _object(envelope)
        try:
            # buttons and revisions are taken from the household's own parts and from nobody else
            parse = parse_within if caller.role is Role.OPERATOR else parse_notify
            outgoing = parse(envelope, self.channels)
        except ValidationError as error:
            outcome = refused(error, request_id=request_id)
            source, delivery = _speaker(caller, given.get("origin_butler")), _object(given.get("delivery"))
            lineage = lineage_of(given.get("request_context")) or request_id
            await self._note(outcome, source, lineage, delivery.get("channel"), delivery.get("intent"))
            return notify_response(outcome)
        return notify_response(await self.submit(caller, outgoing, request_id=request_id, wait_seconds=wait_seconds))

    async def submit(self, caller: Principal, outgoing: Outgoing, *, request_id: str, wait_seconds: float) -> Outcome:
        """The same for a part of this process, which has checked the message already."""
        request_id = outgoing.context.request_id if outgoing.context else request_id
        outcome = await self._hand_on(caller, outgoing, request_id, wait_seconds)
        source = _speaker(caller, outgoing.origin_butler)
        await self._note(outcome, source, request_id, outgoing.channel, outgoing.intent)
        return outcome

    async def _note(self, outcome: Outcome, source: str, request_id: str, channel: object, intent: object) -> None:
        """What a limit refused, the messenger has noted."""
        error = outcome.error
        if error is None or error.retry_after_seconds is not None or outcome.delivery_id or outcome.notice_id:
            return
        failure = DeliveryFailure(error.error_class, error.message)
        now_us = self.clock.now_us()
        call = RefusedCall(
            request_id=request_id, source=source, channel=channel, intent=intent, failure=failure, at_us=now_us
        )
        await note_refusal(self.refusals, call)

    async def _hand_on(self, caller: Principal, outgoing: Outgoing, request_id: str, wait_seconds: float) -> Outcome:
        try:
            check_origin(caller, outgoing.origin_butler)
            await self._check_messenger()
        except PostroomError as error:
            return refused(error, request_id=request_id, channel=outgoing.channel)
        return await self.outbound.submit(outgoing, request_id=request_id, wait_seconds=wait_seconds)

    async def _check_messenger(self) -> None:
        """No caller asked for it by name: that it is missing is our trouble, and may pass."""
        try:
            await look_up(self.registry, "messenger", self.clock.now_us())
        except ValidationError:
            raise TargetUnavailable("the messenger has not reported to the switchboard yet") from None

    # One butler asks another.

    async def route(
        self,
        caller: Principal,
        target: str,
        prompt: str,
        *,
        context: Any = None,
        request_context: Mapping[str, Any] | None = None,
    ) -> Document:
        """The sender is the caller's principal, whatever the lineage says."""
        started = self.clock.now_us()
        request_id = self.mint(started)
        try:
            _check(target)
            lineage = {"request_id": request_id, **read_lineage(request_context or {})}
            request_id = lineage["request_id"]
            found = await look_up(self.registry, target, started)
            route = {
                "schema_version": ROUTE_V1,
                "request_context": {
                    "received_at": to_text(self.clock.now_us()),
                    "source_channel": "mcp",
                    "source_endpoint_identity": "switchboard",
                    "source_sender_identity": caller.name,
                    **lineage,
                },
                "input": {"prompt": prompt, "context": context},
                "target": {"butler": found.name, "tool": _TOOL},
                "source_metadata": {"channel": "mcp", "identity": str(caller), "tool_name": "route"},
            }
            answer = await self.peer_of(found).call(_TOOL, {"route": route}, TIMEOUT_SECONDS)
        except PostroomError as refused:
            return route_error(refused, {"request_id": request_id})
        try:
            await self.registry.seen(target, self.clock.now_us())
        except Exception as unnoted:  # the answer is true whether or not we could note that it was given
            structlog.get_logger("postroom.switchboard").warning("switchboard.note_lost", exc_info=unnoted)
        return answer


def check_origin(caller: Principal, origin_butler: str) -> None:
    """An envelope speaks for its sender and for nobody else."""
    if caller.role is Role.OPERATOR or caller.is_butler(origin_butler):
        return
    raise ValidationError.of([FieldError("origin_butler", f"is not the caller ({caller})", "origin_mismatch")])


def _speaker(caller: Principal, origin: object) -> str:
    """The household's own doors speak for those who knocked there, and have looked at their tokens."""
    if caller.role is Role.OPERATOR and isinstance(origin, str) and origin.strip():
        return origin.strip()[:64]
    return caller.name


def _object(value: object) -> Mapping[str, object]:
    return value if isinstance(value, Mapping) else {}


def _check(target: str) -> None:
    if target == "messenger":
        raise ValidationError("the messenger takes deliveries only: use notify")
    if problem := text_problem(target):
        raise ValidationError.of([FieldError("target_butler", problem, "invalid_text")])


# The switchboard's registry of butlers: who is in the household and when each was last alive.


butler_registry = Table(
    "butler_registry",
    metadata,
    Column("name", Text, primary_key=True),
    Column("endpoint_url", Text, nullable=False),
    Column("description", Text, nullable=False),
    Column("modules", Text, nullable=False),
    Column("liveness_ttl_seconds", Float, nullable=False),
    Column("registered_at", BigInteger, nullable=False),
    Column("last_seen_at", BigInteger, nullable=False),
    Column("quarantine_reason", Text),
    schema=SWITCHBOARD,
)

_registry_c = butler_registry.c


_FRESH_SECONDS = 2.0


class Registry:
    """
    Whom a message needs is known for a moment, so that a notify need not read it from disk each time: changes made
    here are seen at once, changes made elsewhere within two seconds.
    """

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database = database
        self._clock = clock
        self._known: dict[str, tuple[int, Registration | None]] = {}
        self._looking: dict[str, asyncio.Task[Registration | None]] = {}

    async def find(self, name: str) -> Registration | None:
        """A crowd that finds it too old looks once."""
        fresh_until, known = self._known.get(name, (0, None))
        if self._clock.now_us() < fresh_until:
            return known
        if (looking := self._looking.get(name)) is None:
            looking = self._looking[name] = asyncio.create_task(self._find(name))
            looking.add_done_callback(partial(self._found, name, self._clock.now_us() + seconds(_FRESH_SECONDS)))
        return await asyncio.shield(looking)  # whoever leaves takes nobody along

    async def _find(self, name: str) -> Registration | None:
        asked = select(butler_registry).where(_registry_c.name == name)
        row = await self._database.read(lambda connection: connection.execute(asked).first())
        return _registration(row) if row else None

    def _found(self, name: str, fresh_until: int, looking: asyncio.Task[Registration | None]) -> None:
        """What was changed here since is not undone by a look that began before it."""
        if self._looking.get(name) is looking:
            del self._looking[name]
            if not looking.cancelled() and not looking.exception():
                self._known[name] = (fresh_until, looking.result())

    async def all(self) -> list[Registration]:
        everyone = select(butler_registry).order_by(_registry_c.name)
        return await self._database.read(
            lambda connection: [_registration(row) for row in connection.execute(everyone)]
        )

    async def register(self, one: Registration) -> None:
        """A butler that comes back is no longer stale, but stays quarantined until released."""
        row = values(one, without=("quarantine_reason",), modules=json.dumps(list(one.modules)))

        def work(connection: Connection) -> None:
            again = update(butler_registry).where(_registry_c.name == one.name).values(**row)
            if not connection.execute(again).rowcount:
                connection.execute(insert(butler_registry).values(registered_at=one.last_seen_at_us, **row))

        await self._database.write(work)
        self._forget()

    async def seen(self, name: str, now_us: int) -> None:
        alive = (
            update(butler_registry)
            .where(_registry_c.name == name, _registry_c.last_seen_at < now_us)
            .values(last_seen_at=now_us)
        )
        await self._database.write(lambda connection: connection.execute(alive).rowcount)

    async def quarantine(self, name: str, reason: str | None) -> bool:
        changed = update(butler_registry).where(_registry_c.name == name).values(quarantine_reason=reason)
        found = await self._database.write(lambda connection: connection.execute(changed).rowcount > 0)
        self._forget()
        return found

    def _forget(self) -> None:
        self._known.clear()
        self._looking.clear()


def _registration(row: Row[Any]) -> Registration:
    return read(Registration, row, modules=tuple(json.loads(row.modules)))


# Who can be reached, or why not.


async def look_up(registry: Registry, name: str, now_us: int) -> Registration:
    found = await registry.find(name)
    if found is None:
        raise ValidationError(f"no butler called '{name[:64]}' is registered")
    state, reason = eligibility(found, now_us)
    match state:
        case Eligibility.ACTIVE:
            return found
        case Eligibility.STALE:
            raise TargetUnavailable(f"{name} is stale: {reason}")
        case Eligibility.QUARANTINED:
            raise TargetUnavailable(f"{name} is quarantined: {reason}")
