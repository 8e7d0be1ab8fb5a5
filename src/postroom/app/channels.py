"""The channels the settings give credentials for, or the sandbox's."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from postroom.app.own_channel import own_channel
from postroom.domain.ports import Channel
from postroom.domain.web_address import in_url, web_address
from postroom.programs.sandbox.server import SANDBOX_TOKEN
from postroom.system.settings import Owner, Settings, SettingsError
from postroom.system.settings.model import EmailSettings, TelegramSettings
from postroom.world.channels.email import Email
from postroom.world.channels.telegram import Telegram

SANDBOX_OWNER: Final = Owner(name="Sandbox owner", telegram_chat_id="1000", email="owner@sandbox.example")


@dataclass(frozen=True, slots=True)
class SandboxAddress:
    host: str
    bot_api_port: int
    smtp_port: int

    @property
    def bot_api_url(self) -> str:
        return web_address(self.host, self.bot_api_port)

    @property
    def control_url(self) -> str:
        return f"{self.bot_api_url}/sandbox/"

    @property
    def smtp_url(self) -> str:
        return f"smtp://{in_url(self.host)}:{self.smtp_port}"


def build_channels(settings: Settings, sandbox: SandboxAddress | None) -> dict[str, Channel]:
    """Raises SettingsError for credentials that cannot be any."""
    if sandbox is not None:
        return _sandboxed(sandbox)
    channels: dict[str, Channel] = {}
    if settings.telegram.token:
        channels["telegram"] = _made("telegram", lambda: _telegram(settings.telegram))
    if settings.email.address or settings.email.from_address:
        channels["email"] = _made("email", lambda: _email(settings.email))
    return channels | {name: own_channel(name, one) for name, one in settings.channels.items()}


def _made(section: str, make: Callable[[], Channel]) -> Channel:
    try:
        return make()
    except ValueError as error:
        raise SettingsError(f"{section}: {error}.") from None


def _telegram(settings: TelegramSettings) -> Telegram:
    return Telegram(settings.token.reveal(), settings.api_base_url)


def _email(settings: EmailSettings) -> Email:
    return Email(
        settings.smtp_host,
        settings.smtp_port,
        settings.smtp_security,
        settings.address or None,
        settings.password.reveal() or None,
        settings.from_address or settings.address,
    )


def _sandboxed(sandbox: SandboxAddress) -> dict[str, Channel]:
    return {
        "telegram": Telegram(SANDBOX_TOKEN, sandbox.bot_api_url),
        "email": Email(sandbox.host, sandbox.smtp_port, "none", None, None, "postroom@sandbox.example"),
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
