"""The channels the settings give credentials for, or the sandbox's."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from postroom.app.own_channel import own_channel
from postroom.channels.email import Email
from postroom.channels.telegram import Telegram
from postroom.ports import Channel
from postroom.sandbox.server import SANDBOX_TOKEN
from postroom.settings import Owner, Settings

KNOWN_CHANNELS: Final = frozenset({"telegram", "email"})
SANDBOX_OWNER: Final = Owner(name="Sandbox owner", telegram_chat_id="1000", email="owner@sandbox.example")


@dataclass(frozen=True, slots=True)
class SandboxAddress:
    host: str
    bot_api_port: int
    smtp_port: int

    @property
    def control_url(self) -> str:
        return f"http://{self.host}:{self.bot_api_port}/sandbox/"


def build_channels(settings: Settings, sandbox: SandboxAddress | None) -> dict[str, Channel]:
    if sandbox is not None:
        return _sandboxed(sandbox)
    channels: dict[str, Channel] = {}
    if settings.telegram.token:
        channels["telegram"] = Telegram(settings.telegram.token.reveal(), settings.telegram.api_base_url)
    if settings.email.address or settings.email.from_address:
        channels["email"] = Email(
            settings.email.smtp_host,
            settings.email.smtp_port,
            settings.email.smtp_security,
            settings.email.address or None,
            settings.email.password.reveal() or None,
            settings.email.from_address or settings.email.address,
        )
    return channels | {name: own_channel(name, one) for name, one in settings.channels.items()}


def known_channels(settings: Settings) -> frozenset[str]:
    """What a message may name; one without credentials is known and unavailable."""
    return KNOWN_CHANNELS | settings.channels.keys()


def _sandboxed(sandbox: SandboxAddress) -> dict[str, Channel]:
    return {
        "telegram": Telegram(SANDBOX_TOKEN, f"http://{sandbox.host}:{sandbox.bot_api_port}"),
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
