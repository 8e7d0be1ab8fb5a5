"""Every setting of a household but its channels' accounts: default and unit; what is wrong is said under its key."""

from __future__ import annotations

import os
from hashlib import sha256
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, SerializeAsAny, ValidationInfo, field_validator, model_validator

from postroom.kernel.running.process import Secret, SecretUrl
from postroom.kernel.values.fields import did_you_mean, in_url, web_address
from postroom.kernel.values.principal import HOUSEHOLD_OWNER
from postroom.kernel.values.zones import is_zone
from postroom.message.delivery import OnUncertain, Priority
from postroom.message.wishes import RESERVED_NAMES, Risk
from postroom.settings.accounts import (
    Account,
    AccountOptions,
    AccountTable,
    Port,
    Positive,
    Seconds,
    SettingsSection,
    kind_of_options,
    section_named,
    wrong_key,
)
from postroom.settings.written import SHIPPED

_CHANNEL = r"^[a-z][a-z0-9_-]{0,40}$"
ChatId = Annotated[str, Field(coerce_numbers_to_str=True)]  # a number in TOML as well as a text


class LimitSettings(SettingsSection):
    """How many messages may leave."""

    global_per_minute: Positive = 60
    """Messages the whole household may send in a minute."""
    in_flight: Positive = 100
    """Deliveries that may be under way at once."""
    recipient_per_minute: Positive = 10
    """Messages one person may be sent in a minute; of it each sender has at most half while another waits."""
    reply_multiplier: Annotated[float, Field(ge=1, le=1000)] = 2.0
    """A reply costs one part in this many of a message: 2 means half."""
    channels: dict[str, Positive] = Field(default_factory=dict)
    """Messages a minute by channel and scope, on top of the built-in ones: {"telegram.bot" = 30}."""


class RetrySettings(SettingsSection):
    """What happens after a failure that may pass."""

    max_attempts: Positive = 3
    """Calls to the provider for one delivery, the first one included."""
    base_seconds: Seconds = 1.0
    """The pause before the second attempt; it doubles each time."""
    max_seconds: Seconds = 60.0
    """No pause is longer, unless the provider asks for it."""
    jitter: Annotated[float, Field(ge=0, le=1)] = 0.3
    """Each pause is shortened or lengthened at random by up to this share."""
    attempts_by_priority: dict[Priority, Positive] = Field(default_factory=dict)
    """Another number of attempts for `high`, `medium` or `low`."""


class BreakerSettings(SettingsSection):
    """When a channel that keeps failing is left alone for a while."""

    failure_threshold: Positive = 5
    """Failures in a row that open the circuit."""
    recovery_seconds: Seconds = 60.0
    """How long it stays open before it is tried again."""
    half_open_probes: Positive = 2
    """Calls that may try it at the same time."""
    half_open_successes: Positive = 2
    """Successes that close it."""


class TimeoutSettings(SettingsSection):
    """How long one call to a provider may take."""

    telegram_seconds: Seconds = 15.0
    """Telegram."""
    email_seconds: Seconds = 45.0
    """E-mail, from connecting to the final dot."""
    default_seconds: Seconds = 30.0
    """Every other channel."""


class DeliverySettings(SettingsSection):
    """How stored messages are worked on."""

    on_uncertain: OnUncertain = OnUncertain.RESEND
    """After a call whose outcome nobody knows: `resend` (marked as a possible duplicate) or `hold` (a dead letter)."""
    on_uncertain_by_channel: dict[str, OnUncertain] = Field(default_factory=dict)
    """The same for one channel."""
    lease_seconds: Seconds = 30.0
    """How long a worker may hold a delivery before another one takes it over."""
    sweep_seconds: Seconds = 5.0
    """How often work that a lost worker left behind is looked for."""
    notify_wait_seconds: Annotated[float, Field(ge=0, le=600)] = 20.0
    """How long `notify` waits for the outcome before it answers `accepted`."""
    telegram_chat_interval_seconds: Annotated[float, Field(ge=0, le=3600)] = 1.0
    """Pause between two messages to the same Telegram chat."""
    slots_per_channel: Positive = 32
    """Calls to one channel's provider at a time, per process."""


