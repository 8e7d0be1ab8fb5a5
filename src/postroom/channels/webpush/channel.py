"""Notifications on a person's own devices, by the push service of each browser."""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import json
import time
from base64 import urlsafe_b64encode
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from postroom.channels.provider import web_address_in
from postroom.channels.shared import check_files, check_text, json_length, one_line
from postroom.channels.webpush.kind import WEBPUSH, WebPushAccount
from postroom.kernel.http.answers import JsonBody, JsonObject, refusal
from postroom.kernel.http.call import HttpAnswer, HttpCall, is_plainly_private, public_only
from postroom.kernel.text.rich import cut, split
from postroom.kernel.values.errors import (
    DeliveryTimeout,
    PostroomError,
    StoreUnavailable,
    TargetUnavailable,
    ValidationError,
)
from postroom.kernel.values.ids import DeliveryId
from postroom.message.channel import Capabilities
from postroom.message.delivery import REPEAT_MARK, Intent, Message, Priority, Receipt
from postroom.message.markup import Button
from postroom.message.outgoing import known_as
from postroom.people.model import DEVICE_ID, PushSubscription
from postroom.settings.accounts import Surroundings

if TYPE_CHECKING:
    from postroom.people.devices.push import StoredPushDevices

# A message as what a device shows; pure.

READ_MORE: Final = "… open to read more"
_MOST_BUTTONS: Final = WEBPUSH.most_buttons or 0
_TITLE_BYTES: Final = 160
_LABEL_BYTES: Final = 120
_URL_BYTES: Final = 400
_TOKEN_CHARACTERS: Final = 64
_TEXT_BYTES: Final = WEBPUSH.max_units or 0
_URGENCY: Final = {Priority.HIGH: "high", Priority.MEDIUM: "normal", Priority.LOW: "low"}


@dataclass(frozen=True, slots=True, kw_only=True)
class PushCall:
    """
    `topic` names the notification, to the push service and on the device: what comes later under it takes its place.

    What is shown stays out of `repr`.
    """

    device_id: str
    topic: str
    urgency: str
    shown: JsonObject = field(repr=False)

    @property
    def written(self) -> bytes:
        return json.dumps(self.shown, ensure_ascii=False, separators=(",", ":")).encode()


def address(text: str) -> str | None:
    """A device's id; what it stands for is kept elsewhere."""
    given = text.strip(" ").lower()
    return given if DEVICE_ID.fullmatch(given) else None


def build(message: Message, account: str) -> Sequence[PushCall]:
    """Before anything is sent: what can never succeed is refused here."""
    device_id = address(message.address)
    if message.intent is not Intent.SEND:
        raise ValidationError("a notification has neither replies nor reactions")
    if device_id is None:
        raise ValidationError("recipient is not a device: its id has 16 characters, 0 to 9 and a to f")
    _check(message)
    about = message.revises.delivery_id if message.revises else message.delivery_id
    call = PushCall(
        device_id=device_id,
        topic=topic_of(about),
        urgency=_URGENCY[message.priority],
        shown=_shown(message, account, about, device_id),
    )
    if len(call.written) > MOST_TEXT_BYTES:
        raise ValidationError("the message is too long for a notification with its title and buttons")
    return (call,)


def topic_of(delivery_id: DeliveryId) -> str:
    """The same delivery has the same name for ever, which says nothing to the push service; it may have 32 letters."""
    return urlsafe_b64encode(hashlib.sha256(delivery_id.encode()).digest()).decode()[:32]


def _check(message: Message) -> None:
    check_files(message, WEBPUSH, None)
    if message.revises is not None and message.revises.deletes:
        raise ValidationError("a notification cannot be deleted, only replaced")
    check_text(message, subject=True)


def _shown(message: Message, account: str, about: DeliveryId, device_id: str) -> JsonBody:
    pressed, link = _buttons(message)
    shown: JsonBody = {
        "id": f"{message.delivery_id}",
        "tag": topic_of(about),
        "title": _line((message.subject or "").strip() or known_as(message.origin_butler) or "Postroom", _TITLE_BYTES),
        "body": _text(message),
        "url": link or f"/console/devices/messages/{message.delivery_id}",
    }
    if message.revises is not None:
        shown["silent"] = True
    if pressed:
        actions = [{"title": _line(one.label, _LABEL_BYTES), "token": one.token} for one in pressed]
        shown |= {"actions": actions, "press": f"/channels/{account}/press", "device": device_id}
    return shown


def _text(message: Message) -> str:
    """Cut where it is too long, and says so; the page behind it has the rest."""
    mark = f"\n\n{REPEAT_MARK}" if message.repeated else ""
    if json_length(text := message.text + mark) <= _TEXT_BYTES:
        return text
    end = READ_MORE + mark
    return split(message.text, _TEXT_BYTES - json_length(end), json_length)[0] + end


