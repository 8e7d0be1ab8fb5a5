"""Slack's Web API: names, calls and refusals, and the uploads and searches that are made of such calls."""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Final
from urllib.parse import urlencode, urlsplit

from postroom.channels.provider import ProviderApi, asked, is_at
from postroom.channels.shared import plain_name
from postroom.kernel.http.answers import (
    JsonBody,
    JsonObject,
    as_object,
    asked_seconds,
    broken,
    objects_in,
    throttled,
)
from postroom.kernel.http.call import HttpAnswer
from postroom.kernel.values.errors import (
    CredentialsRefused,
    DeliveryTimeout,
    OutcomeUncertain,
    PostroomError,
    TargetUnavailable,
    ValidationError,
)
from postroom.message.attachment import Attachment
from postroom.message.delivery import Receipt
from postroom.message.inbound import InboundFile

# Who and what has a name: people, channels, direct messages, and single messages in them.

PLACE: Final = r"[CDGUW][A-Z0-9]{1,30}"
MESSAGE_ID: Final = r"\d{1,12}\.\d{1,6}"

_PLACE = re.compile(PLACE, re.ASCII)
_USER = re.compile(r"[UW][A-Z0-9]{1,30}", re.ASCII)
_MESSAGE_ID = re.compile(MESSAGE_ID, re.ASCII)


def address(text: str) -> str | None:
    """An id as Slack writes it; a #name or an @name can change hands, so it is no address."""
    text = text.strip(" ")
    return text if _PLACE.fullmatch(text) else None


def is_user(place: object) -> bool:
    """A person, who is written to in a direct message with an id of its own."""
    return isinstance(place, str) and _USER.fullmatch(place) is not None


def is_place(place: object) -> bool:
    return isinstance(place, str) and _PLACE.fullmatch(place) is not None


def is_message_id(text: object) -> bool:
    return isinstance(text, str) and _MESSAGE_ID.fullmatch(text) is not None


# One call of Slack's Web API, ready to be made.

POST: Final = "chat.postMessage"
UPDATE: Final = "chat.update"
DELETE: Final = "chat.delete"
DELETE_FILE: Final = "files.delete"
REACT: Final = "reactions.add"
PUBLISH: Final = "files.completeUploadExternal"
EVENT_TYPE: Final = "postroom_delivery"
FILE_ID: Final = "file:"  # before the id of a file, where Slack did not say in which message it stands
SHARED: Final = "shared:"  # before the place of one whose own name was lost with the process that shared it


@dataclass(frozen=True, slots=True, kw_only=True)
class SlackCall:
    """
    One method with its arguments; the arguments hold the message and stay out of `repr`.

    `keeps_text`: an edit of the buttons alone, so the text that stands there has to be fetched first. `files`: what is
    uploaded before the call that publishes it in one message. `shared`: the call before it brought this file along.
    """

    method: str
    body: JsonObject = field(repr=False)
    keeps_text: bool = False
    files: tuple[Attachment, ...] = field(default=(), repr=False)
    shared: bool = False

    @property
    def channel(self) -> str:
        return str(self.body.get("channel", ""))

    @property
    def thread(self) -> str | None:
        return self.body.get("thread_ts")

    @property
    def text(self) -> str:
        """As it is sent, escaped."""
        return str(self.body.get("text", ""))

    @property
    def mark(self) -> str | None:
        """By which the message is found again."""
        metadata = self.body.get("metadata")
        return metadata["event_payload"]["mark"] if metadata else None


# What Slack says when it says no, in our words: a 200 with `ok: false` and a code, or a status that refuses.

