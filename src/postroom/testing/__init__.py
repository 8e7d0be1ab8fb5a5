"""
For authors of channels: the suite that every channel passes, with fake providers on real sockets.

`docs/how-to/test-a-channel.md` shows how to use it. It needs `pip install 'postroom[testing]'`.
"""

from __future__ import annotations

from collections.abc import Callable

from postroom.testing.case import (
    FILES,
    TEXT,
    Case,
    HearingChannel,
    HeldFiles,
    PersonSide,
    Place,
    Proofs,
    Situation,
    Words,
)
from postroom.testing.servers.http import (
    FakeProvider,
    FakeServer,
    HttpProvider,
    Reply,
    TakenRequest,
    Trouble,
    WebSocketProvider,
    closed_port,
    raw_reply,
    reply,
)
from postroom.testing.servers.mail import MailScript, MailServer, TakenMail
from postroom.testing.words import HttpWords, OwnWords, SmtpWords

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
    from postroom.testing.run import suite as tests  # pytest and hypothesis are loaded by those who run them

    return tests(case)
