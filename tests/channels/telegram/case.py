"""Telegram in the installed suite."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

from tests.channels.telegram.person import person_on
from tests.contract.bot_api import Trouble, accepted, raw_reply, refused
from tests.contract.form_files import form_files
from tests.contract.troubles import http_troubles

from postroom.channels.telegram.building import TelegramCall
from postroom.channels.telegram.channel import Telegram
from postroom.kernel.values.errors import (
    OutcomeUncertain,
    ProviderFailed,
    ProviderThrottled,
    ValidationError,
)
from postroom.testing import FILES, TEXT, Case, HttpWords, Place, Proofs, Situation, TakenRequest

NOW = datetime(2026, 3, 1, 12, 0, 0, tzinfo=UTC)
TOKEN = "4242:canary-bot-token"
ECHO = f"no: https://api.telegram.org/bot{TOKEN}/sendMessage said {TEXT}"
TAKEN_SECONDS = 1.0  # enough for the provider to have read everything, on a busy machine too


def connect(place: Place) -> Telegram:
    return Telegram(TOKEN, place.url, files=FILES, now=lambda: NOW)


def visible(part: TelegramCall) -> str:
    return str(part.body["text"])


def mentions(part: TelegramCall) -> Sequence[str]:
    """Telegram reads markup only where a call names its dialect, or where the spans."""
    return [name for name in ("parse_mode", "entities") if name in part.body]


def tokens(taken: TakenRequest) -> list[str]:
    rows = taken.body["reply_markup"]["inline_keyboard"]
    return [key["callback_data"] for row in rows for key in row]


def emoji(taken: TakenRequest) -> str:
    [reaction] = taken.body["reaction"]
    return str(reaction["emoji"])


OWN = [
    Situation(id="message_refused/token quoted", script=refused(400, f"bot{TOKEN} is odd"), raises=ValidationError),
    Situation(id="message_refused/422", script=refused(422, "no"), raises=ValidationError),
    Situation(id="message_refused/without a body", script=raw_reply(400, b""), raises=ValidationError),
    Situation(id="recipient_refused/403", script=refused(403, "bot was blocked by the user"), raises=ValidationError),
    Situation(id="recipient_refused/404", script=refused(404, "Not Found"), raises=ValidationError),
    Situation(
        id="throttled/in the body",
        script=refused(429, "Too Many Requests", headers="Retry-After: 9\r\n", parameters={"retry_after": 35}),
        raises=ProviderThrottled,
        retry_after_seconds=35.0,
    ),
    Situation(
        id="throttled/until the year 9999",
        script=refused(429, "Too Many Requests", headers="Retry-After: Fri, 31 Dec 9999 23:59:59 GMT\r\n"),
        raises=ProviderThrottled,
        retry_after_seconds=3600.0,
    ),
    Situation(
        id="throttled/without a word",
        script=raw_reply(429, b"slow down"),
        raises=ProviderThrottled,
        retry_after_seconds=1.0,
    ),
    *http_troubles(),
    *(
        Situation(id=f"{what}/edit", script=script, raises=raises, retry_after_seconds=wait, editing=True)
        for what, script, raises, wait in (
            ("accepted", accepted(), None, None),
            ("accepted", refused(400, "Bad Request: message is not modified: it is the same"), None, None),
            ("message_refused", refused(400, "Bad Request: message to edit not found"), ValidationError, None),
            ("message_refused", refused(400, "Bad Request: message can't be edited"), ValidationError, None),
            ("message_refused", refused(400, ECHO), ValidationError, None),
            ("recipient_refused", refused(403, "bot was blocked by the user"), ValidationError, None),
            ("throttled", refused(429, "Slow down", parameters={"retry_after": 3}), ProviderThrottled, 3.0),
            ("unavailable", refused(502, "try later"), ProviderFailed, None),
            ("accepted_then_cut", Trouble.READ_THEN_RESET, OutcomeUncertain, None),
            ("garbage", raw_reply(200, b"<html>ok</html>"), OutcomeUncertain, None),
        )
    ),
]

OPTIONS = {"token": TOKEN}
"""As a household would set an account."""
THREAD = "55"
CASE = Case(
    name="telegram",
    connect=connect,
    words=HttpWords(
        accepted=lambda number: accepted(76 + number),
        refused=lambda words: refused(400, words),
        credentials=refused(401, "Unauthorized"),
        throttled=refused(429, "Too Many Requests"),
        throttled_float=lambda seconds: refused(429, "Too Many Requests", parameters={"retry_after": seconds}),
        error_inside=raw_reply(200, b'{"ok":false,"error_code":400,"description":"no"}'),
        missing_id=raw_reply(200, b'{"ok":true,"result":{}}'),
    ),
    address="4711",
    not_an_address="ada@example.org",
    visible=visible,
    mentions=mentions,
    secrets=[TOKEN, TOKEN.partition(":")[2]],
    now=lambda: NOW,
    proofs=Proofs(
        edits=lambda taken: str(taken.body["message_id"]),
        deletes=lambda taken: str(taken.body["message_id"]) if taken.path.endswith("/deleteMessage") else "",
        buttons=tokens,
        reacts=emoji,
        replies=lambda taken: str(taken.body["reply_parameters"]["message_id"]),
        files=form_files,
    ),
    person=person_on(connect),
    more=OWN,
    not_applicable={
        "throttled-milliseconds": "the Bot API counts seconds",
        "throttled-otherwise": "the Bot API says 429 whenever it means that",
    },
)