class MessagesSettings(SettingsSection):
    """What stands in a message beside the sender's own words."""

    sign: bool = False
    """A chat message begins with the name of the butler that sends it ("health: …"); e-mail has it in a header."""
    mark_repeats: bool = True
    """After a call whose outcome is unknown, the copy that is sent again ends with "(possibly repeated)"."""
    outbox: tuple[Path, ...] = ()
    """Folders below which callers may name files to attach; relative to the data directory."""
    files: str = "files"
    """Where attached files are kept: a folder, relative to the data directory."""
    file_megabytes_per_day: Positive = 1000
    """How much one caller may hand in within a day."""


class ConversationSettings(SettingsSection):
    """What people write to butlers."""

    messages_per_minute: Positive = 30
    """Messages of one sender that are read within a minute; what comes after them is not, and the sender is told so."""
    sessions_per_day: Positive = 100
    """Messages of one person that butlers answer within 24 hours; each is a session of a model."""
    tokens_per_day: Positive = 5_000_000
    """Tokens that butlers' models may read and write for one person within 24 hours, as their programs count."""


class AskSettings(SettingsSection):
    """Where questions to people are shown, beside their channels."""

    in_client: bool = True
    """Show questions as forms in MCP clients that call with a person's own token; never permissions or secrets."""


class QuestionSettings(SettingsSection):
    """When questions come to which channels of a person."""

    next_channel_seconds: Annotated[float, Field(ge=0, le=24 * 3600)] = 300.0
    """How long a question is on a person's first channel alone before the next one shows it, too; 0: not at all."""
    open_per_asker: Positive = 50
    """Questions of one agent, program or person that may wait for an answer at once; one more is refused."""


class ApprovalSettings(SettingsSection):
    """Which messages wait for a person."""

    enabled: bool | None = None
    """Whether messages to strangers wait for a person; unset: as soon as real credentials are set."""
    expiry_hours: Annotated[float, Field(gt=0, le=24 * 366)] = 48.0
    """How long one waits; then it fails, and its sender sees why (`notify_status`)."""
    approvers: list[str] = Field(default_factory=list)
    """Ids of the people who may see and decide what waits, beside the owner; a program never may."""
    replies: Literal["heard", "ask"] = "heard"
    """`heard`: an answer to a message that really came in needs no approval; `ask`: it does."""
    risk: Risk = Risk.MEDIUM
    """Of a message, unless its channel says otherwise."""
    risk_by_channel: dict[str, Risk] = Field(default_factory=dict)
    """The same for one channel."""
    max_pending_per_origin: Positive = 100
    """More than this from one butler is refused as overload."""
    ask_owner: bool | None = None
    """Show the owner, and approvers who are trusted, a card about each message that waits; unset: yes."""
    ask_channel: str = ""
    """Over which account; empty: the first one each of them has an address on."""
    phone: Literal["none", "low", "medium", "high"] = "medium"
    """The highest risk that may be decided outside the console; above it the card leads there."""


class InboxSettings(SettingsSection):
    """Notes that agents leave for people."""

    hourly_cap: Positive = 10
    """Notes one person may be left within an hour."""
    email_enabled: bool | None = None
    """Off: nobody gets e-mail copies, whatever their preferences say; unset: on in the sandbox alone."""
    digest: bool = True
    """E-mail copies that waited together leave as one e-mail."""
    lease_seconds: Seconds = 60.0
    """How long a worker may hold a letter that asks whose an address is before another one takes it over."""
    sweep_seconds: Seconds = 5.0
    """How often such letters that are due are looked for."""


class DeskSettings(SettingsSection):
    """The popup at the person's own screen."""

    history_limit: Annotated[int, Field(ge=0, le=100)] = 5
    """Exchanges shown above the message."""
    show_seconds: Seconds = 10.0
    """How long a window may take to appear."""
    display_only_seconds: Seconds = 10.0
    """How long a message without a question stays."""
    typing_grace_seconds: Seconds = 10.0
    """A timeout waits until this long after the last key."""
    progress_seconds: Seconds = 10.0
    """How often a waiting client is told that the call is alive."""
    silence_seconds: Seconds = 60.0
    """A window that says nothing for so long is taken for dead."""
    questions: bool = True
    """Whether the household's open questions to you are shown as popups."""
    settle_seconds: Seconds = 1.0
    """So long a question of the household must have been there before it takes an answer."""
    token: Secret = Secret("")
    """What a client of `postroom desk --http` must bear; empty: whoever is on this machine may ask."""