CREDENTIALS: Final = frozenset(
    ["invalid_auth", "not_authed", "token_revoked", "token_expired", "account_inactive", "not_allowed_token_type"]
)
PERMISSIONS: Final = frozenset(
    ["missing_scope", "no_permission", "ekm_access_denied", "access_denied", "accesslimited", "team_access_not_granted"]
)
_THROTTLED: Final = frozenset(["ratelimited", "rate_limited"])
UNSURE: Final = frozenset(["fatal_error", "internal_error"])  # some of it may have been done, say Slack's own pages
AWAY: Final = frozenset(["service_unavailable", "request_timeout", "team_added_to_org", "unknown_method"])
SENTENCES: Final[Mapping[str, str]] = {
    "channel_not_found": "Slack knows no such channel or person, or the app may not see it",
    "not_in_channel": "the Slack app is not in this channel; invite it there",
    "is_archived": "this Slack channel is archived",
    "user_not_found": "Slack knows no such person",
    "user_disabled": "this Slack account has been deactivated",
    "user_not_visible": "the Slack app may not see this person",
    "users_not_found": "Slack knows no such person",
    "cannot_dm_bot": "a Slack app cannot write to another app",
    "messages_tab_disabled": "the Slack app takes no direct messages; turn on its Messages tab in App Home",
    "restricted_action": "this Slack workspace does not let the app write there",
    "restricted_action_read_only_channel": "this Slack channel is read-only",
    "restricted_action_thread_locked": "this Slack thread is locked",
    "restricted_action_thread_only_channel": "this Slack channel takes answers in threads only",
    "restricted_action_non_threadable_channel": "this Slack channel has no threads",
    "slack_connect_blocked_file_type": "Slack Connect does not let this pass",
    "cannot_reply_to_message": "this Slack message cannot be answered",
    "thread_not_found": "the Slack message to answer is gone",
    "message_not_found": "the Slack message is gone",
    "bad_timestamp": "the Slack message is gone",
    "msg_too_long": "the message is too long for Slack",
    "msg_blocks_too_long": "the message is too long for Slack",
    "no_text": "Slack takes no empty message",
    "invalid_blocks": "Slack does not take the message's form",
    "invalid_blocks_format": "Slack does not take the message's form",
    "metadata_too_large": "Slack does not take the message's form",
    "cant_delete_message": "this Slack message was written by another and cannot be deleted",
    "compliance_exports_prevent_deletion": "this Slack workspace keeps every message",
    "cant_update_message": "this Slack message was written by another and cannot be edited",
    "edit_window_closed": "the time in which this Slack message could be edited is over",
    "invalid_name": "Slack has no emoji of this name",
    "file_upload_size_restricted": "this Slack workspace takes no file of this size",
    "file_uploads_disabled": "this Slack workspace takes no files",
    "file_uploads_except_images_disabled": "this Slack workspace takes no files but pictures",
    "file_type_not_allowed": "this Slack workspace takes no file of this type",
    "blocked_file_type": "this Slack workspace takes no file of this type",
    "file_not_found": "Slack does not know the file that was brought to it",
    "file_deleted": "the Slack file is gone",
    "storage_limit_reached": "this Slack workspace has no room for more files",
    "too_many_emoji": "this Slack message has as many different reactions as Slack allows",
    "too_many_reactions": "this Slack message has as many reactions as Slack allows",
}

_CODE = re.compile(r"[a-z][a-z0-9_]{0,63}")
_SCOPES = re.compile(r"[a-z][a-z0-9_.:,]{0,200}")
_NOT_FOR_US: Final = frozenset({401, 403, 404})  # no message is at fault


class ReactionStands(ValidationError):
    """Our reaction stands there, so it was made before."""


class MessageGone(ValidationError):
    """There is no such message any more; who wanted it gone has what they wanted."""


def read_refusal(answer: HttpAnswer, code: str, now: datetime) -> PostroomError:
    if answer.status == 429 or code in _THROTTLED:
        return _throttled(answer.retry_after, now)
    if code and (answer.status < 300 or code in UNSURE):
        return _by_code(code, answer.told)
    if answer.is_success:
        return _unreadable(answer.told)
    return _by_status(answer.status)


