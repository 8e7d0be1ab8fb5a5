"""The options of each kind of channel: the household's accounts, a section of the settings each, and one list."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Annotated, Any, Final, Literal, Self

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, model_validator
from pydantic_core import InitErrorDetails, PydanticCustomError

from postroom.kernel.running.process import Secret, SecretUrl
from postroom.kernel.values.fields import did_you_mean

_LONGEST_SECONDS = 366 * 24 * 3600
Positive = Annotated[int, Field(gt=0, le=10**9)]
Seconds = Annotated[float, Field(gt=0, le=_LONGEST_SECONDS)]


class SettingsSection(BaseModel):
    model_config = ConfigDict(
        frozen=True, extra="forbid", allow_inf_nan=False, arbitrary_types_allowed=True, use_attribute_docstrings=True
    )


Port = Annotated[int, Field(ge=0, le=65535)]
Tls = Literal["starttls", "tls", "none"]
_FACTORY: Final = "factory"


class TelegramSettings(SettingsSection):
    """The bot."""

    api_base_url: str = "https://api.telegram.org"
    """Where the Bot API is: a server of your own, or Telegram's."""
    token: Secret = Secret("")
    """The bot's token; in `secrets.toml` or BUTLER_TELEGRAM_TOKEN."""


class MailboxSettings(SettingsSection):
    """What both forms of a mailbox have."""

    smtp_host: str = "smtp.gmail.com"
    """The mail server."""
    smtp_port: Port = 587
    """Its port."""
    imap_host: str = ""
    """Where answers are read; empty: they are not."""
    imap_port: Port = 993
    """Its port."""
    imap_tls: Tls = "tls"
    """`tls` (993), `starttls` (143), or `none`, which is for this machine only."""
    authserv_id: str = ""
    """Whose Authentication-Results are believed: the name your mail server writes there; empty: nobody's."""
    reply_tags: bool = False
    """Mail to box+anything@ comes to the mailbox, so every mail is answered to an address that names it."""
    auth: Literal["password", "oauth2"] = "password"
    """`oauth2`: by the access that `postroom login-mail` was granted."""
    oauth_provider: Literal["", "google", "microsoft"] = ""
    """Who grants it."""
    oauth_client_id: str = ""
    """The client you registered there."""
    oauth_client_secret: Secret = Secret("")
    """Its secret, where it has one."""
    oauth_tenant: str = Field(default="common", pattern=r"^[A-Za-z0-9.-]{1,100}$")
    """The organisation at Microsoft; `common`: any."""
    oauth_token_url: str = ""
    """Another token endpoint than the provider's own."""
    oauth_authorize_url: str = ""
    """Another page than Google's own."""
    oauth_device_url: str = ""
    """Another place for codes than Microsoft's own."""

    @model_validator(mode="after")
    def _granted_by_someone(self) -> Self:
        if self.auth == "oauth2" and not self.oauth_provider:
            raise ValueError('oauth_provider: with auth = "oauth2" it must be google or microsoft')
        return self

    @property
    def by_token(self) -> bool:
        return self.auth == "oauth2"


class EmailSettings(MailboxSettings):
    """The mailbox that mail is sent from."""

    smtp_security: Tls = "starttls"
    """`starttls` (587), `tls` (465), or `none`, which is for this machine only."""
    from_address: str = ""
    """The sender people see; the mailbox itself when empty."""
    address: str = ""
    """The mailbox; in `secrets.toml` or BUTLER_EMAIL_ADDRESS."""
    password: Secret = Secret("")
    """Its password; in `secrets.toml` or BUTLER_EMAIL_PASSWORD."""

    @property
    def sender(self) -> str:
        return self.from_address or self.address

    @property
    def login(self) -> str:
        return self.address

    @property
    def security(self) -> Tls:
        return self.smtp_security


class ChannelSettings(SettingsSection):
    """A channel of your own; one `[channels.NAME]` table each."""

    factory: str
    """`module:function` that is given the options and returns the channel."""
    options: dict[str, Secret] = Field(default_factory=dict)
    """What the function is given, by name."""


class TelegramAccount(SettingsSection):
    """A bot."""

    kind: Literal["telegram"]
    """The kind of account."""
    token: Secret
    """The bot's token, as @BotFather gave it."""
    api_base_url: str = "https://api.telegram.org"
    """Where the Bot API is: a server of your own, or Telegram's."""


class EmailAccount(MailboxSettings):
    """A mailbox that mail is sent from."""

    kind: Literal["email"]
    """The kind of account."""
    address: str
    """The mailbox, which is also the sender people see."""
    password: Secret = Secret("")
    """Its password; empty: no login."""
    smtp_tls: Tls = "starttls"
    """`starttls` (587), `tls` (465), or `none`, which is for this machine only."""

    @property
    def sender(self) -> str:
        return self.address

    @property
    def login(self) -> str:
        return self.address if self.password or self.by_token else ""

    @property
    def security(self) -> Tls:
        return self.smtp_tls