class ServingSettings(SettingsSection):
    """How many callers a process serves at once, whoever they are."""

    connections: Positive = 2000
    """Connections in all; fewer when the system allows this process fewer open files."""
    connections_per_peer: Positive = 500
    """Connections from one address; the oldest that is not being served, or sends nothing more, makes room."""
    requests_per_caller: Positive = 200
    """Requests of one token that may be under way at once, those that wait and streams among them."""
    head_seconds: Seconds = 10.0
    """How long the head of a request may take."""
    mcp_sessions: Positive = 1000
    """MCP sessions that stay open on one port; the least recently used goes first."""
    mcp_sessions_per_caller: Positive = 100
    """The same of one caller."""


class PostgresSettings(SettingsSection):
    """Per process; behind PgBouncer in transaction mode see docs/how-to/postgresql.md#behind-pgbouncer."""

    pool_size: Positive = 8
    """Connections for deliveries."""
    other_pool_size: Annotated[int, Field(gt=0, le=1000)] = 10
    """Connections for everything else, opened as they are needed."""
    prepared_statements: bool = True
    """Off behind PgBouncer in transaction mode."""
    notices: Literal["listen", "poll"] = "listen"
    """How a process hears of others' work: `listen`, or `poll`, which looks every second."""
    listen_url: SecretUrl = SecretUrl("")
    """A way around the pooler, for LISTEN; empty: database_url."""

    @property
    def most_connections(self) -> int:
        return self.pool_size + self.other_pool_size + (1 if self.notices == "listen" else 0)


class RetentionSettings(SettingsSection):
    """What `postroom prune` goes by when it is not told otherwise."""

    settled_days: Positive = 90
    """How long a settled delivery stays in the ledger."""
    question_days: Positive = 30
    """How long the words of a question and its answer stay after its end; who and when stays for a year."""
    audit_days: Positive = 365
    """How long it stays written down who signed in and who changed what."""
    batch_size: Annotated[int, Field(gt=0, le=10_000)] = 500
    """Deliveries that are removed at a time, at most; fewer when they take long."""


class HouseholdSettings(SettingsSection):
    """What counts for everybody who has not said otherwise."""

    zone: str = ""
    """The time zone of people who have named none, such as Europe/Vienna; empty: this machine's."""

    @field_validator("zone")
    @classmethod
    def _known(cls, zone: str) -> str:
        if zone and not is_zone(zone):
            raise ValueError("is no known time zone, such as Europe/Vienna")
        return zone

    @property
    def local_zone(self) -> str:
        return self.zone or machine_zone()


def machine_zone() -> str:
    """UTC where the machine does not say."""
    link = os.path.realpath("/etc/localtime").partition("/zoneinfo/")[2]
    named = (os.environ.get("TZ", "").lstrip(":"), link.removeprefix("Etc/"))
    return next((one for one in named if is_zone(one)), "UTC")


class Owner(SettingsSection):
    """The person this household belongs to; messages without a recipient go here."""

    name: str = ""
    """What the owner is called."""
    telegram_chat_id: ChatId | None = None
    """The owner's chat with the bot; a number or a text."""
    email: str | None = None
    """The owner's e-mail address."""
    addresses: tuple[str, ...] = ()
    """More addresses, on any channel, such as slack:U123; tried after these two, in this order."""


class ContactSettings(SettingsSection):
    """Somebody this household can write to; one `[[contacts]]` table each."""

    name: Annotated[str, Field(min_length=1)]
    """The contact's name."""
    aliases: tuple[str, ...] = ()
    """Other names."""
    telegram_chat_id: ChatId | None = None
    """The chat with the bot; a number or a text."""
    email: str | None = None
    """E-mail address."""
    addresses: tuple[str, ...] = ()
    """More addresses, on any channel, such as slack:U123."""
    agent: str | None = None
    """An agent address of the contact's own, such as agent://household/bob."""
    trusted: bool = False
    """Messages to this contact need no approval."""


def keyed_addresses(one: Owner | ContactSettings) -> dict[str, str | None]:
    """Those that have a key of their own, under it."""
    return {"telegram_chat_id": one.telegram_chat_id, "email": one.email}


