"""Where the sandbox listens, the accounts it plays there, and who it is that they write to."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from postroom.kernel.values.fields import in_url, web_address
from postroom.sandbox.imap import AUTHSERV_ID
from postroom.sandbox.records import sandbox_token
from postroom.settings import Owner

SANDBOX_OWNER: Final = Owner(name="Sandbox owner", telegram_chat_id="1000", email="owner@sandbox.example")


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


def played(name: str, kind: str, sandbox: SandboxAddress) -> dict[str, Any]:
    """What such an account's table would say; raises ValueError for a kind that nobody plays here."""
    match kind:
        case "telegram":
            token = sandbox_token("" if name == kind else name)
            return {"kind": kind, "token": token, "api_base_url": sandbox.bot_api_url}
        case "email":
            reading = {"imap_host": sandbox.host, "imap_port": sandbox.imap_port, "imap_tls": "none"}
            return {
                "kind": kind,
                "address": f"{'postroom' if name == kind else name}@{AUTHSERV_ID}",
                "smtp_host": sandbox.host,
                "smtp_port": sandbox.smtp_port,
                "smtp_tls": "none",
                "authserv_id": AUTHSERV_ID,
                **(reading if sandbox.imap_port is not None else {}),
            }
        case _:
            raise ValueError(f"the sandbox does not play {kind}")
