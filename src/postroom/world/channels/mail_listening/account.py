"""The mailbox that answers are read from."""

from __future__ import annotations

import ssl
from dataclasses import dataclass, field

from postroom.world.channels.mail_oauth.access import MailAccess
from postroom.world.channels.mail_security import Security
from postroom.world.channels.mailbox import is_this_machine


@dataclass(frozen=True, slots=True, kw_only=True)
class ImapAccount:
    """
    `authserv_id` is the name under which the server that receives our mail writes its Authentication-Results.

    Without it no sender is proved, so no mail answers anything; bounces are heard all the same. `reply_tags`: the
    server takes mail for box+anything@domain, so a reply may name what it answers there, too.
    """

    host: str
    port: int = 993
    tls: Security = "tls"
    user: str = ""
    password: str = field(default="", repr=False)
    mailbox: str = "INBOX"
    authserv_id: str = ""
    reply_tags: bool = False
    access: MailAccess | None = field(default=None, repr=False)
    """Set: tokens of it are shown instead of the password."""
    tls_context: ssl.SSLContext | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        if self.tls not in ("starttls", "tls", "none"):
            raise ValueError("imap_tls must be starttls, tls or none")
        if self.tls == "none" and (self.password or self.access) and not is_this_machine(self.host):
            raise ValueError("reading mail needs starttls or tls unless the mail server is on this machine")
        if not self.user:
            raise ValueError("reading mail needs the mailbox's login")
        if any(character in "\r\n\0" for character in self.user + self.password + self.mailbox):
            raise ValueError("the mailbox's login must be one line")
