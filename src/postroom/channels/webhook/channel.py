"""Messages to a program of your own, as standardwebhooks.com defines it: signed, and safe to send again."""

from __future__ import annotations

import base64
import binascii
import json
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Final
from urllib.parse import urlsplit

from postroom.channels.provider import web_address_in
from postroom.channels.shared import check_files, emoji_of, plain_name, plain_type, read_file
from postroom.channels.webhook.kind import WEBHOOK, WebhookAccount
from postroom.kernel.http.answers import JsonBody, refusal
from postroom.kernel.http.call import HttpAnswer, HttpCall, is_plainly_private, public_only
from postroom.kernel.text.rich import is_single
from postroom.kernel.values.errors import ValidationError
from postroom.kernel.values.fields import text_problem
from postroom.kernel.values.ids import is_uuid, moment_of, to_text, to_us
from postroom.kernel.webhooks import signed_headers
from postroom.message.attachment import Attachment, FileContents
from postroom.message.channel import Capabilities
from postroom.message.delivery import REPEAT_MARK, Format, Intent, Message, Receipt
from postroom.message.markup import Button, Revision
from postroom.settings.accounts import Surroundings

# What a receiver is told: one JSON object for each message, the same bytes at every attempt.

_SENT: Final = "message.sent"
_REVISED: Final = "message.revised"
_RECALLED: Final = "message.recalled"
_LONGEST_NAME: Final = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class WebhookCall:
    """
    The id by which a receiver knows a repetition, and the body; the body holds the message and is never shown.

    With `files` it is whole only once their bytes are in it.
    """

    id: str
    body: bytes = field(repr=False)
    files: tuple[Attachment, ...] = field(default=(), repr=False)


def address(text: str) -> str | None:
    """Any name on one line: whom it means is the receiver's business."""
    name = text.strip()
    return name if name and name.isprintable() and len(name) <= _LONGEST_NAME else None


def build(message: Message, now: datetime) -> WebhookCall:
    # Our ids say when they were made, so a second attempt needs no second time.
    accepted_us = moment_of(message.delivery_id) if is_uuid(message.delivery_id) else to_us(now)
    event = {"type": _type(message.revises), "timestamp": to_text(accepted_us), "data": _data(message)}
    files = () if message.revises else message.attachments
    return WebhookCall(id=message.delivery_id, body=_as_bytes(event), files=files)


def _with_files(call: WebhookCall, contents: Sequence[bytes]) -> WebhookCall:
    event = json.loads(call.body)
    pairs = zip(call.files, contents, strict=True)
    event["data"]["attachments"] = [_file(one, content) for one, content in pairs]
    return replace(call, body=_as_bytes(event), files=())


def _file(one: Attachment, content: bytes) -> JsonBody:
    return {
        "name": plain_name(one),
        "media_type": plain_type(one),
        "size": one.size,
        "sha256": one.sha256,
        "data": base64.b64encode(content).decode(),
    }


def _as_bytes(event: JsonBody) -> bytes:
    return json.dumps(event, ensure_ascii=False).encode()


def _type(revises: Revision | None) -> str:
    if revises is None:
        return _SENT
    return _RECALLED if revises.deletes else _REVISED


def _data(message: Message) -> JsonBody:
    to, revises = address(message.address), message.revises
    if to is None:
        raise ValidationError(f"recipient must be a name of one line and at most {_LONGEST_NAME} characters")
    return {
        "delivery_id": message.delivery_id,
        "to": to,
        "from": message.origin_butler or None,
        "intent": str(message.intent),
        "message": _text(message),
        "subject": _plain("subject", message.subject),
        "thread": _plain("thread", message.thread),
        "emoji": _emoji(message) if message.intent is Intent.REACT else None,
        "buttons": [_link(button) for button in (message.markup.every_button if message.markup else ())],
        "revises": {"delivery_id": revises.delivery_id, "ids": list(revises.provider_ids)} if revises else None,
        # Markdown goes out as it was written: how it looks is the receiver's business.
        **({} if message.format is Format.PLAIN else {"format": str(message.format)}),
    }


def _text(message: Message) -> str | None:
    """None where there is nothing to say: a reaction, or an edit that changes only what stands under the words."""
    if message.intent is Intent.REACT or (message.revises and not message.text):
        return None
    if not message.text.strip():
        raise ValidationError("message must not be blank")
    text = _plain("message", message.text)
    return f"{text}\n\n{REPEAT_MARK}" if message.repeated else text


