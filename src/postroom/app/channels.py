"""The channels of the household's accounts, or the sandbox's."""

from __future__ import annotations

from typing import Final

from postroom.app.account_channel import account_channel
from postroom.app.known_channels import account_kinds, configured_channels
from postroom.app.sandbox_channel import SandboxAddress, sandbox_channel
from postroom.domain.file_contents import FileContents
from postroom.domain.ports import Channel
from postroom.domain.push_device import PushDevices
from postroom.system.settings import Owner, Settings

SANDBOX_OWNER: Final = Owner(name="Sandbox owner", telegram_chat_id="1000", email="owner@sandbox.example")


def build_channels(
    settings: Settings,
    sandbox: SandboxAddress | None,
    files: FileContents | None = None,
    devices: PushDevices | None = None,
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
