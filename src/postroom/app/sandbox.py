"""Start the sandbox on the ports that were bound for it."""

from __future__ import annotations

from contextlib import AsyncExitStack
from typing import Final

from postroom.app.parts import SANDBOX, SANDBOX_IMAP, SANDBOX_SMTP
from postroom.app.sandbox_channel import SandboxAddress
from postroom.programs.sandbox.server import Sandbox, SandboxOptions
from postroom.system.serving.listeners import Listeners
from postroom.system.settings import Settings

_REACHED_AT: Final = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104 - one who listens everywhere listens there too


async def start_sandbox(settings: Settings, listeners: Listeners, stack: AsyncExitStack) -> SandboxAddress:
    settings.home.mkdir(parents=True, exist_ok=True, mode=0o700)
    options = SandboxOptions(
        host=settings.host,
        bot_api_socket=listeners[SANDBOX],
        smtp_socket=listeners[SANDBOX_SMTP],
        imap_socket=listeners[SANDBOX_IMAP],
        ledger_path=settings.home / "sandbox.db",
        household=settings.household_id,
    )
    sandbox = await stack.enter_async_context(Sandbox(options))
    return SandboxAddress(_host(settings), sandbox.bot_api_port, sandbox.smtp_port, sandbox.imap_port)


def sandbox_elsewhere(settings: Settings) -> SandboxAddress:
    """In another process of this household."""
    ports = settings.ports
    return SandboxAddress(_host(settings), ports.sandbox, ports.sandbox_smtp, ports.sandbox_imap)


def addresses_of(sandbox: SandboxAddress) -> dict[str, str]:
    return {SANDBOX: sandbox.control_url, SANDBOX_SMTP: sandbox.smtp_url, SANDBOX_IMAP: sandbox.imap_url}


def _host(settings: Settings) -> str:
    return _REACHED_AT.get(settings.host, settings.host)
