"""The accounts of the settings as the channels they are, what each can do, and how it is doing."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import TYPE_CHECKING, Final

from postroom.conversations.store import StoredTroubles
from postroom.delivery.rules.limits import SCOPES
from postroom.household.own_channel import declared, own_channel
from postroom.kernel.http.answers import JsonObject
from postroom.kernel.values.errors import PostroomError, SettingsError, StoreUnavailable
from postroom.message.attachment import FileContents
from postroom.message.channel import AccountHealth, Capabilities, Channel, KnownChannels, ListedAccount
from postroom.message.inbound import InboundTrouble
from postroom.sandbox.accounts import SANDBOX_OWNER, SandboxAddress, played
from postroom.settings import Owner, Settings
from postroom.settings.accounts import FACTORY, Account, ChannelSettings, Surroundings, channel_kind, section_named
from postroom.settings.model import spacings_seconds, timeouts_seconds
from postroom.settings.peer import Peer
from postroom.settings.written import SHIPPED

if TYPE_CHECKING:
    from postroom.people.devices.push import StoredPushDevices
    from postroom.people.person_rules import AddressForms


def account_channel(account: Account, surroundings: Surroundings) -> Channel:
    """Raises SettingsError for credentials that cannot be any; its sentence never repeats them."""
    try:
        if isinstance(account.options, ChannelSettings):
            return own_channel(account.name, account.options, surroundings.files)
        return channel_kind(account.kind).opened(account.name, account.options, surroundings)
    except ValueError as error:
        raise SettingsError(f"{section_name(account)}: {error}.") from None


def section_name(account: Account) -> str:
    """Where in the settings it stands."""
    is_own = account.name in SHIPPED and isinstance(account.options, section_named(account.name))
    return account.name if is_own else f"channels.{account.name}"


# The household's channels with what they can do, and their health as the messenger tells it.


_TOOL_SECONDS: Final = 10.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Accounts:
    settings: Settings
    channels: KnownChannels
    messenger: Peer
    troubles: StoredTroubles | None = None

    async def listed(self) -> list[ListedAccount]:
        """Never fails: without the messenger everything is known but the health."""
        circuits = (await self._told("messenger_circuit_status")).get("circuits", {})
        throttles = (await self._told("messenger_rate_limit_status")).get("provider_throttles", {})
        deaf = {one.channel: one for one in await self._deaf()}
        set_up, kinds = configured_channels(self.settings), account_kinds(self.settings)
        return [
            ListedAccount(
                name=name,
                kind=kinds.get(name, name),
                configured=circuits.get(name, {}).get("configured", name in set_up),
                capabilities=can,
                health=_health(circuits[name], throttles.get(name)) if name in circuits else None,
                trouble=deaf.get(name),
            )
            for name, can in self.channels.items()
        ]

    async def _deaf(self) -> Sequence[InboundTrouble]:
        try:
            return await self.troubles.listed() if self.troubles else ()
        except StoreUnavailable:
            return ()

    async def _told(self, tool: str) -> JsonObject:
        try:
            return await self.messenger.call(tool, {}, _TOOL_SECONDS)
        except PostroomError:
            return {}


def _health(circuit: JsonObject, throttle: JsonObject | None) -> AccountHealth:
    return AccountHealth(
        circuit=circuit["state"],
        reason=circuit["trip_reason"],
        retry_after_seconds=circuit["retry_after_seconds"],
        throttled_seconds=throttle["retry_after_seconds"] if throttle else None,
    )


# What counts as an address on each channel the settings know, without opening any of them.


def address_forms(settings: Settings) -> AddressForms:
    return {
        name: _by_its_channel(settings, name) if kind == FACTORY else channel_kind(kind).address
        for name, kind in account_kinds(settings).items()
    }


def _by_its_channel(settings: Settings, name: str) -> Callable[[str], str | None]:
    """Made when the first address is looked at: a factory may need what only a running household has."""

    account = next(one for one in settings.accounts if one.name == name)

    @cache
    def channel() -> Channel:
        return account_channel(account, Surroundings(home=settings.home))

    return lambda text: channel().address(text)


# The channels of the household's accounts, or the sandbox's.


def build_channels(
    settings: Settings,
    sandbox: SandboxAddress | None,
    files: FileContents | None = None,
    devices: StoredPushDevices | None = None,
) -> dict[str, Channel]:
    """Raises SettingsError for credentials that cannot be any."""
    surroundings = Surroundings(home=settings.home, files=files, devices=devices)
    accounts = settings.accounts if sandbox is None else _played(settings, sandbox)
    return {account.name: account_channel(account, surroundings) for account in accounts}


def _played(settings: Settings, sandbox: SandboxAddress) -> Iterator[Account]:
    kinds = account_kinds(settings)
    for name in configured_channels(settings):
        options = channel_kind(kinds[name]).options.model_validate(played(name, kinds[name], sandbox))
        yield Account(name=name, kind=kinds[name], options=options)


def owner_of(settings: Settings) -> Owner:
    """In the sandbox there is always somebody to write to."""
    if not settings.in_sandbox:
        return settings.owner
    return SANDBOX_OWNER.model_copy(update={name: value for name, value in settings.owner if value})


# Every channel a message may name, with what it can do and what the settings say about it.


def known_channels(settings: Settings, channels: Mapping[str, Channel] | None = None) -> dict[str, Capabilities]:
    """One without credentials is known and unavailable; one that has been made speaks for itself."""
    named = {name: _declared(settings, name, kind) for name, kind in account_kinds(settings).items()}
    made = {name: channel.capabilities for name, channel in (channels or {}).items()}
    return _as_set(settings, named | made)


def account_kinds(settings: Settings) -> dict[str, str]:
    """Of every account that may be named; one that the settings name by its factory is a kind of its own."""
    return {name: name for name in SHIPPED} | {one.name: one.kind for one in settings.accounts}


def configured_channels(settings: Settings) -> tuple[str, ...]:
    """Those with credentials, or the sandbox's, in the order they are tried."""
    if not settings.in_sandbox:
        return tuple(account.name for account in settings.accounts)
    return tuple(name for name, kind in account_kinds(settings).items() if kind in SHIPPED)


def usable_channels(settings: Settings) -> tuple[str, ...]:
    """The same, and never none: the first one's refusal says what is missing."""
    return configured_channels(settings) or SHIPPED[:1]


def _declared(settings: Settings, name: str, kind: str) -> Capabilities:
    """One that is set up to send, and not to hear what people answer, hears nothing."""
    options = {account.name: account.options for account in settings.accounts}.get(name)
    if isinstance(options, ChannelSettings):
        return declared(name, options)
    can = channel_kind(kind).capabilities
    is_deaf = options is not None and not options.hears and not settings.in_sandbox
    return replace(can, inbound=False) if is_deaf else can


def _as_set(settings: Settings, known: Mapping[str, Capabilities]) -> dict[str, Capabilities]:
    """The household's own numbers win over what a channel asks for."""
    timeouts, spacings, kinds = timeouts_seconds(settings), spacings_seconds(settings), account_kinds(settings)
    return {
        name: replace(
            one,
            timeout_seconds=timeouts.get(kinds.get(name, name), one.timeout_seconds),
            spacing_seconds=spacings.get(kinds.get(name, name), one.spacing_seconds),
            bot_per_minute=settings.limits.channels.get(f"{name}.{SCOPES[0]}", one.bot_per_minute),
            user_per_minute=settings.limits.channels.get(f"{name}.{SCOPES[1]}", one.user_per_minute),
        )
        for name, one in known.items()
    }
