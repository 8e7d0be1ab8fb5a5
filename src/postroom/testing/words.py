"""How providers say what they say, over HTTP, by mail or in an author's own way, and the situations made of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from email.utils import format_datetime
from types import MappingProxyType
from typing import Final

from postroom.kernel.values.errors import (
    OutcomeUncertain,
    ProviderFailed,
    ProviderThrottled,
    TargetUnavailable,
    ValidationError,
)
from postroom.testing.case import Ending, Endings, Situation
from postroom.testing.servers.http import (
    Aside,
    FakeProvider,
    HttpProvider,
    HttpStep,
    Reply,
    Trouble,
    after_early_hints,
    content_of,
    cut_in_content,
    cut_in_head,
    old_protocol,
    raw_reply,
    reply,
    swollen,
    with_header,
    with_length,
)
from postroom.testing.servers.mail import MailScript, MailServer

# Over HTTP.

_SILENCE_SECONDS: Final = 1.0  # enough for the provider to have read everything, on a busy machine too
_SWOLLEN_BYTES: Final = 32 * 1024 * 1024
_DAY_SECONDS: Final = 86_400.0
_UNAVAILABLE: Final[tuple[Ending, ...]] = (TargetUnavailable, ProviderFailed, ProviderThrottled, OutcomeUncertain)
_NOT_THE_MESSAGE: Final[Endings] = (ProviderThrottled, TargetUnavailable)
_NO_RECEIPT: Final[Endings] = (ValidationError, *_UNAVAILABLE)
_BROKE: Final[Endings] = (ProviderFailed, OutcomeUncertain)
_NOT_FOLLOWED: Final[Endings] = (TargetUnavailable, ValidationError)


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpWords:
    """
    `accepted` is given the number of the message and names it by an id of its own; `refused` is given words to say.

    What is None is a situation that the case has to call not applicable, with a reason. `aside` answers the calls
    that are no message, such as opening a conversation.
    """

    accepted: Callable[[int], Reply]
    refused: Callable[[str], Reply]
    credentials: Reply
    throttled: Reply = field(default_factory=lambda: reply(429, {}))
    """Without a word about how long."""
    throttled_float: Callable[[float], Reply] | None = None
    throttled_milliseconds: Callable[[int], Reply] | None = None
    throttled_otherwise: Reply | None = None
    error_inside: Reply | None = None
    missing_id: Reply | None = None
    other_shape: Reply = field(default_factory=lambda: reply(200, [1]))
    not_json: Reply = field(default_factory=lambda: raw_reply(200, b"<html>thank you</html>"))
    by_status: bool = False
    """The status alone says that a message was taken, whatever else the answer says or leaves out."""
    aside: Aside | None = None
    silence_seconds: float = _SILENCE_SECONDS
    """How long the channel may wait for a provider that does not answer."""

    @property
    def absent(self) -> Mapping[str, str]:
        return {}

    def provider(self) -> HttpProvider:
        """Accepts until the test says otherwise."""
        return HttpProvider(*(self.accepted(number) for number in range(1, 100)), aside=self.aside)

    def situations(self, text: str, secrets: Sequence[str], now: datetime) -> Iterator[Situation]:
        yield from self._answers(text, secrets)
        yield from self._throttles(now)
        yield from self._lines()
        yield from self._several()

    def _answers(self, text: str, secrets: Sequence[str]) -> Iterator[Situation]:
        taken, quoting = self.accepted(1), f"no: {text} by {' '.join(secrets)}"
        yield Situation(id="accepted", script=taken)
        yield Situation(id="held", script=replace(taken, hold=True), held=True)
        yield _one("refused-for-ever", self.refused("it is too odd"), ValidationError)
        yield _one("refused-quoting-us", self.refused(quoting), ValidationError)
        yield _one("credentials", self.credentials, TargetUnavailable)
        yield _one("broken-500", raw_reply(500, b"oops"), _BROKE)
        yield _one("unavailable-503", raw_reply(503, b"later"), _UNAVAILABLE)
        yield _one("early-refusal", replace(self.refused("no"), early=True), ValidationError)
        yield _one("redirect", Trouble.REDIRECT, _NOT_FOLLOWED)
        yield _one("not-json", self.not_json, self._unread)
        yield _one("other-shape", self.other_shape, self._unread)
        if self.error_inside is not None:
            yield _one("error-inside", self.error_inside, _NO_RECEIPT)
        if self.missing_id is not None:
            yield _one("missing-id", self.missing_id, self._unread)

    @property
    def _unread(self) -> Ending:
        """Of an answer with a good status whose content says nothing."""
        return None if self.by_status else OutcomeUncertain

    @property
    def _in_disorder(self) -> Endings:
        """Of one whose status arrived, and the rest not as HTTP wants it."""
        return (None, OutcomeUncertain) if self.by_status else OutcomeUncertain

    def _throttles(self, now: datetime) -> Iterator[Situation]:
        yield self._throttle("throttled-seconds", "9", (9.0, 9.0))
        yield self._throttle("throttled-date", _http_date(now, 30), (20.0, 31.0))
        yield self._throttle("throttled-day", "86400", (3_600.0, _DAY_SECONDS))
        yield self._throttle("throttled-skewed", _http_date(now, -600), (0.0, 3_600.0))
        if self.throttled_float is not None:
            yield _one("throttled-float", self.throttled_float(2.5), ProviderThrottled, (2.5, 3.0))
        if self.throttled_milliseconds is not None:
            yield _one("throttled-milliseconds", self.throttled_milliseconds(2_500), ProviderThrottled, (2.5, 3.0))
        if self.throttled_otherwise is not None:
            yield _one("throttled-otherwise", self.throttled_otherwise, _NOT_THE_MESSAGE)

    def _throttle(self, name: str, header: str, wait: tuple[float, float]) -> Situation:
        return _one(name, with_header(self.throttled, f"Retry-After: {header}"), ProviderThrottled, wait)

    def _lines(self) -> Iterator[Situation]:
        taken = self.accepted(1)
        slow = replace(taken, piece_bytes=1, pause_seconds=self.silence_seconds / 20)
        yield Situation(
            id="reset-before-reading", script=Trouble.RESET_BEFORE_READING, raises=OutcomeUncertain, taken=0
        )
        yield _one("read-then-reset", Trouble.READ_THEN_RESET, OutcomeUncertain)
        yield self._late("read-then-silence", Trouble.READ_THEN_HANG)
        yield _one("cut-in-head", cut_in_head(taken), self._in_disorder)
        yield _one("cut-in-content", cut_in_content(taken), OutcomeUncertain)
        yield _one("wrong-length", with_length(taken, max(len(content_of(taken)) // 2, 1)), self._in_disorder)
        yield _one("drip", replace(taken, piece_bytes=3), None)
        yield self._late("drip-past-deadline", slow)
        yield _one("old-protocol", old_protocol(taken), None)
        yield _one("early-hints", after_early_hints(taken), None)
        yield _one("swollen", swollen(taken, _SWOLLEN_BYTES), OutcomeUncertain)

    def _late(self, name: str, step: HttpStep) -> Situation:
        return Situation(id=name, script=step, raises=OutcomeUncertain, timeout_seconds=self.silence_seconds)

    def _several(self) -> Iterator[Situation]:
        first, third = self.accepted(1), self.accepted(3)
        yield Situation(
            id="reused-connection",
            script=(first, Trouble.READ_THEN_CLOSE, third),
            then=(OutcomeUncertain,),
            taken=2,
        )
        yield Situation(id="same-id", script=first, then=(None,), taken=2)
        yield Situation(
            id="credentials-expire",
            script=(first, self.credentials, third),
            then=(TargetUnavailable, None),
            taken=3,
        )


def _one(name: str, step: HttpStep, raises: Endings, wait: tuple[float, float] | None = None) -> Situation:
    return Situation(id=name, script=step, raises=raises, retry_after_seconds=wait)


def _http_date(now: datetime, seconds: float) -> str:
    return format_datetime(now + timedelta(seconds=seconds), usegmt=True)


# By mail.

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
_MAIL_BROKE: Final[Endings] = (TargetUnavailable, ProviderFailed, OutcomeUncertain)


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
    yield _step("broken-500", "BODY", b"451 4.3.0 something broke", _MAIL_BROKE)
    yield _step("unavailable-503", "CONNECT", b"421 shutting down", _NOT_NOW, taken=0)
    yield _step("not-json", "BODY", b"\xff\xfe what", OutcomeUncertain)
    yield _step("other-shape", "BODY", b"354 more", OutcomeUncertain)


def _lines() -> Iterator[Situation]:
    slow = MailScript(piece_bytes=1, pause_seconds=_SILENCE_SECONDS / 4)
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
    return Situation(id=name, script=script, raises=OutcomeUncertain, timeout_seconds=_SILENCE_SECONDS)


# A fake provider of an author's own making, with situations of its own and none of the standard ones.


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnWords:
    """
    For a provider that speaks neither HTTP nor SMTP; `scripts` are its standard situations, by their ids.

    `absent` are those that it cannot bring about, each with the reason.
    """

    make: Callable[[], FakeProvider]
    scripts: Sequence[Situation] = ()
    absent: Mapping[str, str] = field(default_factory=dict)

    def provider(self) -> FakeProvider:
        return self.make()

    def situations(self, text: str, secrets: Sequence[str], now: datetime) -> Iterator[Situation]:
        yield from self.scripts
