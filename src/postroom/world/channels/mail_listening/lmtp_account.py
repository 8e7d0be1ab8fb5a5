"""Where a mail server of our own hands over the mail for the household."""

from __future__ import annotations

from dataclasses import dataclass

from postroom.world.channels.mailbox import is_this_machine


@dataclass(frozen=True, slots=True, kw_only=True)
class LmtpAccount:
    """
    LMTP knows no login: whoever reaches the place is believed to be our mail server, so it is on this machine.

    `socket` is the path of a Unix socket, and comes before host and port.
    """

    host: str = "127.0.0.1"
    port: int = 2424
    socket: str = ""
    user: str = ""
    authserv_id: str = ""
    reply_tags: bool = False

    def __post_init__(self) -> None:
        if not self.socket and not is_this_machine(self.host):
            raise ValueError("lmtp_host must be on this machine, for LMTP asks no one who they are; or set lmtp_socket")

    @property
    def place(self) -> str:
        return self.socket or f"{self.host}:{self.port}"
