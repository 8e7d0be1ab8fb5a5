"""One account of the settings, as the channel it is."""

from __future__ import annotations

import hmac
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, assert_never

from postroom.channels.apprise.building import address as apprise_address
from postroom.channels.capabilities import KINDS
from postroom.channels.discord.channel import Discord
from postroom.channels.email.building import mailbox
from postroom.channels.email.channel import Email
from postroom.channels.email.incoming.imap import ImapAccount
from postroom.channels.email.oauth import MailAccess, grant_file, mail_provider
from postroom.channels.ntfy.channel import Ntfy
from postroom.channels.slack.channel import Slack
from postroom.channels.telegram.channel import Telegram
from postroom.channels.webhook.channel import address as webhook_address
from postroom.conversations.store import StoredTroubles
from postroom.delivery.rules.limits import SCOPES
from postroom.kernel.http.answers import JsonObject
from postroom.kernel.running.process import household_key
from postroom.kernel.values.errors import PostroomError, SettingsError, StoreUnavailable
from postroom.kernel.values.fields import in_url, web_address
from postroom.message.attachment import FileContents
from postroom.message.channel import (
    UNDECLARED,
    AccountHealth,
    Capabilities,
    Channel,
    KnownChannels,
    ListedAccount,
    Probe,
)
from postroom.message.delivery import Message, Receipt
from postroom.message.inbound import InboundTrouble
from postroom.sandbox.imap import AUTHSERV_ID
from postroom.sandbox.records import sandbox_token
from postroom.settings import Owner, Settings
from postroom.settings.accounts import (
    Account,
    AppriseAccount,
    ChannelSettings,
    DiscordAccount,
    EmailAccount,
    EmailSettings,
    NtfyAccount,
    SlackAccount,
    TelegramAccount,
    TelegramSettings,
    WebhookAccount,
    WebPushAccount,
)
from postroom.settings.model import spacings_seconds, timeouts_seconds
from postroom.settings.peer import Peer
from postroom.settings.written import SHIPPED

if TYPE_CHECKING:
    from collections.abc import Callable

    from postroom.channels.webpush.channel import PushIdentity
    from postroom.people.devices.push import StoredPushDevices
    from postroom.people.person_rules import AddressForms


def account_channel(
    account: Account, home: Path, files: FileContents | None = None, devices: StoredPushDevices | None = None
) -> Channel:
    """Raises SettingsError for credentials that cannot be any; its sentence never repeats them."""
    try:
        return _made(account, home, files, devices)
    except ValueError as error:
        raise SettingsError(f"{section_name(account)}: {error}.") from None


def section_name(account: Account) -> str:
    """Where in the settings it stands."""
    return account.name if isinstance(account.options, TelegramSettings | EmailSettings) else f"channels.{account.name}"


def answers_topic(home: Path, name: str) -> str:
    """A topic is open to all who know it: this one cannot be guessed, and stays the same."""
    key = household_key(home, "answers topic")
    return f"postroom-{hmac.digest(key, name.encode(), 'sha256').hex()[:24]}"


def push_identity(home: Path, name: str, contact: str) -> PushIdentity:
    """Made from the household's own key, so that it stays the same, is known to every process and stands nowhere."""
    from postroom.channels.webpush.channel import identity

    return identity(contact, hmac.digest(household_key(home, "web push"), name.encode(), "sha256"))


def _made(account: Account, home: Path, files: FileContents | None, devices: StoredPushDevices | None) -> Channel:
    """What the sandbox does not play is imported where an account is one: most households have none of these."""
    name, options = account.name, account.options
    match options:
        case ChannelSettings():
            return own_channel(name, options, files)
        case TelegramSettings() | TelegramAccount():
            return Telegram(options.token.reveal(), options.api_base_url, name=name, files=files)
        case EmailSettings() | EmailAccount():
            return _email(name, options, home, files)
        case NtfyAccount():
            topic = options.answers_topic.reveal() or answers_topic(home, name)
            return Ntfy(name, options.url.reveal(), options.token.reveal(), topic, files=files)
        case SlackAccount():
            bot, app = options.bot_token.reveal(), options.app_token.reveal()
            return Slack(name, bot, app, options.api_base_url, files=files)
        case DiscordAccount():
            token, words = options.bot_token.reveal(), options.message_content
            return Discord(name, token, options.api_base_url, message_content=words, files=files)
        case WebhookAccount():
            from postroom.channels.webhook.channel import Webhook

            return Webhook(name, options.url.reveal(), options.secret.reveal(), options.allow_private, files=files)
        case WebPushAccount():
            from postroom.channels.webpush.channel import WebPush

            who = push_identity(home, name, options.contact)
            return WebPush(name, who, devices, allow_private=options.allow_private)
        case AppriseAccount():
            from postroom.channels.apprise.channel import AppriseService

            return AppriseService(name, options.url.reveal(), options.allow_private)
        case _:
            assert_never(options)


