"""E-mail as the house knows it: what is set of a mailbox, and what it can do."""

from __future__ import annotations

from typing import Final, Literal, Self

from pydantic import Field, model_validator

from postroom.butlers.modules import BotScope, ChannelModule
from postroom.kernel.running.process import Secret
from postroom.message.channel import Capabilities
from postroom.settings.accounts import AccountOptions, ChannelKind, Port

Tls = Literal["starttls", "tls", "none"]


class MailboxSettings(AccountOptions):
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

    @property
    def hears(self) -> bool:
        """Nothing is believed of a mail whose sender no server has proved."""
        return bool(self.imap_host and self.authserv_id)

    def credential(self, option: str) -> Secret:
        """Tokens are the channel's own affair: who was granted access has what a password is for."""
        return Secret("granted") if option == "password" and self.by_token else super().credential(option)


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
    def is_set(self) -> bool:
        return bool(self.sender)

    @property
    def has_credentials(self) -> bool:
        return bool(self.password) or self.by_token

    @property
    def sender(self) -> str:
        return self.from_address or self.address

    @property
    def login(self) -> str:
        return self.address

    @property
    def security(self) -> Tls:
        return self.smtp_security


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


class EmailBot(BotScope):
    enabled: bool = True
    """Off: the messenger sends no e-mail."""
    address_env: str = "BUTLER_EMAIL_ADDRESS"
    """The variable that holds the mailbox."""
    password_env: str = "BUTLER_EMAIL_PASSWORD"  # noqa: S105  # the name of a variable
    """The variable that holds its password."""


class EmailModule(ChannelModule):
    bot: EmailBot = EmailBot()


EMAIL: Final = Capabilities(
    formats=("plain", "markdown"),
    replies=True,
    threads=True,
    files=True,
    most_files=20,
    most_files_bytes=18_000_000,  # on the way it grows by a third and more, and many servers take no more than 25 MB
    inbound=True,
    comes_back=True,
    style="letter",
    timeout_seconds=45.0,
    bot_per_minute=20,
    user_per_minute=10,
)
"""With a mailbox to read, and a server that proves who wrote; without them nothing is heard."""
KIND: Final = ChannelKind(
    title="e-mail",
    guide="channels.md#e-mail",
    options=EmailAccount,
    capabilities=EMAIL,
    channel="postroom.channels.email.channel:Email",
    section=EmailSettings,
    module=EmailModule,
    credentials="BUTLER_EMAIL_ADDRESS and BUTLER_EMAIL_PASSWORD, and [email] smtp_host",
)