def _buttons(message: Message) -> tuple[Sequence[Button], str | None]:
    """Those that are pressed, and what a press beside them opens."""
    every = message.markup.every_button if message.markup else ()
    pressed = [one for one in every if one.token is not None]
    if len(pressed) > _MOST_BUTTONS:
        raise ValidationError(f"a notification has at most {_MOST_BUTTONS} buttons")
    if any(len(one.token or "") > _TOKEN_CHARACTERS for one in pressed):
        raise ValidationError(f"a button's token must have 1 to {_TOKEN_CHARACTERS} characters")
    links = [one.url for one in every if one.url is not None and len(one.url.encode()) <= _URL_BYTES]
    return pressed, links[0] if links else None


def _line(text: str, most_bytes: int) -> str:
    return cut(one_line(text), most_bytes, json_length)


# Which addresses and keys a browser may name: they come from outside, and we are to call them.

_MOST_ENDPOINT: Final = 2_000
_AUTH_BYTES: Final = 16


def checked(subscription: PushSubscription, *, allow_private: bool) -> PushSubscription:
    """Raises ValueError with a sentence that repeats nothing of it."""
    _check_endpoint(subscription.endpoint, allow_private=allow_private)
    try:
        ec.EllipticCurvePublicKey.from_encoded_point(ec.SECP256R1(), _decoded(subscription.p256dh))
    except ValueError:
        raise ValueError("p256dh is not the public key of a browser") from None
    if len(_decoded(subscription.auth)) != _AUTH_BYTES:
        raise ValueError(f"auth is not a secret of {_AUTH_BYTES} bytes")
    return subscription


def origin_of(endpoint: str) -> str:
    """Whom a proof of who we are is for."""
    parts = urlsplit(endpoint)
    return f"{parts.scheme}://{parts.netloc}"


def _check_endpoint(endpoint: str, *, allow_private: bool) -> None:
    parts = web_address_in(endpoint, ("https", "http") if allow_private else ("https",))
    if parts is None or len(endpoint) > _MOST_ENDPOINT:
        raise ValueError("endpoint must begin with https:// and name a push service")
    if parts.username or parts.password or parts.fragment or not endpoint.isascii():
        raise ValueError("endpoint must be a plain address without user, password or fragment")
    if is_plainly_private(parts.hostname or "") and not allow_private:
        raise ValueError("endpoint leads to a private address, which needs allow_private = true")


def _decoded(text: str) -> bytes:
    try:
        return base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
    except (binascii.Error, ValueError):
        raise ValueError("the keys of a browser are written as base64url") from None


# A message that only the browser can read (RFC 8291): the push service carries what it cannot open.

_MOST_BODY_BYTES: Final = 4_096  # what every push service takes
_ADDED_BYTES: Final = 86 + 16 + 1  # salt, size and key in front; the seal and the end of the text behind
MOST_TEXT_BYTES: Final = _MOST_BODY_BYTES - _ADDED_BYTES


def _encrypted(text: bytes, subscription: PushSubscription) -> bytes:
    from http_ece import encrypt  # for those who have a browser to push to

    body = encrypt(
        text,
        private_key=ec.generate_private_key(ec.SECP256R1()),  # one for each message
        dh=_decoded(subscription.p256dh),
        auth_secret=_decoded(subscription.auth),
        version="aes128gcm",
    )
    return bytes(body)


# Who we are to a push service (RFC 8292): a key of the household's own, and a proof for each service.

_GOOD_FOR_SECONDS: Final = 12 * 3600  # a service may refuse more than a day
_MOST_CONTACT: Final = 200
_ORDER: Final = 0xFFFFFFFF00000000FFFFFFFFFFFFFFFFBCE6FAADA7179E84F3B9CAC2FC632551


@dataclass(frozen=True, slots=True, kw_only=True)
class PushIdentity:
    """`contact` is whom those who run a push service may write to; `key` is made from the household's own."""

    contact: str
    key: ec.EllipticCurvePrivateKey = field(repr=False)

    @property
    def public_key(self) -> str:
        """As a browser wants it, which remembers it with its consent: another key needs another consent."""
        point = self.key.public_key().public_bytes(Encoding.X962, PublicFormat.UncompressedPoint)
        return base64.urlsafe_b64encode(point).rstrip(b"=").decode()

    def proof(self, origin: str, now_seconds: int) -> str:
        """The header `Authorization`, for one service and half a day."""
        from py_vapid import Vapid  # for those who have a browser to push to

        claims = {"aud": origin, "exp": now_seconds + _GOOD_FOR_SECONDS, "sub": self.contact}
        return str(Vapid(private_key=self.key).sign(claims)["Authorization"])


def identity(contact: str, seed: bytes) -> PushIdentity:
    """The same seed is the same identity, in every process; raises ValueError for a contact that is none."""
    number = int.from_bytes(seed) % (_ORDER - 1) + 1
    return PushIdentity(contact=checked_contact(contact), key=ec.derive_private_key(number, ec.SECP256R1()))


