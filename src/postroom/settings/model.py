"""Every setting, its default and its unit."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from postroom.domain.agent_address import HOUSEHOLD_OWNER
from postroom.domain.approval import Risk
from postroom.domain.delivery import OnUncertain, Priority
from postroom.settings.secret import Secret, SecretUrl

_LONGEST_SECONDS = 366 * 24 * 3600
Positive = Annotated[int, Field(gt=0, le=10**9)]
Seconds = Annotated[float, Field(gt=0, le=_LONGEST_SECONDS)]
ChatId = Annotated[str, Field(coerce_numbers_to_str=True)]  # a number in TOML as well as a text
Port = Annotated[int, Field(ge=0, le=65535)]


class Section(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False, arbitrary_types_allowed=True)


class LimitSettings(Section):
    global_per_minute: Positive = 60
    in_flight: Positive = 100
    recipient_per_minute: Positive = 10
    reply_multiplier: Annotated[float, Field(ge=1, le=1000)] = 2.0
    channels: dict[str, Positive] = Field(default_factory=dict)  # on top of the built-in ones


class RetrySettings(Section):
    max_attempts: Positive = 3
    base_seconds: Seconds = 1.0
    max_seconds: Seconds = 60.0
    jitter: Annotated[float, Field(ge=0, le=1)] = 0.3
    attempts_by_priority: dict[Priority, Positive] = Field(default_factory=dict)


class BreakerSettings(Section):
    failure_threshold: Positive = 5
    recovery_seconds: Seconds = 60.0
    half_open_probes: Positive = 2
    half_open_successes: Positive = 2


class TimeoutSettings(Section):
    telegram_seconds: Seconds = 15.0
    email_seconds: Seconds = 45.0
    default_seconds: Seconds = 30.0


class DeliverySettings(Section):
    on_uncertain: OnUncertain = OnUncertain.RESEND
    on_uncertain_by_channel: dict[str, OnUncertain] = Field(default_factory=dict)
    lease_seconds: Seconds = 30.0
    sweep_seconds: Seconds = 5.0
    notify_wait_seconds: Annotated[float, Field(ge=0, le=600)] = 20.0
    telegram_chat_interval_seconds: Annotated[float, Field(ge=0, le=3600)] = 1.0
    slots_per_channel: Positive = 32


class TelegramSettings(Section):
    api_base_url: str = "https://api.telegram.org"
    token: Secret = Secret("")


class EmailSettings(Section):
    smtp_host: str = "smtp.gmail.com"
    smtp_port: Port = 587
    smtp_security: Literal["starttls", "tls", "none"] = "starttls"
    from_address: str = ""
    address: str = ""
    password: Secret = Secret("")


class ApprovalSettings(Section):
    enabled: bool | None = None  # unset: on as soon as real credentials are set
    expiry_hours: Annotated[float, Field(gt=0, le=24 * 366)] = 48.0
    replies: Literal["heard", "ask"] = "heard"  # heard: an answer to a message that really came in needs no approval
    risk: Risk = Risk.MEDIUM
    risk_by_channel: dict[str, Risk] = Field(default_factory=dict)
    max_pending_per_origin: Positive = 100
    sweep_seconds: Seconds = 30.0
    ask_owner: bool | None = None  # unset: not in the sandbox
    ask_channel: Literal["", "telegram", "email"] = ""  # unset: the first one the owner has an address on


class InboxSettings(Section):
    hourly_cap: Positive = 10
    email_enabled: bool = False  # off: nobody gets e-mail copies, whatever their preferences say
    digest: bool = True  # what waited for the end of quiet hours leaves as one e-mail
    lease_seconds: Seconds = 60.0
    sweep_seconds: Seconds = 5.0


class PostgresSettings(Section):
    """Per process; behind PgBouncer in transaction mode see docs/how-to/pgbouncer.md."""

    pool_size: Positive = 8  # connections for deliveries
    other_pool_size: Annotated[int, Field(gt=0, le=1000)] = 10  # for everything else, half of them kept open
    prepared_statements: bool = True
    notices: Literal["listen", "poll"] = "listen"  # poll: looks every second instead
    listen_url: SecretUrl = SecretUrl("")  # a way around the pooler, for LISTEN; unset: database_url

    @property
    def most_connections(self) -> int:
        return self.pool_size + self.other_pool_size + (1 if self.notices == "listen" else 0)


class RetentionSettings(Section):
    """What `postroom prune` goes by when it is not told otherwise."""

    settled_days: Positive = 90  # in the ledger after it is settled
    archive_days: Positive | None = None  # in the archive after that; unset: for ever
    batch_size: Annotated[int, Field(gt=0, le=10_000)] = 200


class DeskSettings(Section):
    history_limit: Annotated[int, Field(ge=0, le=100)] = 5
    toolkit: Literal["auto", "tk", "qt"] = "auto"
    show_seconds: Seconds = 10.0
    display_only_seconds: Seconds = 10.0
    typing_grace_seconds: Seconds = 10.0
    progress_seconds: Seconds = 10.0
    silence_seconds: Seconds = 60.0


class Owner(Section):
    name: str = ""
    telegram_chat_id: ChatId | None = None
    email: str | None = None


class Contact(Section):
    name: Annotated[str, Field(min_length=1)]
    aliases: tuple[str, ...] = ()
    telegram_chat_id: ChatId | None = None
    email: str | None = None
    agent: str | None = None
    trusted: bool = False


class ConnectorSettings(Section):
    agents: tuple[str, ...] = (HOUSEHOLD_OWNER,)  # the senders its token may speak for
    public_url: str = ""  # where the assistant reaches the adapter
    household_url: str = ""  # where an adapter that runs alone reaches the API


class Ports(Section):
    switchboard: Port = 40100
    general: Port = 40101
    health: Port = 40103
    messenger: Port = 40104
    api: Port = 40200
    chatgpt: Port = 40201
    gemini: Port = 40202
    sandbox: Port = 40290
    sandbox_smtp: Port = 40225


class TelemetrySettings(Section):
    log_level: Literal["DEBUG", "INFO", "WARNING", "ERROR"] = "INFO"
    otlp_endpoint: str | None = None


class Settings(Section):
    home: Path
    url: str = ""  # of a household's API elsewhere; unset: the one on this machine
    token: Secret = Secret("")  # what to show there
    database_url: SecretUrl = SecretUrl("")
    redis_url: SecretUrl = SecretUrl("")
    roster: Path | None = None
    host: str = "127.0.0.1"
    allowed_hosts: tuple[str, ...] = ()  # names this machine is reached by, beside localhost
    allowed_origins: tuple[str, ...] = ()
    endpoints: dict[str, str] = Field(default_factory=dict)  # where parts on other machines are: name -> URL of /mcp
    sandbox: bool | None = None  # unset: on while no provider credentials are set
    limits: LimitSettings = LimitSettings()
    retry: RetrySettings = RetrySettings()
    breaker: BreakerSettings = BreakerSettings()
    timeouts: TimeoutSettings = TimeoutSettings()
    delivery: DeliverySettings = DeliverySettings()
    telegram: TelegramSettings = TelegramSettings()
    email: EmailSettings = EmailSettings()
    approvals: ApprovalSettings = ApprovalSettings()
    inbox: InboxSettings = InboxSettings()
    desk: DeskSettings = DeskSettings()
    postgres: PostgresSettings = PostgresSettings()
    retention: RetentionSettings = RetentionSettings()
    owner: Owner = Owner()
    contacts: tuple[Contact, ...] = ()
    connectors: dict[str, ConnectorSettings] = Field(default_factory=dict)
    ports: Ports = Ports()
    telemetry: TelemetrySettings = TelemetrySettings()

    @property
    def has_credentials(self) -> bool:
        return bool(self.telegram.token) or bool(self.email.password)

    @property
    def in_sandbox(self) -> bool:
        return self.sandbox if self.sandbox is not None else not self.has_credentials

    @property
    def approvals_on(self) -> bool:
        return self.approvals.enabled if self.approvals.enabled is not None else not self.in_sandbox

    @property
    def ask_owner_on(self) -> bool:
        return self.approvals.ask_owner if self.approvals.ask_owner is not None else not self.in_sandbox

    def connector(self, name: str) -> ConnectorSettings:
        """One that nobody configured and that is not ours speaks for nobody."""
        known = ConnectorSettings() if name in ("chatgpt", "gemini") else ConnectorSettings(agents=())
        return self.connectors.get(name, known)

    @property
    def tokens_file(self) -> Path:
        return self.home / "tokens.json"

    @property
    def api_url(self) -> str:
        return self.url.rstrip("/") or f"http://{self.host}:{self.ports.api}"

    @property
    def database(self) -> str:
        return self.database_url.reveal() or f"sqlite:///{self.home / 'postroom.db'}"
