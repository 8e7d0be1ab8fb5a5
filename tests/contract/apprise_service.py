"""Apprise with its plainest service, JSON to a host, in the installed suite."""

from __future__ import annotations

from datetime import UTC, datetime

from postroom.domain.errors import OutcomeUncertain, ProviderFailed, TargetUnavailable, ValidationError
from postroom.testing import TEXT, Case, HttpWords, Place, Reply, Situation, Trouble, raw_reply, reply
from postroom.world.channels.apprise.channel import AppriseService

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
SECRET = "canary-password"
PATH = "canary-path"
NO_NUMBER = "the library keeps Retry-After of an answer, and nothing else"


def connect(place: Place) -> AppriseService:
    url = f"json{'s' if place.tls else ''}://us:{SECRET}@{place.host}:{place.port}/{PATH}?+x-key={PATH}"
    return AppriseService("apprise", url, allow_private=True, now=lambda: NOW)


def error(status: int, words: str = f"no: {TEXT}, {SECRET}") -> Reply:
    return reply(status, {"error": words})


OWN = [
    *(Situation(id=f"message_refused/{status}", script=error(status), raises=ValidationError) for status in (413, 422)),
    Situation(id="recipient_refused/404", script=error(404), raises=ValidationError),
    Situation(id="recipient_refused/410", script=error(410), raises=ValidationError),
    Situation(id="credentials_refused/403", script=error(403), raises=TargetUnavailable),
    *(
        Situation(id=f"unavailable/{status}", script=error(status), raises=raises)
        for status, raises in {
            500: ProviderFailed,
            502: ProviderFailed,
            503: TargetUnavailable,
            504: ProviderFailed,
        }.items()
    ),
    *(
        Situation(
            id=f"unavailable/redirect {status}",
            script=raw_reply(status, b"", headers="Location: http://127.0.0.1:1/elsewhere\r\n"),
            raises=TargetUnavailable,
        )
        for status in (301, 302, 307, 308)
    ),
    Situation(id="accepted_then_cut/closed", script=Trouble.READ_THEN_CLOSE, raises=OutcomeUncertain),
    Situation(id="garbage/not HTTP", script=Reply(raw=b"\x00\x01 hello\r\n\r\n", close=True), raises=OutcomeUncertain),
]

CASE = Case(
    name="apprise",
    connect=connect,
    words=HttpWords(
        accepted=lambda number: raw_reply(200, b"taken as number %d" % number),
        refused=lambda words: error(400, words),
        credentials=error(401),
        throttled=error(429),
        by_status=True,
    ),
    address="-",
    not_an_address="ada@example.org",
    visible=lambda part: str(part.text),
    mentions=lambda part: [part.title] if part.title else [],  # JSON to a host has no markup
    secrets=[SECRET, PATH],
    now=lambda: NOW,
    more=OWN,
    not_applicable={
        "throttled-float": NO_NUMBER,
        "throttled-milliseconds": NO_NUMBER,
        "throttled-otherwise": "the service says 429 when it means that",
        "error-inside": "the service says every error by its status",
        "missing-id": "the library gives no names of messages",
    },
)
