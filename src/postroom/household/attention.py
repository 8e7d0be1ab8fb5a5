"""Attention and the inbox put together: the household's policy, what the doors call, and what runs beside the plane."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from postroom.attention.attention import Attention, AttentionMeter, Auditor, in_policy, in_rotations, missing
from postroom.attention.considering import Considering
from postroom.attention.desk import AttentionDesk
from postroom.attention.keeper import Amends, Carrier, Keeper
from postroom.attention.model import Policy
from postroom.attention.rules.policy import parse_policy
from postroom.attention.rules.times import Rotation, parse_rotation
from postroom.attention.store import MOMENTS
from postroom.attention.turn import HouseholdNames, NoticeBook
from postroom.conversations.mute_and_snooze import NoticeEar
from postroom.delivery.accept import Plane
from postroom.delivery.afterwards.corrections import Corrections
from postroom.household.channels import known_channels
from postroom.household.people import household_people, premises_with_people
from postroom.household.store import KEY_PREFIX, Premises, World, existing_store, redis_client, wishes_mark
from postroom.inbox.copies import ConfirmationPost
from postroom.inbox.inbox import Feed, Inbox, InboxMeter
from postroom.inbox.model import Terms
from postroom.kernel.guard.tools import answers_for_themselves
from postroom.kernel.running.clock import Clock, SystemClock
from postroom.kernel.running.loop import Signal
from postroom.kernel.running.process import household_key
from postroom.kernel.values.errors import SettingsError, ValidationError
from postroom.message.channel import AnswersPresses, Channel, Outbound
from postroom.questions.asked_people import AskedPeople
from postroom.settings import Settings

if TYPE_CHECKING:
    from postroom.inbox.store.hourly_cap_redis import RedisHourlyCap


_ROTATIONS: Final = "attention.rotations."


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


def button_key(settings: Settings) -> bytes:
    return household_key(settings.home, "notice buttons")


def build_attention(place: Premises) -> Attention:
    """One for a process; what leaves from here is considered once `attending` has given it a way out."""
    settings, store = place.settings, place.store
    policy, rotations = household_policy(settings)
    book = NoticeBook(
        store=store.notices,
        people=HouseholdNames(people=store.people),
        clock=place.clock,
        household=policy,
        rotations=rotations,
        zone=settings.household.local_zone,
        letters=frozenset(name for name, can in known_channels(settings).items() if can.style == "letter"),
        woken=store.attention_bell,
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
    async with existing_store(settings) as store:
        if store is None:
            return None
        attention = build_attention(Premises(settings=settings, store=store, clock=SystemClock()))
        missing = await attention.missing_people()
        if not missing and not attention.book.known:
            return None
        broken = {*(await attention.figures()).unaccounted, *await attention.audit()}
        return AttentionFindings(unaccounted=tuple(sorted(broken)), missing=missing)


async def refuse_unknown_people(attention: Attention) -> None:
    """At start, of the settings; raises SettingsError, which names every field with someone who is not there."""
    book = attention.book
    named = [*in_policy(book.household, book.rotations, "attention."), *in_rotations(book.rotations, _ROTATIONS)]
    if wrong := await missing(book.people, named):
        raise SettingsError("\n".join(f"{one.field}: {one.error}." for one in wrong))


@asynccontextmanager
async def attending(
    world: World, attention: Attention, started: AbstractAsyncContextManager[Plane]
) -> AsyncIterator[Plane]:
    """The plane that asks before it accepts; what attention itself releases leaves by the one that does not."""
    async with started as plane:
        book, key = attention.book, button_key(world.settings)
        corrections = Corrections(plane=plane, record=world.store.corrections)
        carrier = Carrier(book=book, way_out=plane, amends=Amends(corrections=corrections))
        attention.considering = Considering(book=book, acceptance=plane.acceptance, carrier=carrier, button_key=key)
        keeper = Keeper(book=book, carrier=carrier, channels_down=plane.channels_down)
        moments = world.timekeeper.moments
        auditor = Auditor(attention=attention, moments=moments, meter=AttentionMeter(world.registry))
        await book.refresh()
        async with (
            world.loops.running("attention", keeper.look, wake=book.woken),
            world.timekeeper.keeping(MOMENTS, keeper.take, keeper.waits_on),
            world.loops.running("attention_audit", auditor.look),
        ):
            yield replace(plane, attention=attention)


# The doors of attention, put together: what the tools and REST work with, and who hears what people press.


def attention_desk(place: Premises, attention: Attention) -> AttentionDesk:
    return AttentionDesk(
        attention=attention,
        people=household_people(place),
        channels=known_channels(place.settings),
        decides=answers_for_themselves(place.approvers),
    )


@asynccontextmanager
async def opened_attention(settings: Settings) -> AsyncIterator[AttentionDesk]:
    """Without a running household, on the same database; one that runs sees what was done there within a second."""
    async with premises_with_people(settings) as place:
        attention = build_attention(place)
        await attention.book.refresh()
        yield attention_desk(place, attention)


def notice_ear(place: Premises, attention: Attention, channels: Mapping[str, Channel], outbound: Outbound) -> NoticeEar:
    """Hears where the bots are what people press and write about notices."""
    return NoticeEar(
        attention=attention,
        people=AskedPeople(book=place.store.people),
        said=place.store.talk,
        key=button_key(place.settings),
        outbound=outbound,
        bots={name: channel for name, channel in channels.items() if isinstance(channel, AnswersPresses)},
        clock=place.clock,
    )


# Put the inbox together, and keep it running.


@asynccontextmanager
async def running_inbox(world: World, book: NoticeBook) -> AsyncIterator[Inbox]:
    """`book`: of attention, which keeps the quiet hours."""
    settings, store, clock = world.settings, world.store, world.clock
    notes = store.notes
    feed = Feed(notes, clock)
    async with _quick_cap(settings, clock) as quick_cap:
        inbox = Inbox(
            notes=notes,
            wishes=store.preferences,
            confirmations=store.confirmations,
            attention=book,
            feed=feed,
            email_due=Signal(),
            clock=clock,
            meter=InboxMeter(world.registry),
            mint=store.ids.mint,
            hourly_cap=settings.inbox.hourly_cap,
            terms=Terms(
                email_enabled=settings.email_copies_on,
                digest=settings.inbox.digest,
                household=book.household,
                zone=book.zone,
            ),
            quick_cap=quick_cap,
        )
        await inbox.keep_to_terms()
        async with world.loops.running("inbox_feed", feed.look, wake=feed.anybody, stopping=feed.stopping):
            try:
                yield inbox
            finally:
                feed.stop()


@asynccontextmanager
async def asking_to_confirm(world: World, inbox: Inbox, plane: Plane) -> AsyncIterator[None]:
    """Runs where the delivery plane runs: there its letters become deliveries."""
    settings = world.settings
    post = ConfirmationPost(
        queue=inbox.confirmations,
        plane=plane,
        clock=inbox.clock,
        base_url=world.pages_url,
        lease_seconds=settings.inbox.lease_seconds,
        sweep_seconds=settings.inbox.sweep_seconds,
        copies=inbox.terms.email_enabled,
    )
    async with world.loops.running("confirmations", post.look, wake=inbox.email_due):
        yield


@asynccontextmanager
async def _quick_cap(settings: Settings, clock: Clock) -> AsyncIterator[RedisHourlyCap | None]:
    if not settings.redis_url:
        yield None
        return
    async with redis_client(settings.redis_url) as client:
        from postroom.inbox.store.hourly_cap_redis import RedisHourlyCap

        yield RedisHourlyCap(client, KEY_PREFIX, clock, settings.inbox.hourly_cap)