class NtfyAccount(SettingsSection):
    """A server of ntfy."""

    kind: Literal["ntfy"]
    """The kind of account."""
    url: SecretUrl = SecretUrl("https://ntfy.sh")
    """The server."""
    token: Secret = Secret("")
    """An access token of the server; empty: none."""
    answers_topic: Secret = Secret("")
    """The topic buttons answer to; empty: one that only this household knows."""


class SlackAccount(SettingsSection):
    """An app in a workspace of Slack."""

    kind: Literal["slack"]
    """The kind of account."""
    bot_token: Secret
    """The bot's token (`xoxb-…`)."""
    app_token: Secret = Secret("")
    """The app's token (`xapp-…`), with which answers are heard; empty: they are not."""
    api_base_url: str = "https://slack.com/api"
    """Where Slack's API is."""


class DiscordAccount(SettingsSection):
    """A bot of Discord."""

    kind: Literal["discord"]
    """The kind of account."""
    bot_token: Secret
    """The bot's token."""
    api_base_url: str = "https://discord.com/api/v10"
    """Where Discord's API is."""
    message_content: bool = False
    """Ask for the words of every message in servers, too; Discord grants it in the bot's settings."""


class WebhookAccount(SettingsSection):
    """A server that takes messages as Standard Webhooks."""

    kind: Literal["webhook"]
    """The kind of account."""
    url: Secret
    """Where messages are posted."""
    secret: Secret = Secret("")
    """What they are signed with (`whsec_…`); empty: they are not."""
    allow_private: bool = False
    """The address may be one of this machine or of a private network."""


class WebPushAccount(SettingsSection):
    """Notifications of the household's own app, on the devices that people switch on in the console."""

    kind: Literal["webpush"]
    """The kind of account."""
    contact: str
    """Whom those who run a push service may write to: `mailto:you@your.domain` or `https://your.domain`."""
    allow_private: bool = False
    """A push service may be on this machine or in a private network, and without TLS."""


class AppriseAccount(SettingsSection):
    """Any other service, by way of Apprise."""

    kind: Literal["apprise"]
    """The kind of account."""
    url: Secret
    """The service, as Apprise writes it."""
    allow_private: bool = False
    """The address may be one of this machine or of a private network."""


ChannelAccount = (
    ChannelSettings
    | TelegramAccount
    | EmailAccount
    | NtfyAccount
    | SlackAccount
    | DiscordAccount
    | WebhookAccount
    | WebPushAccount
    | AppriseAccount
)
AccountOptions = ChannelAccount | TelegramSettings | EmailSettings

ACCOUNT_SECTIONS: Final[Mapping[str, type[SettingsSection]]] = MappingProxyType(
    {
        "telegram": TelegramAccount,
        "email": EmailAccount,
        "ntfy": NtfyAccount,
        "slack": SlackAccount,
        "discord": DiscordAccount,
        "webhook": WebhookAccount,
        "webpush": WebPushAccount,
        "apprise": AppriseAccount,
    }
)
"""By kind; a table without a kind names a factory."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Account:
    """One that is set up; what addresses and messages call its channel is its name."""

    name: str
    kind: str
    options: AccountOptions


def kind_of_options(options: AccountOptions) -> str:
    match options:
        case ChannelSettings():
            return _FACTORY
        case TelegramSettings():
            return "telegram"
        case EmailSettings():
            return "email"
        case _:
            return options.kind


def section_of_table(table: object) -> type[SettingsSection]:
    """What a `[channels.NAME]` table is read by; raises ValidationError for a kind there is not."""
    if not isinstance(table, Mapping) or "kind" not in table:
        return ChannelSettings
    kind = table["kind"]
    if isinstance(kind, str) and kind in ACCOUNT_SECTIONS:
        return ACCOUNT_SECTIONS[kind]
    known = ", ".join(ACCOUNT_SECTIONS)
    near = did_you_mean(kind, ACCOUNT_SECTIONS) if isinstance(kind, str) else "."
    raise wrong_key(("kind",), f"there is no such kind{near} There are {known}")


def _read(table: Any) -> Any:
    if isinstance(table, SettingsSection):
        return table
    if isinstance(table, Mapping) and not table.keys() & {"kind", _FACTORY}:
        raise wrong_key(("kind",), f"is required, one of {', '.join(ACCOUNT_SECTIONS)}; or a factory of your own")
    return section_of_table(table).model_validate(table)


def wrong_key(place: tuple[str, ...], sentence: str) -> ValidationError:
    """Our own sentence, under the key it is about."""
    error = PydanticCustomError("value_error", "{error}", {"error": ValueError(sentence)})
    return ValidationError.from_exception_data("channels", [InitErrorDetails(type=error, loc=place, input=None)])


AccountTable = Annotated[ChannelAccount, BeforeValidator(_read)]