def _not_uploaded(answer: HttpAnswer, now: datetime) -> PostroomError:
    """By the place that takes a file's bytes: nothing of it can be seen yet, and only its size is the file's fault."""
    if answer.status == 429:
        refused = _throttled(answer.retry_after, now)
    elif answer.status == 413:
        refused = ValidationError("Slack takes no file of this size (413)")
    else:
        refused = TargetUnavailable(f"Slack did not take the file ({answer.status})")
    return refused.told_by(answer.status)


def _throttled(retry_after: str | None, now: datetime) -> PostroomError:
    return throttled("Slack asks us to slow down", asked_seconds(None, retry_after, now))


def _by_code(code: str, told: JsonObject) -> PostroomError:
    if code == "already_reacted":
        return ReactionStands("the reaction stands there already")
    if code in ("message_not_found", "file_not_found", "file_deleted"):
        return MessageGone(f"{SENTENCES[code]} ({code})")
    if code in UNSURE:
        return OutcomeUncertain(f"Slack broke while it had the request ({code}); it may have been carried out")
    if code in CREDENTIALS:
        return CredentialsRefused(f"Slack does not accept our token ({code})")
    if code in PERMISSIONS:
        return CredentialsRefused(f"the Slack app lacks a permission ({_lacking(code, told)})")
    if code in AWAY:
        return TargetUnavailable(f"Slack cannot do this now ({code})")
    return ValidationError(f"{SENTENCES.get(code, 'Slack refused this')} ({code})")


def _unreadable(told: JsonObject) -> PostroomError:
    if told.get("ok") is False:
        return ValidationError("Slack refused this and did not say why")
    return OutcomeUncertain("Slack's answer could not be read")


def _by_status(status: int) -> PostroomError:
    said = f"Slack answered {status}"
    if 400 <= status < 500 and status not in _NOT_FOR_US:
        return ValidationError(said)
    return broken(said, status)


def code_in(told: JsonObject) -> str:
    """Slack's own short name for what is wrong; anything else could quote the message."""
    code = told.get("error")
    return code if told.get("ok") is False and isinstance(code, str) and _CODE.fullmatch(code) else ""


def _lacking(code: str, told: JsonObject) -> str:
    needed = told.get("needed")
    return f"{code}: {needed}" if isinstance(needed, str) and _SCOPES.fullmatch(needed) else code


# Slack's Web API over HTTP: one request for one call, and its answer.

_BYTES: Final = {"Content-Type": "application/octet-stream"}
_FORM: Final = {"Content-Type": "application/x-www-form-urlencoded; charset=utf-8"}
_JSON: Final = {"Content-Type": "application/json; charset=utf-8"}


class SlackWebApi(ProviderApi):
    def __init__(self, url: str, token: str, now: Callable[[], datetime], app_token: str = "") -> None:
        secrets, headers = [token, app_token], {"Authorization": f"Bearer {token}"}
        super().__init__("Slack", url, read_refusal, now, words=code_in, says_ok=True, secrets=secrets, headers=headers)

    async def call(self, method: str, body: JsonObject, timeout_seconds: float, *, token: str = "") -> JsonObject:
        """Raises one of our errors unless Slack says `ok`; `token` is for the few methods that want another one."""
        headers = _JSON | ({"Authorization": f"Bearer {token}"} if token else {})
        return self.checked(await self.request("POST", method, timeout_seconds, body, headers=headers)).told

    async def fill_in(self, method: str, fields: Mapping[str, str], timeout_seconds: float) -> JsonObject:
        """A question by one of the methods that want a form."""
        content = urlencode(fields).encode()

        async def told() -> JsonObject:
            return self.checked(await self.request("POST", method, timeout_seconds, content, headers=_FORM)).told

        return await asked(told())

    async def look(self, method: str, query: JsonObject, timeout_seconds: float) -> JsonObject:
        """A question by one of the methods that want their arguments in the URL."""
        return self.checked(await asked(self.request("GET", method, timeout_seconds, query=query))).told

    async def bring(self, url: str, content: bytes, timeout_seconds: float) -> None:
        """The bytes of a file to where Slack wants them; our token stays here, for the address is its own."""
        answer = await asked(self.http.request("POST", url, timeout_seconds, body=content, headers=_BYTES))
        if not answer.is_success:
            raise _not_uploaded(answer, self.now())

    async def fetch(self, file: InboundFile, timeout_seconds: float) -> InboundFile:
        """What a person sent; our token goes to Slack's own addresses alone, and a page to log in is no file."""
        if not is_at(file.reference, "slack.com", "slack-edge.com", self.host):
            return replace(file, problem="it lies at another service")
        found = await self.fetched(file, timeout_seconds)
        begins = (found.content or b"")[:200].lstrip().lower()
        is_page = begins.startswith((b"<!doctype html", b"<html"))
        if found.content is not None and found.size not in (None, len(found.content)) and is_page:
            return replace(found, content=None, problem="the app may not read files: it needs the scope files:read")
        return found


