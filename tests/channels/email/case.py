"""E-mail in the installed suite."""

from __future__ import annotations

from datetime import UTC, datetime
from email import message_from_bytes
from email.policy import default as default_policy

from tests.contract.mail_server import Received, Script

from postroom.channels.email.building import OutgoingMail
from postroom.channels.email.channel import Email
from postroom.kernel.values.errors import DeliveryTimeout, OutcomeUncertain, TargetUnavailable, ValidationError
from postroom.testing import FILES, Case, MailServer, Place, Proofs, Situation, SmtpWords

NOW = datetime(2026, 3, 1, 12, 0, 0, tzinfo=UTC)
PASSWORD = "canary-mail-password"
SHORT_SECONDS = 0.2
TAKEN_SECONDS = 1.0  # enough for the provider to have read everything, on a busy machine too


def connect(place: Place) -> Email:
    """A login goes in the clear to this machine only."""
    login = "bot@example.org" if place.host == "127.0.0.1" else None
    security = "tls" if place.tls else "none"
    return Email(place.host, place.port, security, login, PASSWORD, "bot@example.org", files=FILES, now=lambda: NOW)


def visible(part: OutgoingMail) -> str:
    return str(message_from_bytes(part.content, policy=default_policy).get_content())


def mentions(part: OutgoingMail) -> list[str]:
    """Anything but one plain text, and any header or recipient that a text might have smuggled in."""
    mail = message_from_bytes(part.content, policy=default_policy)
    more = [name for name in ("Bcc", "Cc") if name in mail]
    return more + [kind for kind in (mail.get_content_type(),) if kind != "text/plain"]


def answered(taken: Received) -> str:
    return str(taken.parsed()["In-Reply-To"])


def attached(provider: MailServer) -> list[tuple[str, bytes]]:
    parts = [part for one in provider.messages for part in one.parsed().iter_attachments()]
    return [(str(part.get_filename()), part.get_payload(decode=True)) for part in parts]


def _step(name: str, answer: bytes) -> Script:
    return Script(replies={name: answer})


OWN = [
    Situation(id="accepted/then closed without goodbye", script=Script(close_at="QUIT")),
    Situation(id="recipient_refused", script=_step("RCPT", b"550 5.1.1 who?"), raises=ValidationError, taken=0),
    *(
        Situation(
            id=f"credentials_refused/{code} at {step}",
            script=_step(step, f"{code} {PASSWORD} no".encode()),
            raises=TargetUnavailable,
            taken=0,
        )
        for step, code in (("AUTH", 535), ("AUTH", 534), ("AUTH", 538), ("AUTH", 501), ("MAIL", 530))
    ),
    Situation(id="unavailable/greylisted", script=_step("RCPT", b"451 later"), raises=TargetUnavailable, taken=0),
    Situation(id="unavailable/after reading", script=_step("BODY", b"452 full"), raises=TargetUnavailable),
    Situation(id="unavailable/shutting down", script=_step("MAIL", b"421 bye"), raises=TargetUnavailable, taken=0),
    Situation(id="unavailable/421 after reading", script=_step("BODY", b"421 bye"), raises=TargetUnavailable),
    Situation(id="unavailable/at the door", script=_step("CONNECT", b"554 go away"), raises=TargetUnavailable, taken=0),
    *(
        Situation(id=f"reset_before_reading/at {step}", script=Script(reset_at=step), raises=TargetUnavailable, taken=0)
        for step in ("EHLO", "AUTH", "MAIL", "RCPT", "DATA")
    ),
    *(
        Situation(
            id=f"hang/at {step}",
            script=Script(hang_at=step),
            raises=DeliveryTimeout,
            taken=0,
            timeout_seconds=SHORT_SECONDS,
        )
        for step in ("CONNECT", "EHLO", "AUTH", "RCPT", "DATA")
    ),
    Situation(id="accepted_then_cut/closed", script=Script(close_at="BODY"), raises=OutcomeUncertain),
    Situation(id="garbage/at the door", script=_step("CONNECT", b"HTTP/1.1 200"), raises=TargetUnavailable, taken=0),
    Situation(id="garbage/before the message", script=_step("DATA", b"250 what"), raises=TargetUnavailable, taken=0),
]

OPTIONS = {"address": "us@example.org", "imap_host": "imap.example.org", "authserv_id": "mx.example.org"}
"""As a household would set an account."""
THREAD = "<a@example.org>"
CASE = Case(
    name="email",
    connect=connect,
    words=SmtpWords(),
    address="ada@example.org",
    not_an_address="4711",
    visible=visible,
    mentions=mentions,
    secrets=[PASSWORD],
    thread="<abc@example.org>",
    now=lambda: NOW,
    proofs=Proofs(replies=answered, threads=answered, files=attached),
    more=OWN,
)
