"""The mail server of the installed suite, by the names that tests of this repository use."""

from __future__ import annotations

from postroom.testing.servers.mail import MailScript as Script
from postroom.testing.servers.mail import MailServer
from postroom.testing.servers.mail import TakenMail as Received

__all__ = ["MailServer", "Received", "Script"]
