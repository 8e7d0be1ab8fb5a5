"""The settings of a household with an account of every kind at these servers."""

from __future__ import annotations

from typing import Any

from postroom.sandbox.accounts import SANDBOX_OWNER
from postroom.sandbox.imap import AUTHSERV_ID
from postroom.sandbox.records import SANDBOX_TOKEN
from tests.fakes.server import Fakes


def accounts_at(services: Fakes) -> dict[str, Any]:
    url, host = services.bot_api_url, services.options.host
    mailbox = {
        "address": "postroom@sandbox.example",
        "password": "any",
        "smtp_host": host,
        "smtp_port": services.smtp_port,
        "smtp_security": "none",
        "imap_host": host,
        "imap_port": services.imap_port,
        "imap_tls": "none",
        "authserv_id": AUTHSERV_ID,
    }
    return {
        "sandbox": False,
        "approvals": {"enabled": False},
        "owner": SANDBOX_OWNER.model_dump(),
        "telegram": {"token": SANDBOX_TOKEN, "api_base_url": url},
        "email": mailbox,
        "channels": channels_at(url),
    }


def channels_at(url: str) -> dict[str, dict[str, str]]:
    slack = {"bot_token": "xoxb-40290-fake", "app_token": "xapp-1-40290-fake", "api_base_url": f"{url}/api"}
    return {
        "slack": {"kind": "slack", **slack},
        "discord": {"kind": "discord", "bot_token": "fake.40290.bot", "api_base_url": f"{url}/api/v10"},
        "ntfy": {"kind": "ntfy", "url": f"{url}/ntfy"},
    }