# A file on its way into Slack: an address to bring it to, the bytes, and the one call that shows it to people.

_ASK: Final = "files.getUploadURLExternal"


@dataclass(frozen=True, slots=True, kw_only=True)
class SlackUploads:
    """Nobody sees a file before it is published, so everything until then can be done again."""

    api: SlackWebApi

    async def publish(self, call: SlackCall, contents: Sequence[bytes], timeout_seconds: float) -> Receipt:
        """`call` names the conversation, and the thread, by the ids that Slack wants."""
        ends_at = time.monotonic() + timeout_seconds
        ids = [await self._uploaded(file, content, ends_at) for file, content in zip(call.files, contents, strict=True)]
        files = [{"id": one, "title": plain_name(file)} for one, file in zip(ids, call.files, strict=True)]
        named = {name: call.body[name] for name in ("thread_ts", "initial_comment", "blocks") if name in call.body}
        body = {"files": files, "channel_id": call.channel, **named}
        return _receipt(ids, call.channel, await self.api.call(call.method, body, ends_at - time.monotonic()))

    async def message_of(self, file_id: str, channel: str, timeout_seconds: float) -> str:
        """The message that shows it, which Slack knows a moment after it was published."""
        told = await self.api.look("files.info", {"file": file_id}, timeout_seconds)
        for stamp in _stamps(as_object(told.get("file")).get("shares"), channel):
            return stamp
        raise TargetUnavailable("Slack does not say yet which message shows the file")

    async def _uploaded(self, file: Attachment, content: bytes, ends_at: float) -> str:
        wanted = {"filename": plain_name(file), "length": str(len(content))}
        told = await self.api.fill_in(_ASK, wanted, ends_at - time.monotonic())
        url, file_id = told.get("upload_url"), told.get("file_id")
        if not isinstance(url, str) or not isinstance(file_id, str) or not self._is_trusted(url):
            raise TargetUnavailable("Slack named no place for the file that can be trusted")
        await self.api.bring(url, content, ends_at - time.monotonic())
        return file_id

    def _is_trusted(self, url: str) -> bool:
        try:
            address = urlsplit(url)
        except ValueError:
            return False
        wanted = ("https",) if self.api.is_encrypted else ("http", "https")
        return address.scheme in wanted and bool(address.hostname)


def _receipt(ids: Sequence[str], channel: str, told: JsonObject) -> Receipt:
    """The message that shows the files, where Slack names it already; else the file, by which Slack knows it."""
    listed = objects_in(told.get("files"))
    if not {*ids} <= {one.get("id") for one in listed}:
        raise OutcomeUncertain("Slack accepted the files and did not say that it shows them")
    stamps = [stamp for one in listed for stamp in _stamps(one.get("shares"), channel)]
    first, *more = (f"{FILE_ID}{one}" for one in ids)
    return Receipt(stamps[0] if stamps else first, conversation=channel, also=tuple(more))


def _stamps(shares: object, channel: str) -> list[str]:
    """Under `public` or `private`, by channel; Slack fills it in a moment later, so it is often empty."""
    posts = [one for kind in as_object(shares).values() for one in objects_in(as_object(kind).get(channel))]
    return [str(one["ts"]) for one in posts if is_message_id(one.get("ts"))]


