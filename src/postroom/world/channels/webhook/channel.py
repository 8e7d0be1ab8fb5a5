"""Messages to a program of your own, as standardwebhooks.com defines it: signed, and safe to send again."""

from __future__ import annotations

import base64
import binascii
import json
import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Final
from urllib.parse import SplitResult, urlsplit

from postroom.domain.capabilities import Capabilities
from postroom.domain.delivery import Message, Receipt
from postroom.domain.file_contents import FileContents
from postroom.domain.webhook_signature import signed_headers
from postroom.world.channels.carried_files import check_files, read_file
from postroom.world.channels.kinds import WEBHOOK
from postroom.world.channels.webhook.event import LONGEST_NAME, WebhookCall, address, build, with_files
from postroom.world.http.http_call import HttpAnswer, HttpCall
from postroom.world.http.public_address import is_plainly_private, public_only
from postroom.world.http.refusal import refusal

SERVICE: Final = "the webhook"
_ENCODED: Final = "whsec_"
_WAYS: Final = ("http", "https")


def checked_url(url: str, *, allow_private: bool) -> str:
    """Raises ValueError with a sentence that repeats nothing of the URL: its path may be a secret."""
    url = url.strip()
    parts = _parsed(url)
    if parts is None or parts.scheme not in _WAYS or not parts.hostname or not url.isprintable() or " " in url:
        raise ValueError("the webhook's url must begin with https:// or http:// and name a host")
    if parts.username or parts.password or parts.fragment:
        raise ValueError("the webhook's url must have no user, password or fragment; the secret signs each message")
    if is_plainly_private(parts.hostname) and not allow_private:
        raise ValueError("the webhook's url leads to a private address, which needs allow_private = true")
    return url


def _parsed(url: str) -> SplitResult | None:
    try:
        parts = urlsplit(url)
        return parts if parts.port != 0 else None
    except ValueError:
        return None


def checked_secret(secret: str) -> str:
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


def receipt_id(answer: HttpAnswer, call: WebhookCall) -> str:
    """The receiver's own name for the message, if it gave one as JSON."""
    try:
        told = json.loads(answer.body)
    except (ValueError, RecursionError):
        return call.id
    own = told.get("id") if isinstance(told, dict) else None
    usable = isinstance(own, str) and own.isprintable() and 0 < len(own.strip()) <= len(own) <= LONGEST_NAME
    return str(own) if usable else call.id


class Webhook:
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
        self._url = checked_url(url, allow_private=allow_private)
        self._secret = checked_secret(secret)
        self._now = now
        self._http = HttpCall(SERVICE, connector=None if allow_private else public_only)

    def __repr__(self) -> str:
        return f"Webhook(name={self.name!r}, host={urlsplit(self._url).hostname!r}, secret=***)"

    def address(self, text: str) -> str | None:
        return address(text)

    def prepare(self, message: Message) -> Sequence[WebhookCall]:
        check_files(message, WEBHOOK, self._files, empty=True)
        return (build(message, self._now()),)

    async def send(self, part: WebhookCall, timeout_seconds: float) -> Receipt:
        ends_at = time.monotonic() + timeout_seconds
        call = await self._whole(part, ends_at) if part.files else part
        answer = await self._http.request(
            "POST", self._url, ends_at - time.monotonic(), body=call.body, headers=self._headers(call)
        )
        if not 200 <= answer.status < 300:
            raise refusal(SERVICE, answer.status, answer.retry_after, self._now(), ours="signature")
        return Receipt(receipt_id(answer, part))

    async def close(self) -> None:
        await self._http.close()

    async def _whole(self, call: WebhookCall, ends_at: float) -> WebhookCall:
        return with_files(call, [await read_file(self._files, one, ends_at - time.monotonic()) for one in call.files])

    def _headers(self, call: WebhookCall) -> dict[str, str]:
        signed = signed_headers(self._secret, call.id, int(self._now().timestamp()), call.body)
        if not self._secret:
            del signed["webhook-signature"]
        return {"Content-Type": "application/json", "User-Agent": "Postroom", **signed}
