"""Slack in the installed suite; most refusals come with a 200."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import UTC, datetime
from urllib.parse import parse_qs

from tests.channels.slack.person import DIRECT, PERSON, person_on
from tests.contract.troubles import http_troubles

from postroom.channels.slack.channel import Slack
from postroom.channels.slack.web_api import SlackCall
from postroom.kernel.values.errors import (
    OutcomeUncertain,
    PostroomError,
    ProviderThrottled,
    TargetUnavailable,
    ValidationError,
)
from postroom.message.delivery import Receipt
from postroom.testing import (
    FILES,
    Case,
    HttpProvider,
    HttpWords,
    Place,
    Proofs,
    Reply,
    Situation,
    TakenRequest,
    Trouble,
    raw_reply,
    reply,
)

NOW = datetime(2026, 3, 1, 12, 0, 0, tzinfo=UTC)
BOT_TOKEN = "xoxb-4242-canary-bot-token"
APP_TOKEN = "xapp-4242-canary-app-token"
NO_NUMBER = "Slack names the wait in Retry-After only"
EMOJI = {"+1": "👍"}
_ASK, _UPLOAD = "/files.getUploadURLExternal", "/upload/v1/abc"
_READ_BACK = ("/conversations.history", "/conversations.replies")
_MARKUP = re.compile(r"<|>|&(?!(?:amp|lt|gt);)")


def connect(place: Place) -> Slack:
    return Slack("slack", BOT_TOKEN, APP_TOKEN, f"{place.url}/api", files=FILES, now=lambda: NOW)


def stamp(number: int) -> str:
    return f"1700000000.{number:06d}"


def accepted(number: int) -> Reply:
    return reply(200, {"ok": True, "channel": DIRECT, "ts": stamp(number), "files": [{"id": "F1"}]})


def no(error: str, *, status: int = 200, headers: str = "", **more: object) -> Reply:
    return reply(status, {"ok": False, "error": error, **more}, headers=headers)


def opened(request: TakenRequest) -> Reply | None:
    """A direct message has to be opened before one can edit or react there."""
    if request.path.endswith(_ASK):
        url = f"http://{request.headers['host']}{_UPLOAD}"
        return reply(200, {"ok": True, "upload_url": url, "file_id": "F1"})
    if request.path == _UPLOAD:
        return raw_reply(200, b"OK")
    if not request.path.endswith("/conversations.open"):
        return None
    return reply(200, {"ok": True, "channel": {"id": DIRECT}})


def brought(provider: HttpProvider) -> list[tuple[str, bytes]]:
    """A file counts once it is published."""
    asked = [parse_qs(one.content.decode()) for one in provider.asides if one.path.endswith(_ASK)]
    contents = [one.content for one in provider.asides if one.path == _UPLOAD]
    published = [one for one in provider.messages if one.path.endswith("/files.completeUploadExternal")]
    assert sum(len(one.body["files"]) for one in published) == len(asked) == len(contents)
    return [(one["filename"][0], content) for one, content in zip(asked, contents, strict=True)]


def history(request: TakenRequest, taken: Sequence[TakenRequest]) -> Reply | None:
    if not request.path.partition("?")[0].endswith(_READ_BACK):
        return None
    messages = [
        {"type": "message", "bot_id": "B1", "ts": stamp(number), "text": one.body["text"]}
        | {"metadata": one.body["metadata"]}
        for number, one in enumerate(taken, 1)
    ]
    return reply(200, {"ok": True, "messages": messages, "has_more": False})


def section(part: SlackCall) -> str:
    return str(part.body["blocks"][0]["text"]["text"])


def visible(part: SlackCall) -> str:
    return section(part).replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")


def mentions(part: SlackCall) -> list[str]:
    """Slack reads entities in both texts, and markup unless a text says that it has none."""
    texts = (section(part), str(part.body["text"]))
    loud = [name for name in ("unfurl_links", "unfurl_media", "link_names") if part.body[name]]
    kinds = [block["text"]["type"] for block in part.body["blocks"] if block["text"]["type"] != "plain_text"]
    return [found for text in texts for found in _MARKUP.findall(text)] + loud + kinds


def tokens(taken: TakenRequest) -> list[str]:
    return [one["value"] for block in taken.body["blocks"] for one in block.get("elements", ())]


def _each(kind: str, raises: type[PostroomError], *codes: str) -> list[Situation]:
    return [Situation(id=f"{kind}/{code}", script=no(code), raises=raises) for code in codes]


def _editing(kind: str, script: Reply | Trouble, raises: type[PostroomError] | None) -> Situation:
    return Situation(id=f"{kind}/edit", script=script, raises=raises, editing=True)


OWN = [
    *_each("message_refused", ValidationError, "msg_too_long", "no_text", "invalid_blocks", "msg_blocks_too_long"),
    *_each("message_refused", ValidationError, "a_code_of_tomorrow"),
    Situation(id="message_refused/without a code", script=reply(200, {"ok": False}), raises=ValidationError),
    Situation(id="message_refused/400", script=raw_reply(400, b""), raises=ValidationError),
    *_each("recipient_refused", ValidationError, "channel_not_found", "not_in_channel", "is_archived"),
    *_each("recipient_refused", ValidationError, "user_not_found", "messages_tab_disabled"),
    *_each("credentials_refused", TargetUnavailable, "not_authed", "token_revoked"),
    *_each("credentials_refused", TargetUnavailable, "token_expired", "account_inactive", "missing_scope"),
    Situation(id="credentials_refused/401", script=no("invalid_auth", status=401), raises=TargetUnavailable),
    *(
        Situation(id=f"throttled/{what}", script=script, raises=ProviderThrottled, retry_after_seconds=seconds)
        for what, script, seconds in (
            ("in a 200", no("ratelimited", headers="Retry-After: 7\r\n"), 7.0),
            ("without a word", no("ratelimited", status=429), 1.0),
            (
                "until the year 9999",
                no("ratelimited", status=429, headers="Retry-After: Fri, 31 Dec 9999 23:59:59 GMT\r\n"),
                3600.0,
            ),
            ("not JSON", raw_reply(429, b"slow"), 1.0),
        )
    ),
    Situation(id="unavailable/with a code", script=no("service_unavailable", status=503), raises=TargetUnavailable),
    Situation(id="unavailable/in a 200", script=no("service_unavailable"), raises=TargetUnavailable),
    *http_troubles(),
    *_each("accepted_then_cut", OutcomeUncertain, "fatal_error", "internal_error"),
    Situation(id="accepted_then_cut/fatal in a 500", script=no("fatal_error", status=500), raises=OutcomeUncertain),
    _editing("accepted", accepted(1), None),
    _editing("message_refused", no("cant_update_message"), ValidationError),
    _editing("recipient_refused", no("message_not_found"), ValidationError),
    _editing("accepted_then_cut", Trouble.READ_THEN_RESET, OutcomeUncertain),
    _editing("garbage", raw_reply(200, b"<html>ok</html>"), OutcomeUncertain),
]

OPTIONS = {"bot_token": BOT_TOKEN, "app_token": APP_TOKEN}
"""As a household would set an account."""
THREAD = "1.5"
CASE = Case(
    name="slack",
    connect=connect,
    words=HttpWords(
        accepted=accepted,
        refused=no,
        credentials=no("invalid_auth"),
        throttled=no("ratelimited", status=429),
        throttled_otherwise=no("ratelimited"),
        error_inside=no("channel_not_found"),
        missing_id=reply(200, {"ok": True}),
        aside=opened,
    ),
    address=PERSON,
    not_an_address="#general",
    visible=visible,
    counted=section,
    mentions=mentions,
    secrets=[BOT_TOKEN, APP_TOKEN, "canary"],
    thread=stamp(55),
    sent=Receipt(stamp(77), conversation=DIRECT),
    now=lambda: NOW,
    proofs=Proofs(
        reconciles=history,
        edits=lambda taken: str(taken.body["ts"]),
        deletes=lambda taken: str(taken.body["ts"]) if taken.path.endswith("/chat.delete") else "",
        buttons=tokens,
        reacts=lambda taken: EMOJI[taken.body["name"]],
        replies=lambda taken: str(taken.body["thread_ts"]),
        threads=lambda taken: str(taken.body["thread_ts"]),
        files=brought,
    ),
    person=person_on(connect),
    more=OWN,
    not_applicable={"throttled-float": NO_NUMBER, "throttled-milliseconds": NO_NUMBER},
)
