"""Apprise with its plainest service, JSON to a host, in the installed suite."""

from __future__ import annotations

from dataclasses import replace

from tests.contract.troubles import ELSEWHERE, NOT_HTTP

from postroom.channels.apprise.channel import AppriseService
from postroom.kernel.values.errors import OutcomeUncertain
from postroom.testing import TEXT, Case, HttpWords, Place, Reply, Situation, Trouble, raw_reply, reply

SECRET = "canary-password"
PATH = "canary-path"


def connect(place: Place) -> AppriseService:
    url = f"json{'s' if place.tls else ''}://us:{SECRET}@{place.host}:{place.port}/{PATH}?+x-key={PATH}"
    return AppriseService("apprise", url, allow_private=True)


def error(status: int, words: str = f"no: {TEXT}, {SECRET}") -> Reply:
    return reply(status, {"error": words})


def uncertain(name: str, script: object) -> Situation:
    return Situation(id=name, script=script, raises=OutcomeUncertain)


OWN = [
    *(uncertain(f"failed/{status}", error(status)) for status in (400, 401, 403, 404, 410, 413, 422, 429)),
    *(uncertain(f"failed/{status}", error(status)) for status in (500, 502, 503, 504)),
    *(
        uncertain(
            f"failed/redirect {status}",
            raw_reply(status, b"", headers=ELSEWHERE),
        )
        for status in (301, 302, 307, 308)
    ),
    uncertain("failed/redirect elsewhere", Trouble.REDIRECT),
    uncertain("failed/early refusal", replace(error(400), early=True)),
    uncertain("accepted_then_cut/closed", Trouble.READ_THEN_CLOSE),
    uncertain("garbage/not HTTP", NOT_HTTP),
]
NO_REASON = "the library says that it failed, and never why"
UNEXPLAINED = [
    *("refused-for-ever", "refused-quoting-us", "credentials", "credentials-expire", "early-refusal", "redirect"),
    *("throttled-seconds", "throttled-date", "throttled-day", "throttled-skewed"),
    *("throttled-float", "throttled-milliseconds", "throttled-otherwise", "error-inside"),
    *("connection-refused", "handshake-cut", "early-hints"),
]

OPTIONS = {"url": "json://example.org/"}
"""As a household would set an account."""
THREAD = "1"
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
    more=OWN,
    not_applicable={
        **dict.fromkeys(UNEXPLAINED, NO_REASON),
        "swollen": "the library reads an answer to its end",
        "missing-id": "the library gives no names of messages",
    },
)
