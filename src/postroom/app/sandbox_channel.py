"""One account, made against the sandbox: its phone or its mailbox."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from postroom.app.account_channel import reports_key
from postroom.domain.file_contents import FileContents
from postroom.domain.ports import Channel
from postroom.domain.web_address import in_url, web_address
from postroom.programs.sandbox.bot_name import sandbox_token
from postroom.programs.sandbox.imap.mail_bytes import AUTHSERV_ID
from postroom.world.channels.email import Email
from postroom.world.channels.mail_listening.account import ImapAccount
from postroom.world.channels.telegram import Telegram


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


def sandbox_channel(
    name: str,
    kind: str,
    sandbox: SandboxAddress,
    home: Path,
    files: FileContents | None = None,
) -> Channel:
    url = sandbox.bot_api_url
    match kind:
        case "telegram":
            return Telegram(sandbox_token("" if name == kind else name), url, name=name, files=files)
        case "email":
            sender = "postroom@sandbox.example" if name == kind else f"{name}@sandbox.example"
            imap = _imap(sandbox, sender)
            host, port, key = sandbox.host, sandbox.smtp_port, reports_key(home)
            return Email(host, port, "none", None, None, sender, name=name, imap=imap, key=key, files=files)
        case _:
            raise ValueError(f"the sandbox does not play {kind}")


def _imap(sandbox: SandboxAddress, address: str) -> ImapAccount | None:
    if sandbox.imap_port is None:
        return None
    return ImapAccount(host=sandbox.host, port=sandbox.imap_port, tls="none", user=address, authserv_id=AUTHSERV_ID)
