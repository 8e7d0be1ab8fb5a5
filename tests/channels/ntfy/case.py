"""An ntfy server in the installed suite."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import UTC, datetime
from email.header import decode_header, make_header
from typing import Any

from tests.channels.ntfy.person import person_on
from tests.contract.troubles import http_troubles

from postroom.channels.ntfy.building import NtfyCall
from postroom.channels.ntfy.channel import Ntfy
from postroom.kernel.values.errors import (
    ProviderThrottled,
    TargetUnavailable,
    ValidationError,
)
from postroom.message.delivery import Intent, Message, Receipt
from postroom.testing import (
    FILES,
    TEXT,
    Case,
    HttpProvider,
    HttpWords,
    Place,
    Proofs,
    Reply,
    Situation,
    TakenRequest,
    raw_reply,
    reply,
)
from postroom.testing.case import DELIVERY

NOW = datetime(2026, 3, 1, 12, 0, 0, tzinfo=UTC)
SECOND = 1_772_366_400
TOKEN = "tk_canaryaccesstoken0000000000000"
TOPIC = "kitchen"
SENT = "hwQ2YpKdmg77"
NO_NUMBER = "ntfy names the wait in Retry-After only"
NO_WORDS = "people press buttons on ntfy and write nothing"
MORE_THAN_TEXT = ("markdown", "attach", "click", "icon", "email", "call", "delay", "filename", "actions", "tags")


def connect(place: Place) -> Ntfy:
    return Ntfy("ntfy", f"{place.url}/in/a/path", TOKEN, "answers", files=FILES, now=lambda: NOW)


def event(number: int, **more: Any) -> dict[str, Any]:
    return {"id": f"hwQ2YpKdmg{number:02d}", "time": SECOND, "expires": SECOND + 43_200, "event": "message", **more}


def error(code: int, words: str = "no", headers: str = "") -> Reply:
    told = {"code": code, "http": code // 100, "error": words, "link": "https://ntfy.sh/docs"}
    return reply(code // 100, told, headers=headers)


def kept(request: TakenRequest, taken: Sequence[TakenRequest]) -> Reply | None:
    """The topic's cache, one event to a line."""
    if request.method != "GET":
        return None
    lines = [json.dumps(event(number, **one.body)).encode() + b"\n" for number, one in enumerate(taken, 1)]
    return raw_reply(200, b"".join(lines))


def edited(taken: TakenRequest) -> str:
    """A device replaces what it got before under the same sequence id."""
    first = Message(delivery_id=DELIVERY, intent=Intent.SEND, address=TOPIC, text="before")
    [sent] = connect(Place(port=1)).prepare(first)
    return SENT if taken.body["sequence_id"] == sent.sequence_id else ""


def deleted(taken: TakenRequest) -> str:
    first = Message(delivery_id=DELIVERY, intent=Intent.SEND, address=TOPIC, text="before")
    [sent] = connect(Place(port=1)).prepare(first)
    return SENT if taken.method == "DELETE" and taken.path.endswith(f"/{TOPIC}/{sent.sequence_id}") else ""


def more_than_text(part: NtfyCall) -> list[str]:
    return [name for name in MORE_THAN_TEXT if name in part.body]


OWN = [
    Situation(id="accepted/edit", script=reply(200, event(1)), editing=True),
    Situation(id="message_refused/actions", script=error(40018, "actions invalid"), raises=ValidationError),
    Situation(id="message_refused/413", script=error(41303, "JSON body too large"), raises=ValidationError),
    Situation(id="message_refused/edit", script=error(40000), raises=ValidationError, editing=True),
    Situation(id="recipient_refused/507", script=error(50701, "no subscriber"), raises=ValidationError),
    Situation(id="recipient_refused/404", script=error(40401, "page not found"), raises=ValidationError),
    Situation(id="credentials_refused/403", script=error(40301, "forbidden"), raises=TargetUnavailable),
    *(
        Situation(id=f"throttled/{what}", script=script, raises=ProviderThrottled, retry_after_seconds=wait)
        for what, script, wait in (
            ("without a header", error(42901), 5.0),
            (
                "until the year 9999",
                error(42901, headers="Retry-After: Fri, 31 Dec 9999 23:59:59 GMT\r\n"),
                3600.0,
            ),
            ("for the day", error(42908), 43_200.0),
            ("without a word", raw_reply(429, b"slow down"), 5.0),
        )
    ),
    *http_troubles(),
]


def put(provider: HttpProvider) -> list[tuple[str, bytes]]:
    files = [one for one in provider.messages if one.method == "PUT"]
    return [(str(make_header(decode_header(one.headers["filename"]))), one.content) for one in files]


OPTIONS = {"url": "https://ntfy.example.org"}
"""As a household would set an account."""
THREAD = "hwQ2YpKdmg"
CASE = Case(
    name="ntfy",
    connect=connect,
    words=HttpWords(
        accepted=lambda number: reply(200, event(number)),
        refused=lambda words: error(40024, words),
        credentials=error(40101, "unauthorized"),
        throttled=error(42901, f"limit reached: {TEXT}"),
        missing_id=reply(200, {"event": "message"}),
    ),
    address=TOPIC,
    not_an_address="ada@example.org",
    visible=lambda part: str(part.body["message"]),
    mentions=more_than_text,
    secrets=[TOKEN],
    now=lambda: NOW,
    sent=Receipt(SENT),
    proofs=Proofs(
        reconciles=kept,
        edits=edited,
        files=put,
        deletes=deleted,
        buttons=lambda taken: [action["body"].split()[0] for action in taken.body["actions"]],
    ),
    person=person_on(connect, TOPIC),
    presses_only=True,
    more=OWN,
    not_applicable={
        "throttled-float": NO_NUMBER,
        "throttled-milliseconds": NO_NUMBER,
        "throttled-otherwise": "ntfy says 429 whenever it means that",
        "error-inside": "ntfy says every error by its status",
        "inbound/heard": NO_WORDS,
        "inbound/bots": NO_WORDS,
        "inbound/forged": NO_WORDS,
        "inbound/acknowledging": "an ntfy server keeps what was posted, read or not, until it expires",
    },
)
