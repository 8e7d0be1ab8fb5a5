# /// script
# dependencies = ["postroom[testing]"]
#
# [tool.uv.sources]
# postroom = { path = ".." } # the clone: it is not on PyPI yet
# ///
"""
Proves the channel of `beeper_channel.py`.

    PYTHONPATH=examples python -m postroom.testing beeper_case:CASE
"""

from __future__ import annotations

from beeper_channel import Beeper, Call

from postroom.testing import Case, HttpWords, Reply, reply

NO_NUMBER = "the gateway names the wait in Retry-After only"


def accepted(number: int) -> Reply:
    return reply(201, {"page": f"p{number}"})


def refused(words: str, status: int = 400) -> Reply:
    return reply(status, {"error": words})


def visible(part: Call) -> str:
    return part.text


def mentions(part: Call) -> list[str]:
    """A beeper shows text as it is, and calls no one else."""
    return []


CASE = Case(
    name="beeper",
    connect=lambda place: Beeper(place.url),
    words=HttpWords(
        accepted=accepted,
        refused=refused,
        credentials=refused("unauthorized", 401),
        throttled=refused("limit reached", 429),
        missing_id=reply(201, {"state": "queued"}),
    ),
    address="kitchen",
    not_an_address="ada@example.org",
    visible=visible,
    mentions=mentions,
    not_applicable={
        "throttled-float": NO_NUMBER,
        "throttled-milliseconds": NO_NUMBER,
        "throttled-otherwise": "the gateway says 429 whenever it means that",
        "error-inside": "the gateway says every error by its status",
    },
)