class ConnectorSettings(SettingsSection):
    """An assistant's adapter; one `[connectors.NAME]` table each."""

    agents: tuple[str, ...] = (HOUSEHOLD_OWNER,)
    """The senders its token may speak for."""
    public_url: str = ""
    """Where the assistant reaches the adapter."""
    household_url: str = ""
    """Where an adapter that runs alone reaches the API."""


class Ports(SettingsSection):
    """Where each part listens; 0 lets the system choose."""

    switchboard: Port = 40100
    """The switchboard."""
    general: Port = 40101
    """The butler `general`."""
    health: Port = 40103
    """The butler `health`."""
    messenger: Port = 40104
    """The messenger."""
    api: Port = 40200
    """HTTP for people and assistants."""
    chatgpt: Port = 40201
    """The adapter for ChatGPT."""
    gemini: Port = 40202
    """The adapter for Gemini."""
    sandbox: Port = 40290
    """The sandbox's Bot API and its page."""
    sandbox_smtp: Port = 40225
    """The sandbox's mail server."""
    sandbox_imap: Port = 40243
    """The sandbox's mailbox, over IMAP."""


class TelemetrySettings(SettingsSection):
    """What is logged and measured."""

    log_level: Literal["DEBUG", "INFO", "WARNING", "ERROR"] = "INFO"
    """The least important lines that are logged."""
    otlp_endpoint: str | None = None
    """Where traces are sent (OTLP over HTTP; needs the extra `otlp`)."""


