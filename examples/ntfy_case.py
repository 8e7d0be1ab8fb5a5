"""
Proves the channel of `ntfy_channel.py`.

    PYTHONPATH=examples python -m postroom.testing ntfy_case:CASE
"""

from __future__ import annotations

from ntfy_channel import Call, Ntfy

from postroom.testing import Case, HttpWords, Reply, reply

NO_NUMBER = "ntfy names the wait in Retry-After only"


def accepted(number: int) -> Reply:
    return reply(200, {"id": f"hwQ2YpKdm{number}", "time": 1, "event": "message"})


def refused(words: str, status: int = 400) -> Reply:
    return reply(status, {"code": status * 100 + 1, "http": status, "error": words})


def visible(part: Call) -> str:
    return part.text


def mentions(part: Call) -> list[str]:
    """ntfy shows text as it is unless it is asked for Markdown, which a call has no field for; and it calls nobody."""
    return []


CASE = Case(
    name="ntfy",
    connect=lambda place: Ntfy(place.url),
    words=HttpWords(
        accepted=accepted,
        refused=refused,
        credentials=refused("unauthorized", 401),
        throttled=refused("limit reached", 429),
        missing_id=reply(200, {"event": "message"}),
    ),
    address="kitchen",
    not_an_address="ada@example.org",
    visible=visible,
    mentions=mentions,
    not_applicable={
        "throttled-float": NO_NUMBER,
        "throttled-milliseconds": NO_NUMBER,
        "throttled-otherwise": "ntfy says 429 whenever it means that",
        "error-inside": "ntfy says every error by its status",
    },
)
