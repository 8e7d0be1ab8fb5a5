"""Devices put together: the record the channel reads, the page in the console, and the door for what is pressed."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from fastapi import APIRouter

from postroom.app.account_channel import push_identity
from postroom.app.channels import build_channels
from postroom.app.household_key import household_key
from postroom.app.questions import AskingParts, ear
from postroom.app.sandbox_channel import SandboxAddress
from postroom.app.store import OpenedStore
from postroom.domain.clock import Clock
from postroom.domain.ids import IdMint
from postroom.domain.ports import Channel, Outbound
from postroom.doors.channels.press_route import press_router
from postroom.system.seal import Seal
from postroom.system.settings import Settings
from postroom.system.settings.accounts import WebPushAccount
from postroom.work.people.devices import Devices
from postroom.world.store.people.push_devices import StoredPushDevices


def stored_devices(settings: Settings, store: OpenedStore, clock: Clock) -> StoredPushDevices:
    seal = Seal(household_key(settings.home, "push devices"))
    return StoredPushDevices(store.database, store.people, seal, clock)


def open_channels(
    settings: Settings, sandbox: SandboxAddress | None, store: OpenedStore, clock: Clock
) -> dict[str, Channel]:
    """Those of the household, with what they read from its record."""
    return build_channels(settings, sandbox, store.files, stored_devices(settings, store, clock))


def devices_of(
    settings: Settings, store: OpenedStore, outbound: Outbound, clock: Clock, mint: IdMint
) -> Devices | None:
    """Of the first account that notifies; None where the settings name none."""
    found = next(iter(push_accounts(settings).items()), None)
    if found is None:
        return None
    from postroom.world.channels.webpush.endpoint import checked  # and what is encrypted for a browser with

    name, options = found
    return Devices(
        channel=name,
        key=push_identity(settings.home, name, options.contact).public_key,
        record=stored_devices(settings, store, clock),
        check=partial(checked, allow_private=options.allow_private),
        outbound=outbound,
        clock=clock,
        mint=mint.mint,
        wait_seconds=settings.delivery.notify_wait_seconds,
    )


def pressing(settings: Settings, parts: AskingParts, outbound: Outbound, base_url: str) -> APIRouter:
    return press_router(frozenset(push_accounts(settings)), ear(parts, {}, outbound, base_url))


def push_accounts(settings: Settings) -> Mapping[str, WebPushAccount]:
    """In the sandbox nothing leaves, so there are none."""
    if settings.in_sandbox:
        return {}
    return {one.name: one.options for one in settings.accounts if isinstance(one.options, WebPushAccount)}