def mail_access(name: str, options: EmailSettings | EmailAccount, home: Path) -> MailAccess | None:
    """None where the mailbox has a password."""
    return MailAccess(grant_file(name, home), mail_provider(options), name) if options.by_token else None


def _email(name: str, options: EmailSettings | EmailAccount, home: Path, files: FileContents | None) -> Email:
    if isinstance(options, EmailAccount) and mailbox(options.address) is None:
        raise ValueError("address must be a single e-mail address")
    access = mail_access(name, options, home)
    return Email(
        options.smtp_host,
        options.smtp_port,
        options.security,
        options.login or None,
        None if access else options.password.reveal() or None,
        options.sender,
        name=name,
        imap=_imap(options, access),
        access=access,
        key=reports_key(home),
        files=files,
    )


def reports_key(home: Path) -> bytes:
    """Marks the household's mails, so that a report about one is known to be about it."""
    return household_key(home, "mail that comes back")


def _imap(options: EmailSettings | EmailAccount, access: MailAccess | None) -> ImapAccount | None:
    if not options.imap_host:
        return None
    return ImapAccount(
        host=options.imap_host,
        port=options.imap_port,
        tls=options.imap_tls,
        user=options.address,
        password=options.password.reveal(),
        authserv_id=options.authserv_id,
        reply_tags=options.reply_tags,
        access=access,
    )


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


def _webpush_address(text: str) -> str | None:
    from postroom.channels.webpush.channel import address  # and what is encrypted for a browser with

    return address(text)


_ADDRESS_FORMS: Final[Mapping[str, Callable[[str], str | None]]] = {
    "telegram": Telegram.address,
    "email": Email.address,
    "slack": Slack.address,
    "discord": Discord.address,
    "ntfy": Ntfy.address,
    "webhook": webhook_address,
    "webpush": _webpush_address,
    "apprise": apprise_address,
}


def address_forms(settings: Settings) -> AddressForms:
    kinds = account_kinds(settings)
    return {name: _ADDRESS_FORMS.get(kinds[name]) or _by_its_channel(settings, name) for name in kinds}


def _by_its_channel(settings: Settings, name: str) -> Callable[[str], str | None]:
    """Made when the first address is looked at: a factory may need what only a running household has."""

    account = next(one for one in settings.accounts if one.name == name)

    @cache
    def channel() -> Channel:
        return account_channel(account, settings.home)

    return lambda text: channel().address(text)


# The channels of the household's accounts, or the sandbox's.


SANDBOX_OWNER: Final = Owner(name="Sandbox owner", telegram_chat_id="1000", email="owner@sandbox.example")


def build_channels(
    settings: Settings,
    sandbox: SandboxAddress | None,
    files: FileContents | None = None,
    devices: StoredPushDevices | None = None,
) -> dict[str, Channel]:
    """Raises SettingsError for credentials that cannot be any."""
    if sandbox is None:
        return {account.name: account_channel(account, settings.home, files, devices) for account in settings.accounts}
    kinds = account_kinds(settings)
    return {
        name: sandbox_channel(name, kinds[name], sandbox, settings.home, files)
        for name in configured_channels(settings)
    }


def owner_of(settings: Settings) -> Owner:
    """In the sandbox there is always somebody to write to."""
    if not settings.in_sandbox:
        return settings.owner
    return Owner(
        name=settings.owner.name or SANDBOX_OWNER.name,
        telegram_chat_id=settings.owner.telegram_chat_id or SANDBOX_OWNER.telegram_chat_id,
        email=settings.owner.email or SANDBOX_OWNER.email,
    )


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
    options = settings.channels.get(name)
    if isinstance(options, ChannelSettings):
        return declared(name, options)
    can = KINDS.get(kind, UNDECLARED)
    return replace(can, inbound=False) if _is_deaf(settings, name) else can


def _is_deaf(settings: Settings, name: str) -> bool:
    """Set up to send, and not to hear what people answer."""
    options = {account.name: account.options for account in settings.accounts}.get(name)
    match options:
        case SlackAccount():
            return not options.app_token and not settings.in_sandbox
        case EmailSettings() | EmailAccount():
            return not (options.imap_host and options.authserv_id) and not settings.in_sandbox
        case _:
            return False


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


# A channel that is not ours: the household's settings name the function that makes it.