def identity_of(name: str, options: WebPushAccount, given: Surroundings) -> PushIdentity:
    return identity(options.contact, hmac.digest(given.key("web push"), name.encode(), "sha256"))


def checked_contact(contact: str) -> str:
    """Apple's service refuses every message of a sender whose contact cannot be one."""
    host = _host(contact.strip())
    if not host or "." not in host or is_plainly_private(host) or len(contact) > _MOST_CONTACT:
        raise ValueError("contact must be mailto:you@your.domain or https://your.domain, as push services want it")
    return contact.strip()


def _host(contact: str) -> str:
    if not contact.isascii() or not contact.isprintable() or " " in contact:
        return ""
    if contact.startswith("mailto:"):
        name, at, host = contact.removeprefix("mailto:").partition("@")
        return host if name and at else ""
    try:
        parts = urlsplit(contact)
        return parts.hostname or "" if parts.scheme == "https" else ""
    except ValueError:
        return ""


# The channel.

_SERVICE: Final = "the push service"
_KEPT_SECONDS: Final = 3 * 86_400  # by the service, for a device that is off; what is older is in the console
_GONE: Final = "this device is not reached any more: notifications were switched off there, or it was removed"
_ENDED: Final = (404, 410)
_MOST_NAME: Final = 64


class WebPush:
    address = staticmethod(address)
    capabilities: Capabilities = WEBPUSH

    def __init__(
        self,
        name: str,
        identity: PushIdentity,
        devices: StoredPushDevices | None = None,
        *,
        allow_private: bool = False,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        """Without `devices` it can only say what an address looks like."""
        self.name = name
        self._identity = identity
        self._devices = devices
        self._allow_private = allow_private
        self._now = now
        self._http = HttpCall(_SERVICE, connector=None if allow_private else public_only)

    @classmethod
    def of(cls, name: str, options: WebPushAccount, given: Surroundings) -> WebPush:
        return cls(name, identity_of(name, options, given), given.devices, allow_private=options.allow_private)

    def __repr__(self) -> str:
        return f"WebPush(name={self.name!r}, contact={self._identity.contact!r}, key=***)"

    def prepare(self, message: Message) -> Sequence[PushCall]:
        return build(message, self.name)

    async def send(self, part: PushCall, timeout_seconds: float) -> Receipt:
        ends_at = time.monotonic() + timeout_seconds
        devices, subscription = await self._subscription(part)
        left = ends_at - time.monotonic()
        if left <= 0:
            raise DeliveryTimeout("the record of devices did not answer before the deadline")
        body, headers = _encrypted(part.written, subscription), self._headers(part, subscription)
        answer = await self._http.request("POST", subscription.endpoint, left, body=body, headers=headers)
        if answer.is_success:
            await _noted(devices.used, part.device_id)
            return Receipt(_name_of(answer) or part.topic)
        raise await self._refusal(answer, part, devices)

    async def close(self) -> None:
        await self._http.close()

    async def _subscription(self, part: PushCall) -> tuple[StoredPushDevices, PushSubscription]:
        """Nothing has been sent yet, so whatever fails here is no doubt."""
        if self._devices is None:
            raise TargetUnavailable("the record of devices is not here")
        found = await self._devices.subscription(self.name, part.device_id)
        if found is None:
            raise ValidationError(_GONE)
        try:
            return self._devices, checked(found, allow_private=self._allow_private)
        except ValueError:
            raise ValidationError("this device cannot be reached: it named no address of a push service") from None

    def _headers(self, part: PushCall, subscription: PushSubscription) -> dict[str, str]:
        now_seconds = int(self._now().timestamp())
        return {
            "Authorization": self._identity.proof(origin_of(subscription.endpoint), now_seconds),
            "Content-Encoding": "aes128gcm",
            "Content-Type": "application/octet-stream",
            "TTL": str(_KEPT_SECONDS),
            "Urgency": part.urgency,
            "Topic": part.topic,
            "User-Agent": "Postroom",
        }

    async def _refusal(self, answer: HttpAnswer, part: PushCall, devices: StoredPushDevices) -> PostroomError:
        if answer.status in _ENDED:
            await _noted(devices.ended, part.device_id)
            return ValidationError(_GONE).told_by(answer.status)
        return refusal(_SERVICE, answer.status, answer.retry_after, self._now(), ours="key")


async def _noted(note: Callable[[str], Awaitable[None]], device_id: str) -> None:
    """The service has answered; that a note of it is lost changes nothing about the message."""
    with suppress(StoreUnavailable):
        await note(device_id)


def _name_of(answer: HttpAnswer) -> str:
    """What the service calls the message: the end of the address it gave it, which is no way to it."""
    name = answer.headers.get("Location", "").rstrip("/").rpartition("/")[2]
    return name[:_MOST_NAME] if name.isascii() and name.isprintable() else ""