class Settings(SettingsSection):
    home: Path
    """The data directory."""
    url: str = ""
    """The API of a household elsewhere; empty: the one on this machine."""
    token: Secret = Secret("")
    """What to show there."""
    database_url: SecretUrl = SecretUrl("")
    """sqlite:///FILE or postgresql://…; empty: a file in the data directory."""
    redis_url: SecretUrl = SecretUrl("")
    """redis://…, for limits and circuits that several processes share; empty: none."""
    roster: Path | None = None
    """A folder of butlers; unset: the shipped ones."""
    host: str = "127.0.0.1"
    """The address to listen on."""
    allowed_hosts: tuple[str, ...] = ()
    """Names this machine is reached by, beside localhost."""
    allowed_origins: tuple[str, ...] = ()
    """Web pages that may call, by origin."""
    endpoints: dict[str, str] = Field(default_factory=dict)
    """Where parts on other machines are: name and URL of /mcp."""
    sandbox: bool | None = None
    """Unset: on while no provider credentials are set."""
    limits: LimitSettings = LimitSettings()
    retry: RetrySettings = RetrySettings()
    breaker: BreakerSettings = BreakerSettings()
    timeouts: TimeoutSettings = TimeoutSettings()
    delivery: DeliverySettings = DeliverySettings()
    messages: MessagesSettings = MessagesSettings()
    conversations: ConversationSettings = ConversationSettings()
    telegram: SerializeAsAny[AccountOptions] = Field(default_factory=lambda: section_named("telegram")())
    email: SerializeAsAny[AccountOptions] = Field(default_factory=lambda: section_named("email")())
    ask: AskSettings = AskSettings()
    questions: QuestionSettings = QuestionSettings()
    approvals: ApprovalSettings = ApprovalSettings()
    inbox: InboxSettings = InboxSettings()
    desk: DeskSettings = DeskSettings()
    serving: ServingSettings = ServingSettings()
    postgres: PostgresSettings = PostgresSettings()
    retention: RetentionSettings = RetentionSettings()
    household: HouseholdSettings = HouseholdSettings()
    owner: Owner = Owner()
    contacts: tuple[ContactSettings, ...] = ()
    attention: dict[str, Any] = Field(default_factory=dict)
    """When notices may reach people: quiet hours, slots, budgets, escalation; and `rotations` by name."""
    connectors: dict[str, ConnectorSettings] = Field(default_factory=dict)
    channels: dict[Annotated[str, Field(pattern=_CHANNEL)], AccountTable] = Field(default_factory=dict)
    ports: Ports = Ports()
    telemetry: TelemetrySettings = TelemetrySettings()

    @field_validator(*SHIPPED, mode="before")
    @classmethod
    def _by_its_folder(cls, table: Any, info: ValidationInfo) -> Any:
        return section_named(str(info.field_name)).model_validate(table)

    @field_validator("channels")
    @classmethod
    def _ours_stay_ours(cls, channels: dict[str, AccountOptions], info: ValidationInfo) -> dict[str, AccountOptions]:
        for name, options in channels.items():
            if name in RESERVED_NAMES:
                raise wrong_key((name,), "cannot be the name of an account")
            if name in SHIPPED and kind_of_options(options) != name:
                raise wrong_key((name,), f'cannot be replaced: an account of this name has kind = "{name}"')
            if name in SHIPPED and info.data[name].model_fields_set:
                raise wrong_key((name,), f"[{name}] is set as well, and there can be only one of them")
        return channels

    @model_validator(mode="after")
    def _asked_where_there_is_an_account(self) -> Settings:
        wished = self.approvals.ask_channel
        known = {*SHIPPED, *self.channels}
        if wished and wished not in known:
            near = did_you_mean(wished, known)
            raise wrong_key(
                ("approvals", "ask_channel"), f"there is no such account{near} There are {', '.join(sorted(known))}"
            )
        return self

    @property
    def has_credentials(self) -> bool:
        return bool(self.channels) or any(getattr(self, name).has_credentials for name in SHIPPED)

    @property
    def in_sandbox(self) -> bool:
        return self.sandbox if self.sandbox is not None else not self.has_credentials

    @property
    def accounts(self) -> tuple[Account, ...]:
        """Those that are set up, in the order they are tried."""
        ours = {name: self.channels.get(name, getattr(self, name)) for name in SHIPPED}
        first = [Account(name=name, kind=name, options=one) for name, one in ours.items() if one.is_set]
        others = {name: one for name, one in self.channels.items() if name not in SHIPPED}
        return (
            *first,
            *(Account(name=name, kind=kind_of_options(one), options=one) for name, one in others.items()),
        )

    @property
    def approvals_on(self) -> bool:
        return self.approvals.enabled if self.approvals.enabled is not None else not self.in_sandbox

    @property
    def email_copies_on(self) -> bool:
        return self.inbox.email_enabled if self.inbox.email_enabled is not None else self.in_sandbox

    @property
    def ask_owner_on(self) -> bool:
        return self.approvals.ask_owner is not False

    def connector(self, name: str) -> ConnectorSettings:
        """One that nobody configured and that is not ours speaks for nobody."""
        known = ConnectorSettings() if name in ("chatgpt", "gemini") else ConnectorSettings(agents=())
        return self.connectors.get(name, known)

    @property
    def served_hosts(self) -> tuple[str, ...]:
        """The names under which callers may ask for this machine, as they stand in a URL."""
        return (*self.allowed_hosts, in_url(self.host))

    @property
    def tokens_file(self) -> Path:
        return self.home / "tokens.json"

    @property
    def household_id(self) -> str:
        """Tells this household from others to everybody who asks, and tells nothing else about it."""
        return sha256(str(self.home.resolve()).encode("utf-8", "surrogateescape")).hexdigest()[:16]

    @property
    def api_url(self) -> str:
        return self.url.rstrip("/") or web_address(self.host, self.ports.api)

    @property
    def database(self) -> str:
        return self.database_url.reveal() or f"sqlite:///{self.home / 'postroom.db'}"

    @property
    def sqlite_file(self) -> Path | None:
        """sqlite:///relative.db or sqlite:////absolute.db; None of another database."""
        path = self.database.removeprefix("sqlite:///")
        return Path(path).expanduser() if self.database.startswith("sqlite") else None

    @property
    def has_no_file_yet(self) -> bool:
        return self.sqlite_file is not None and not self.sqlite_file.exists()


def set_up(settings: Settings) -> tuple[str, ...]:
    """Those that can be used outside the sandbox."""
    return tuple(name for name in SHIPPED if getattr(settings, name).is_set)


def timeouts_seconds(settings: Settings) -> dict[str, float]:
    """By kind, as is the pause."""
    return {"telegram": settings.timeouts.telegram_seconds, "email": settings.timeouts.email_seconds}


def spacings_seconds(settings: Settings) -> dict[str, float]:
    return {"telegram": settings.delivery.telegram_chat_interval_seconds}