class Undeclared:
    """A channel written before channels declared what they can: it goes on as it did."""

    def __init__(self, channel: Any, capabilities: Capabilities) -> None:
        self._channel = channel
        self.name: str = channel.name
        self.capabilities = capabilities

    def __repr__(self) -> str:
        return repr(self._channel)

    def address(self, text: str) -> str | None:
        found: str | None = self._channel.address(text)
        return found

    def prepare(self, message: Message) -> Sequence[Any]:
        parts: Sequence[Any] = self._channel.prepare(message)
        return parts

    async def send(self, part: Any, timeout_seconds: float) -> Receipt:
        receipt: Receipt = await self._channel.send(part, timeout_seconds)
        return receipt

    async def close(self) -> None:
        await self._channel.close()


class UndeclaredProbe(Undeclared):
    """One that can be asked whether its credentials work."""

    async def probe(self, timeout_seconds: float) -> str:
        who: str = await self._channel.probe(timeout_seconds)
        return who


def own_channel(name: str, settings: ChannelSettings, files: FileContents | None = None) -> Channel:
    """
    Whoever writes the settings may run code here; nobody else can name a factory.

    One that says it carries files is given the way to their bytes as `files`.
    """
    factory = _factory(name, settings.factory)
    options = {option: value.reveal() for option, value in settings.options.items()}
    said = _said(name, factory)
    given: Mapping[str, object] = {**options, "files": files} if said and said.files else options
    try:
        channel = factory(**given)
    except (TypeError, ValueError) as error:
        raise SettingsError(
            f"channels.{name}: {settings.factory} does not take these options ({error}); correct the section."
        ) from None
    if getattr(channel, "name", None) != name:
        raise SettingsError(
            f"channels.{name}: {settings.factory} makes a channel of another name; call the section like it."
        )
    return _declaring(name, channel, said or UNDECLARED)


def declared(name: str, settings: ChannelSettings) -> Capabilities:
    """What its factory says of it, for parts that never make it; they need not even have its module."""
    try:
        return _said(name, _factory(name, settings.factory)) or UNDECLARED
    except Exception:  # somebody else's module; the part that sends with it says what is wrong
        return UNDECLARED


def _declaring(name: str, channel: Any, otherwise: Capabilities) -> Channel:
    if _said(name, channel) is not None:
        made: Channel = channel
        return made
    return UndeclaredProbe(channel, otherwise) if isinstance(channel, Probe) else Undeclared(channel, otherwise)


def _said(name: str, speaker: Any) -> Capabilities | None:
    said = getattr(speaker, "capabilities", None)
    if isinstance(said, property) or said is None:
        return None
    if not isinstance(said, Capabilities):
        raise SettingsError(f"channels.{name}: capabilities must be a postroom.message.channel.Capabilities.")
    return said


def _factory(name: str, where: str) -> Any:
    module, _, function = where.partition(":")
    try:
        return getattr(import_module(module), function)
    except (ImportError, AttributeError, ValueError):
        raise SettingsError(f"channels.{name}.factory: there is no '{where}'; write it as module:function.") from None


# One account, made against the sandbox: its phone or its mailbox.


@dataclass(frozen=True, slots=True)
class SandboxAddress:
    host: str
    bot_api_port: int
    smtp_port: int
    imap_port: int | None = None
    """None: what people write by mail is not read."""

    @property
    def bot_api_url(self) -> str:
        return web_address(self.host, self.bot_api_port)

    @property
    def control_url(self) -> str:
        return f"{self.bot_api_url}/sandbox/"

    @property
    def smtp_url(self) -> str:
        return f"smtp://{in_url(self.host)}:{self.smtp_port}"

    @property
    def imap_url(self) -> str:
        return f"imap://{in_url(self.host)}:{self.imap_port}"


def sandbox_channel(
    name: str,
    kind: str,
    sandbox: SandboxAddress,
    home: Path,
    files: FileContents | None = None,
) -> Channel:
    url = sandbox.bot_api_url
    match kind:
        case "telegram":
            return Telegram(sandbox_token("" if name == kind else name), url, name=name, files=files)
        case "email":
            sender = "postroom@sandbox.example" if name == kind else f"{name}@sandbox.example"
            imap = _sandbox_channel_imap(sandbox, sender)
            host, port, key = sandbox.host, sandbox.smtp_port, reports_key(home)
            return Email(host, port, "none", None, None, sender, name=name, imap=imap, key=key, files=files)
        case _:
            raise ValueError(f"the sandbox does not play {kind}")


def _sandbox_channel_imap(sandbox: SandboxAddress, address: str) -> ImapAccount | None:
    if sandbox.imap_port is None:
        return None
    return ImapAccount(host=sandbox.host, port=sandbox.imap_port, tls="none", user=address, authserv_id=AUTHSERV_ID)
