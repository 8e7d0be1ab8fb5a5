"""How a mail server says what it says, and the standard situations made of it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from types import MappingProxyType
from typing import Final

from postroom.domain.errors import (
    OutcomeUncertain,
    ProviderFailed,
    ProviderThrottled,
    TargetUnavailable,
    ValidationError,
)
from postroom.testing.http_words import SILENCE_SECONDS
from postroom.testing.servers.mail import MailScript, MailServer
from postroom.testing.situation import Endings, Situation

_NO_WAIT: Final = "SMTP has no way to say how long to wait"
_HTTP: Final = "a matter of HTTP"
_OWN_ID: Final = "the sender names a mail, not the server"
_ABSENT: Final[Mapping[str, str]] = MappingProxyType(
    {
        **dict.fromkeys(
            (
                "throttled-seconds",
                "throttled-date",
                "throttled-float",
                "throttled-milliseconds",
                "throttled-day",
                "throttled-skewed",
            ),
            _NO_WAIT,
        ),
        **dict.fromkeys(
            ("error-inside", "cut-in-head", "wrong-length", "old-protocol", "early-hints", "swollen", "redirect"), _HTTP
        ),
        **dict.fromkeys(("missing-id", "same-id"), _OWN_ID),
        "reused-connection": "each mail is a visit of its own",
    }
)
_NOT_NOW: Final[Endings] = (TargetUnavailable, ProviderThrottled)
_BROKE: Final[Endings] = (TargetUnavailable, ProviderFailed, OutcomeUncertain)


@dataclass(frozen=True, slots=True, kw_only=True)
class SmtpWords:
    """A mail server that takes everything until the test says otherwise."""

    @property
    def absent(self) -> Mapping[str, str]:
        return _ABSENT

    def provider(self) -> MailServer:
        return MailServer()

    def situations(self, text: str, secrets: Sequence[str], now: datetime) -> Iterator[Situation]:
        yield from _answers(text, secrets)
        yield from _lines()
        expired = MailScript(replies={"AUTH": b"535 5.7.8 no longer"})
        yield Situation(
            id="credentials-expire",
            script=(MailScript(), expired, MailScript()),
            then=(TargetUnavailable, None),
            taken=2,
        )


def _answers(text: str, secrets: Sequence[str]) -> Iterator[Situation]:
    quoting = f"554 {text} by {' '.join(secrets)}".encode()
    yield Situation(id="accepted", script=MailScript())
    yield Situation(id="held", script=MailScript(hold_at="BODY"), held=True)
    yield _step("refused-for-ever", "BODY", b"554 5.7.1 spam", ValidationError)
    yield _step("refused-quoting-us", "BODY", quoting, ValidationError)
    yield _step("early-refusal", "DATA", b"554 no", ValidationError, taken=0)
    yield _step("credentials", "AUTH", b"535 5.7.8 no", TargetUnavailable, taken=0)
    yield _step("throttled-otherwise", "MAIL", b"450 4.7.1 slow down", _NOT_NOW, taken=0)
    yield _step("broken-500", "BODY", b"451 4.3.0 something broke", _BROKE)
    yield _step("unavailable-503", "CONNECT", b"421 shutting down", _NOT_NOW, taken=0)
    yield _step("not-json", "BODY", b"\xff\xfe what", OutcomeUncertain)
    yield _step("other-shape", "BODY", b"354 more", OutcomeUncertain)


def _lines() -> Iterator[Situation]:
    slow = MailScript(piece_bytes=1, pause_seconds=SILENCE_SECONDS / 4)
    early = MailScript(reset_at="CONNECT")
    yield Situation(id="reset-before-reading", script=early, raises=TargetUnavailable, taken=0)
    yield Situation(id="read-then-reset", script=MailScript(reset_at="BODY"), raises=OutcomeUncertain)
    yield _late("read-then-silence", MailScript(hang_at="BODY"))
    yield Situation(id="cut-in-content", script=MailScript(cut_at="BODY"), raises=OutcomeUncertain)
    yield Situation(id="drip", script=MailScript(piece_bytes=1))
    yield _late("drip-past-deadline", slow)


def _step(name: str, step: str, answer: bytes, raises: Endings, *, taken: int = 1) -> Situation:
    return Situation(id=name, script=MailScript(replies={step: answer}), raises=raises, taken=taken)


def _late(name: str, script: MailScript) -> Situation:
    return Situation(id=name, script=script, raises=OutcomeUncertain, timeout_seconds=SILENCE_SECONDS)