def _plain(name: str, text: str | None) -> str | None:
    if text and (problem := text_problem(text)):
        raise ValidationError(f"{name} {problem}")
    return text or None


def _emoji(message: Message) -> str:
    emoji = emoji_of(message, lambda one: is_single(one) and not one.isascii() and not one[0].isalnum())
    if not message.thread:
        raise ValidationError("the message to react to must be named")
    return emoji


def _link(button: Button) -> dict[str, str]:
    """What a press says to us is for no other eyes, and nothing here could be pressed."""
    if button.url is None:
        raise ValidationError("a button in a webhook must be a link")
    return {"label": button.label, "url": button.url}


# The channel.

_SERVICE: Final = "the webhook"
_ENCODED: Final = "whsec_"


def _checked_url(url: str, *, allow_private: bool) -> str:
    """Raises ValueError with a sentence that repeats nothing of the URL: its path may be a secret."""
    url = url.strip()
    parts = web_address_in(url)
    if parts is None:
        raise ValueError("the webhook's url must begin with https:// or http:// and name a host")
    if parts.username or parts.password or parts.fragment:
        raise ValueError("the webhook's url must have no user, password or fragment; the secret signs each message")
    if is_plainly_private(parts.hostname or "") and not allow_private:
        raise ValueError("the webhook's url leads to a private address, which needs allow_private = true")
    return url


def _checked_secret(secret: str) -> str:
    if secret.startswith(_ENCODED):
        try:
            if base64.b64decode(secret.removeprefix(_ENCODED), validate=True):
                return secret
        except binascii.Error:
            pass
        raise ValueError("the webhook's secret must be base64 after whsec_")
    if not secret.isprintable() or secret != secret.strip():
        raise ValueError("the webhook's secret must be one line without spaces at its ends")
    return secret


def _receipt_id(answer: HttpAnswer, call: WebhookCall) -> str:
    """The receiver's own name for the message, if it gave one as JSON."""
    own = answer.told.get("id")
    usable = isinstance(own, str) and own.isprintable() and 0 < len(own.strip()) <= len(own) <= _LONGEST_NAME
    return str(own) if usable else call.id


class Webhook:
    address = staticmethod(address)
    capabilities: Capabilities = WEBHOOK

    def __init__(
        self,
        name: str,
        url: str,
        secret: str = "",
        allow_private: bool = False,
        *,
        files: FileContents | None = None,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self.name = name
        self._files = files
        self._url = _checked_url(url, allow_private=allow_private)
        self._secret = _checked_secret(secret)
        self._now = now
        self._http = HttpCall(_SERVICE, connector=None if allow_private else public_only)

    @classmethod
    def of(cls, name: str, options: WebhookAccount, given: Surroundings) -> Webhook:
        return cls(name, options.url.reveal(), options.secret.reveal(), options.allow_private, files=given.files)

    def __repr__(self) -> str:
        return f"Webhook(name={self.name!r}, host={urlsplit(self._url).hostname!r}, secret=***)"

    def prepare(self, message: Message) -> Sequence[WebhookCall]:
        check_files(message, WEBHOOK, self._files, empty=True)
        return (build(message, self._now()),)

    async def send(self, part: WebhookCall, timeout_seconds: float) -> Receipt:
        ends_at = time.monotonic() + timeout_seconds
        contents = [await read_file(self._files, one, ends_at - time.monotonic()) for one in part.files]
        call = _with_files(part, contents) if contents else part
        answer = await self._http.request(
            "POST", self._url, ends_at - time.monotonic(), body=call.body, headers=self._headers(call)
        )
        if not answer.is_success:
            raise refusal(_SERVICE, answer.status, answer.retry_after, self._now(), ours="signature")
        return Receipt(_receipt_id(answer, part))

    async def close(self) -> None:
        await self._http.close()

    def _headers(self, call: WebhookCall) -> dict[str, str]:
        signed = signed_headers(self._secret, call.id, int(self._now().timestamp()), call.body)
        if not self._secret:
            del signed["webhook-signature"]
        return {"Content-Type": "application/json", "User-Agent": "Postroom", **signed}