# Ask Slack for the messages of a place: for one that may have arrived, and for what one says now.

_SKEW: Final = timedelta(minutes=5)  # between their clock and ours
_MOST_PAGES: Final = 10
_PAGE: Final = 200
_DRAWN = re.compile(r":[a-z0-9_+'-]{1,60}:|[^\x20-\x7e]")  # what Slack may write in another way


@dataclass(frozen=True, slots=True, kw_only=True)
class SlackSearch:
    api: SlackWebApi

    async def find(self, call: SlackCall, channel: str, since: datetime, timeout_seconds: float) -> Receipt | None:
        try:
            async with asyncio.timeout(timeout_seconds):
                return await self._find(call, channel, since, timeout_seconds)
        except TimeoutError:
            pass
        raise DeliveryTimeout("Slack did not say in time whether the message arrived")

    async def message(self, channel: str, stamp: str, timeout_seconds: float) -> JsonObject:
        """As it stands there, in a thread or not."""
        wanted = {"channel": channel, "ts": stamp, "oldest": stamp, "latest": stamp, "inclusive": "true", "limit": 1}
        told = await self.api.look("conversations.replies", wanted, timeout_seconds)
        for message in _messages_in(told):
            if message.get("ts") == stamp:
                return message
        raise ValidationError("the Slack message is gone")

    async def _find(self, call: SlackCall, channel: str, since: datetime, timeout_seconds: float) -> Receipt | None:
        async for message in self._since(call, channel, since, timeout_seconds):
            if _mark(message) == call.mark and is_message_id(message.get("ts")):
                return Receipt(message["ts"], conversation=channel)
            if _is_unmarked_twin(message, call):
                raise TargetUnavailable("Slack does not show us which message is which; the app may lack a permission")
        return None

    async def _since(
        self, call: SlackCall, channel: str, since: datetime, timeout_seconds: float
    ) -> AsyncIterator[JsonObject]:
        method = "conversations.replies" if call.thread else "conversations.history"
        wanted = _asked_since(call, channel, since)
        for _ in range(_MOST_PAGES):
            told = await self.api.look(method, wanted, timeout_seconds)
            for message in _messages_in(told):
                yield message
            cursor = _next_page(told)
            if cursor is None:
                return
            wanted |= {"cursor": cursor}
        raise TargetUnavailable("too much was written at Slack since to look through it all")


def _asked_since(call: SlackCall, channel: str, since: datetime) -> JsonBody:
    oldest = f"{(since - _SKEW).timestamp():.6f}"
    wanted = {"channel": channel, "oldest": oldest, "inclusive": "true", "limit": _PAGE, "include_all_metadata": "true"}
    return wanted | ({"ts": call.thread} if call.thread else {})


def _messages_in(told: JsonObject) -> list[JsonObject]:
    messages = told.get("messages")
    if not isinstance(messages, list):
        raise TargetUnavailable("Slack's answer could not be read")
    return objects_in(messages)


def _next_page(told: JsonObject) -> str | None:
    cursor = as_object(told.get("response_metadata")).get("next_cursor")
    if isinstance(cursor, str) and cursor:
        return cursor
    if told.get("has_more") is True:
        raise TargetUnavailable("Slack has more messages and does not say where")
    return None


def _mark(message: JsonObject) -> object:
    metadata = as_object(message.get("metadata"))
    return as_object(metadata.get("event_payload")).get("mark") if metadata.get("event_type") == EVENT_TYPE else None


def _is_unmarked_twin(message: JsonObject, call: SlackCall) -> bool:
    """Some app wrote the same words and we see no mark: it could be ours with the mark withheld."""
    if "bot_id" not in message or message.get("metadata"):
        return False
    return _plain(str(message.get("text", ""))) == _plain(call.text)


def _plain(text: str) -> str:
    return "".join(_DRAWN.sub("", text).split())
