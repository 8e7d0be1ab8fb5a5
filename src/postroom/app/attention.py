"""Put attention together: the household's policy, what the doors call, and the loop beside the delivery plane."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, replace
from typing import Final

from prometheus_client import CollectorRegistry

from postroom.app.attention_amends import PlaneAmends
from postroom.app.household_key import household_key
from postroom.app.known_channels import known_channels
from postroom.app.store import OpenedStore, connect_store
from postroom.domain.agent_address import HOUSEHOLD_OWNER
from postroom.domain.breaker import CircuitState
from postroom.domain.clock import Clock
from postroom.domain.errors import ValidationError
from postroom.domain.outgoing import Outgoing
from postroom.domain.principal import OWNER
from postroom.domain.settings_error import SettingsError
from postroom.system.clock import SystemClock
from postroom.system.loop import Loops
from postroom.system.settings import Settings
from postroom.system.signal import FileMark
from postroom.system.telemetry.attention_meter import AttentionMeter
from postroom.work.attention.accepting import notice_id
from postroom.work.attention.attention import Attention
from postroom.work.attention.auditor import Auditor
from postroom.work.attention.carrying import Carrier
from postroom.work.attention.considering import Considering
from postroom.work.attention.keeper import Keeper
from postroom.work.attention.named_people import in_policy, in_rotations, missing
from postroom.work.attention.notice_book import NoticeBook
from postroom.work.attention.notice_buttons import has_buttons, notice_markup
from postroom.work.attention.policy import Policy
from postroom.work.attention.policy_request import parse_policy
from postroom.work.attention.ports import Drafted
from postroom.work.attention.rotation import Rotation, parse_rotation
from postroom.work.delivery.accept import Acceptance
from postroom.work.delivery.corrections import Corrections
from postroom.work.delivery.plane import Plane
from postroom.world.store.attention.attention import StoredNotices
from postroom.world.store.deliveries.corrections import StoredCorrections
from postroom.world.store.engine.migrate import newest, revision
from postroom.world.store.engine.sole_worker import sqlite_path
from postroom.world.store.people.people import StoredPeople

_ROTATIONS: Final = "attention.rotations."


@dataclass(frozen=True, slots=True, kw_only=True)
class HouseholdNames:
    """Ids of people, by what one calls them."""

    people: StoredPeople

    async def owner(self) -> str | None:
        found = await self.people.find(HOUSEHOLD_OWNER, OWNER)
        return found[0].id if found else None

    async def at(self, channel: str, address: str) -> str | None:
        found = await self.people.at(HOUSEHOLD_OWNER, channel, address)
        return found[0].id if len(found) == 1 else None

    async def places(self, person: str) -> list[tuple[str, str]]:
        found = await self.people.get(HOUSEHOLD_OWNER, person)
        return [(one.channel, one.address) for one in found.addresses] if found is not None else []

    async def called(self, name: str) -> str | None:
        found = await self.people.find(HOUSEHOLD_OWNER, name)
        return found[0].id if len(found) == 1 else None


@dataclass(frozen=True, slots=True, kw_only=True)
class PlaneDoorstep:
    """`button_key`: of the buttons under what a person has to acknowledge; without one there are none."""

    acceptance: Acceptance
    button_key: bytes | None = None

    async def drafted(self, outgoing: Outgoing, request_id: str) -> Drafted:
        placed = await self.acceptance.placed(outgoing)
        draft = await self.acceptance.drafted(placed, request_id=request_id)
        identity = draft.identity
        known = not identity.fresh and await self.acceptance.ledger.find(identity.key) is not None
        return Drafted(
            outgoing=self._with_buttons(placed, identity.key),
            address=draft.new.address,
            key=identity.key,
            fingerprint=identity.fingerprint,
            known=known,
        )

    def _with_buttons(self, placed: Outgoing, key: str) -> Outgoing:
        can = self.acceptance.channels[placed.channel].capabilities
        if self.button_key is None or not has_buttons(placed.wish) or not can.buttons or not can.inbound:
            return placed
        return replace(placed, markup=notice_markup(self.button_key, notice_id(key)))


def household_policy(settings: Settings) -> tuple[Policy | None, Mapping[str, Rotation]]:
    """Raises SettingsError, which names every wrong field."""
    written = dict(settings.attention)
    named = written.pop("rotations", {})
    try:
        rotations = {name: _rotation(name, one) for name, one in _table(named).items()}
        channels = frozenset(known_channels(settings))
        policy = parse_policy(written, channels=channels, path="attention") if written else None
    except ValidationError as error:
        raise SettingsError("\n".join(f"{one.field}: {one.error}." for one in error.fields)) from None
    return policy, rotations


def _table(named: object) -> Mapping[str, object]:
    if not isinstance(named, Mapping):
        raise SettingsError("attention.rotations: must be a table of rotations by name.")
    return named


def _rotation(name: str, written: object) -> Rotation:
    try:
        return parse_rotation(written)
    except ValidationError as error:
        fields = [replace(one, field=f"attention.rotations.{name}.{one.field}") for one in error.fields]
        raise ValidationError.of(fields) from None


def wishes_mark(settings: Settings) -> FileMark:
    """Touched when what people wish has changed, or where they live."""
    return FileMark(settings.home / "attention.changed")


def button_key(settings: Settings) -> bytes:
    return household_key(settings.home, "notice buttons")


def build_attention(settings: Settings, store: OpenedStore, clock: Clock) -> Attention:
    """One for a process; what leaves from here is considered once `attending` has given it a way out."""
    policy, rotations = household_policy(settings)
    book = NoticeBook(
        store=StoredNotices(store.database),
        people=HouseholdNames(people=store.people),
        clock=clock,
        household=policy,
        rotations=rotations,
        zone=settings.household.local_zone,
        woken=store.attention,
        mark=wishes_mark(settings),
    )
    return Attention(book=book)


@dataclass(frozen=True, slots=True, kw_only=True)
class AttentionFindings:
    """`unaccounted`: what breaks a law. `missing`: who is named and not there."""

    unaccounted: tuple[str, ...]
    missing: tuple[str, ...]


async def attention_findings(settings: Settings) -> AttentionFindings | None:
    """Over all that is kept; None where no notice was ever kept. Needs no running household."""
    household_policy(settings)
    if settings.database.startswith("sqlite") and not sqlite_path(settings).exists():
        return None
    store = connect_store(settings)
    try:
        if await store.database.read(revision) != newest():
            return None
        attention = build_attention(settings, store, SystemClock())
        missing = await attention.missing_people()
        if not missing and not attention.book.known:
            return None
        broken = {*(await attention.figures()).unaccounted, *await attention.audit()}
        return AttentionFindings(unaccounted=tuple(sorted(broken)), missing=missing)
    finally:
        await store.database.close()


async def refuse_unknown_people(attention: Attention) -> None:
    """At start, of the settings; raises SettingsError, which names every field with someone who is not there."""
    book = attention.book
    named = [*in_policy(book.household, book.rotations, "attention."), *in_rotations(book.rotations, _ROTATIONS)]
    if wrong := await missing(book.people, named):
        raise SettingsError("\n".join(f"{one.field}: {one.error}." for one in wrong))


@asynccontextmanager
async def attending(
    attention: Attention,
    store: OpenedStore,
    started: AbstractAsyncContextManager[Plane],
    registry: CollectorRegistry,
    loops: Loops,
    key: bytes,
) -> AsyncIterator[Plane]:
    """The plane that asks before it accepts; what attention itself releases leaves by the one that does not."""
    async with started as plane:
        book, queue = attention.book, StoredNotices(store.database)
        corrections = Corrections(plane=plane, record=StoredCorrections(store.database, plane.acceptance.mint))
        carrier = Carrier(book=book, queue=queue, way_out=plane, amends=PlaneAmends(corrections=corrections))
        doorstep = PlaneDoorstep(acceptance=plane.acceptance, button_key=key)
        attention.considering = Considering(book=book, doorstep=doorstep, carrier=carrier)
        keeper = Keeper(book=book, queue=queue, carrier=carrier, channels_down=ChannelsDown(plane))
        auditor = Auditor(attention=attention, queue=queue, meter=AttentionMeter(registry))
        await book.refresh()
        async with (
            loops.running("attention", keeper.look, wake=book.woken),
            loops.running("attention_audit", auditor.look),
        ):
            yield replace(plane, attention=attention)


@dataclass(frozen=True, slots=True)
class ChannelsDown:
    """Channels whose circuit is not closed."""

    plane: Plane

    async def __call__(self) -> frozenset[str]:
        path = self.plane.acceptance
        circuits = {name: await path.breakers.circuit(name) for name in path.channels}
        return frozenset(name for name, one in circuits.items() if one.state is not CircuitState.CLOSED)
