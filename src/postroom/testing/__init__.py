"""
For authors of channels: the suite that every channel passes, with fake providers on real sockets.

`docs/how-to/test-a-channel.md` shows how to use it. It needs `pip install 'postroom[testing]'`.
"""

from __future__ import annotations

from collections.abc import Callable

from postroom.testing.case import TEXT, Case, HearingChannel, PersonSide, Place, Proofs, Words
from postroom.testing.held_files import FILES, HeldFiles
from postroom.testing.http_words import HttpWords
from postroom.testing.own_words import OwnWords
from postroom.testing.servers.fake_server import FakeProvider, FakeServer, closed_port
from postroom.testing.servers.http import HttpProvider
from postroom.testing.servers.http_reply import Reply, Trouble, raw_reply, reply
from postroom.testing.servers.http_request import TakenRequest
from postroom.testing.servers.mail import MailScript, MailServer, TakenMail
from postroom.testing.servers.websocket import WebSocketProvider
from postroom.testing.situation import Situation
from postroom.testing.smtp_words import SmtpWords

__all__ = [
    "FILES",
    "TEXT",
    "Case",
    "FakeProvider",
    "FakeServer",
    "HearingChannel",
    "HeldFiles",
    "HttpProvider",
    "HttpWords",
    "MailScript",
    "MailServer",
    "OwnWords",
    "PersonSide",
    "Place",
    "Proofs",
    "Reply",
    "Situation",
    "SmtpWords",
    "TakenMail",
    "TakenRequest",
    "Trouble",
    "WebSocketProvider",
    "Words",
    "closed_port",
    "raw_reply",
    "reply",
    "suite",
]


def suite(case: Case) -> dict[str, Callable[..., None]]:
    """Tests for a test file of pytest: `globals().update(suite(CASE))`."""
    from postroom.testing.suite import suite as tests  # pytest and hypothesis are loaded by those who run them

    return tests(case)
