"""A message as the calls that publish it at an ntfy server, and what its answers mean; pure."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Final

from postroom.channels.email.building import encoded
from postroom.channels.shared import (
    before_files,
    check_text,
    edited,
    json_length,
    one_line,
    plain_name,
    plain_type,
    utf8_length,
    with_links,
)
from postroom.kernel.http.answers import (
    JsonBody,
    JsonObject,
    as_object,
    asked_seconds,
    by_status,
    json_object,
    throttled,
)
from postroom.kernel.http.call import HttpAnswer
from postroom.kernel.text.rich import cut, marked, split
from postroom.kernel.values.errors import (
    CredentialsRefused,
    OutcomeUncertain,
    PostroomError,
    ProviderThrottled,
    ValidationError,
)
from postroom.kernel.values.ids import DeliveryId
from postroom.message.attachment import Attachment
from postroom.message.delivery import REPEAT_MARK, Intent, Message, Priority, Receipt
from postroom.message.markup import Button, Markup, Revision

# One message to one topic, ready to be published.


@dataclass(frozen=True, slots=True, kw_only=True)
class NtfyCall:
    """
    `sequence_id` names the notification on the person's device: what comes later under the same name replaces it, and
    a call that `deletes` takes it away (servers from 2.16 on), which the server knew as `about`.

    The body holds the message and stays out of `repr`. With a `file` it goes as headers, for the file is the content.
    An edit of such a message `keeps_file`: what replaces it has to name the file again, which the server knew as
    `about`.
    """

    topic: str
    sequence_id: str
    is_edit: bool = False
    deletes: bool = False
    keeps_file: bool = False
    about: str = ""
    body: JsonObject = field(repr=False)
    file: Attachment | None = field(default=None, repr=False)

    @property
    def text(self) -> str:
        return str(self.body.get("message", ""))

    @property
    def private(self) -> list[str]:
        """What no error may quote: the words, and what is as good as an answer."""
        behind = [str(action.get(part, "")) for action in self.body.get("actions", ()) for part in ("url", "body")]
        return [self.text, str(self.body.get("title", "")), *behind]


# From a message to its calls.

_PRIORITIES: Final = {Priority.HIGH: 4, Priority.MEDIUM: 3, Priority.LOW: 2}
_SILENT: Final = 2  # an edit rings no bell
_TAG: Final = re.compile(r"[\w.-]{1,64}")


def address(text: str) -> str | None:
    """A topic; ntfy tells large and small letters apart."""
    topic = text.strip(" ")
    return topic if TOPIC.fullmatch(topic) else None


def build(message: Message, answers_url: str) -> Sequence[NtfyCall]:
    """Before anything is sent: what can never succeed is refused here."""
    if message.intent is not Intent.SEND:
        raise ValidationError("ntfy has neither replies nor reactions")
    topic = address(message.address)
    if topic is None:
        raise ValidationError("recipient is not an ntfy topic: 1 to 64 letters, digits, - and _")
    if message.revises is not None and message.revises.deletes:
        return _deletes(message.revises, topic)
    _check_text(message)
    text = with_links(message.text, _unplaced(message.markup))
    if message.revises is not None:
        return _edits(message, message.revises, topic, text, answers_url)
    parts = before_files(message, lambda marked: parts_of(text, repeated=marked))
    bodies = [_body(message, topic, part) for part in parts]
    _put_buttons(bodies[-1], message, topic, answers_url)
    files_alone = _file_bodies(message, _body(message, topic, ""))
    bodies += files_alone[1:] if _is_with_file(message, text, bodies) else files_alone
    files = [None] * (len(bodies) - len(message.attachments)) + list(message.attachments)
    calls = [_call(message.delivery_id, place, body) for place, body in enumerate(bodies)]
    return tuple(replace(call, file=file) for call, file in zip(calls, files, strict=True))


def _is_with_file(message: Message, text: str, bodies: Sequence[JsonBody]) -> bool:
    """
    Whether the first file goes along with the text: as headers it has no buttons, and of `\\n` in a header the server
    makes the end of a line.
    """
    has_room = len(parts_of(text, repeated=True)) == 1  # whatever comes again later comes in the same parts
    return bool(message.attachments) and has_room and "actions" not in bodies[0] and "\\n" not in text


def sequence_id(delivery_id: DeliveryId, place: int) -> str:
    """The same part of the same delivery has the same name for ever; it says nothing to those who read the topic."""
    return hashlib.sha256(f"{delivery_id}/{place}".encode()).hexdigest()[:32]


def _edits(message: Message, revises: Revision, topic: str, text: str, answers_url: str) -> Sequence[NtfyCall]:
    """Published again under the same names."""
    if not revises.worded:
        raise ValidationError("only what was sent to ntfy can be edited")
    bodies = [_body(message, topic, part) | {"priority": _SILENT} for part in parts_of(text)]
    _put_buttons(bodies[-1], message, topic, answers_url)
    places = _places(revises)
    stand = revises.worded
    changed = [
        _call(revises.delivery_id, places[one], body, is_edit=True) for one, body in zip(stand, bodies, strict=False)
    ]
    if revises.files >= len(revises.provider_ids):
        changed[0] = replace(changed[0], keeps_file=True, about=stand[0])
    surplus = [_delete(revises, topic, one) for one in stand[len(bodies) :]]
    added = enumerate(bodies[len(stand) :], len(places))
    return edited(changed, surplus, [_call(revises.delivery_id, place, body) for place, body in added])


def _places(revises: Revision) -> dict[str, int]:
    """By which each part has its name on the devices: in the order in which they came."""
    return {one: place for place, one in enumerate((*revises.provider_ids, *revises.more))}


def _deletes(revises: Revision, topic: str) -> Sequence[NtfyCall]:
    if not revises.standing:
        raise ValidationError("only what was sent to ntfy can be deleted")
    return tuple(_delete(revises, topic, one) for one in revises.standing)


def _delete(revises: Revision, topic: str, one: str) -> NtfyCall:
    name = sequence_id(revises.delivery_id, _places(revises)[one])
    return NtfyCall(topic=topic, sequence_id=name, about=one, deletes=True, body={"topic": topic})


def _check_text(message: Message) -> None:
    if message.revises is not None and not message.text:
        raise ValidationError("ntfy cannot change buttons without their message")
    check_text(message, subject=True)


def _body(message: Message, topic: str, text: str) -> JsonBody:
    body: JsonBody = {"topic": topic, "message": text, "priority": _PRIORITIES[message.priority]}
    speaker = message.origin_butler
    if title := title_of(message.subject or "") or speaker:
        body["title"] = title
    if title != speaker and _TAG.fullmatch(speaker):
        body["tags"] = [speaker]
    return body


def _put_buttons(body: JsonBody, message: Message, topic: str, answers_url: str) -> None:
    if message.markup and (actions := _actions_of(message.markup, topic, answers_url)):
        body["actions"] = actions


def _call(delivery_id: DeliveryId, place: int, body: JsonBody, *, is_edit: bool = False) -> NtfyCall:
    name = sequence_id(delivery_id, place)
    return NtfyCall(topic=body["topic"], sequence_id=name, is_edit=is_edit, body=body | {"sequence_id": name})


# Texts in the pieces that an ntfy server shows as messages; anything longer it turns into a file.

MESSAGE_BYTES: Final = 4_095  # the server takes the 4,096th byte for the sign of a file
BODY_BYTES: Final = 8_191  # and twice as much of JSON is all it reads
_WRITTEN_BYTES: Final = 5_000  # of a text as JSON writes it, which leaves room for title and buttons
_ROOM: Final = MESSAGE_BYTES * _WRITTEN_BYTES  # both limits in one measure
_TITLE_BYTES: Final = 250


def parts_of(text: str, *, repeated: bool = False) -> list[str]:
    parts = split(text, _ROOM, _room_taken)
    return marked(parts, REPEAT_MARK, MESSAGE_BYTES, utf8_length) if repeated else parts


def _room_taken(text: str) -> int:
    """Of the message or of its JSON, whichever a character fills faster."""
    return sum(max(utf8_length(one) * _WRITTEN_BYTES, json_length(one) * MESSAGE_BYTES) for one in text)


def title_of(text: str) -> str:
    return cut(" ".join(text.split()), _TITLE_BYTES, utf8_length)


# The buttons of a notification, and what comes back of them.

_MOST: Final = 3
TOPIC: Final = re.compile(r"[-_A-Za-z0-9]{1,64}")
_PRESSED: Final = re.compile(r"(?P<token>[!-~]{1,64}) (?P<topic>[-_A-Za-z0-9]{1,64})")
_TOKEN: Final = re.compile(r"[!-~]{1,64}")
_LABEL_BYTES: Final = 120
_URL_BYTES: Final = 600


def _actions_of(markup: Markup, topic: str, answers_url: str) -> list[JsonBody]:
    """Links that find no place stand in the text; for what is pressed there is no other place."""
    pressed = [_press(button, topic, answers_url) for button in markup.every_button if button.token is not None]
    if len(pressed) > _MOST:
        raise ValidationError(f"an ntfy message has at most {_MOST} buttons")
    links = [one for one in _links(markup)[: _MOST - len(pressed)] if _fits(one)]
    return [*pressed, *({"action": "view", "label": _label(one), "url": one.url} for one in links)]


def _unplaced(markup: Markup | None) -> list[Button]:
    """The links that are no buttons."""
    if markup is None:
        return []
    room = _MOST - sum(button.token is not None for button in markup.every_button)
    return [button for place, button in enumerate(_links(markup)) if place >= room or not _fits(button)]


def read_pressed(body: str) -> tuple[str, str] | None:
    """The token and the topic of the card, or None when this was no press."""
    found = _PRESSED.fullmatch(body.strip())
    return (found["token"], found["topic"]) if found else None


def _press(button: Button, topic: str, answers_url: str) -> JsonBody:
    if not answers_url:
        raise ValidationError("buttons on ntfy need a topic for the answers: set answers_topic")
    if not _TOKEN.fullmatch(button.token or ""):
        raise ValidationError("a button's token must have 1 to 64 printable characters")
    return {
        "action": "http",
        "label": _label(button),
        "url": answers_url,
        "method": "POST",
        "body": f"{button.token} {topic}",
        "clear": True,
    }


def _links(markup: Markup) -> list[Button]:
    return [button for button in markup.every_button if button.url is not None]


def _fits(button: Button) -> bool:
    url = button.url or ""
    return url.startswith(("http://", "https://")) and utf8_length(url) <= _URL_BYTES


def _label(button: Button) -> str:
    return cut(one_line(button.label), _LABEL_BYTES, utf8_length)


# Files for an ntfy topic, with what they say in headers: the first with a short text, the others each by itself.


def _file_bodies(message: Message, body: JsonBody) -> list[JsonBody]:
    """`body` is what all of them have in common."""
    names = [plain_name(one) for one in message.attachments]
    if message.repeated and names:
        names[-1] = f"{names[-1]} {REPEAT_MARK}"
    return [body | {"message": name} for name in names]


def with_file(call: NtfyCall, told: JsonObject) -> NtfyCall:
    """As the server shows it already: it is not brought a second time."""
    attachment = as_object(told.get("attachment"))
    named = {"attach": attachment.get("url"), "filename": attachment.get("name")}
    if not all(isinstance(one, str) and one for one in named.values()):
        return call
    return replace(call, body={**call.body, **named})


def file_headers(call: NtfyCall, file: Attachment) -> dict[str, str]:
    said = {
        "Filename": plain_name(file),
        "X-Message": call.text,
        "X-Title": str(call.body.get("title", "")),
        "X-Priority": str(call.body["priority"]),
        "X-Tags": ",".join(call.body.get("tags", ())),
        "X-Sequence-ID": call.sequence_id,
    }
    # Headers have no line ends, so the encoded words of a long one stand side by side (RFC 2047).
    written = {name: encoded(text).replace("\r\n", "") for name, text in said.items() if text}
    return written | {"Content-Type": plain_type(file)}


# What the server's answers mean.

_DAILY: Final = frozenset({42905, 42908})  # bandwidth and messages are counted by the day
_REFILL_SECONDS: Final = 5.0  # a request comes back every five seconds
_JUST_BEGUN_SECONDS: Final = 300.0  # a day that begins there a little later than here
_SOON_SECONDS: Final = 60.0


def events(body: bytes) -> Iterator[JsonObject]:
    """One to a line; what is no event says nothing."""
    return (event for line in body.splitlines() if (event := json_object(line)))


def read_receipt(answer: HttpAnswer) -> Receipt:
    name = answer.told.get("id")
    if not isinstance(name, str) or not name:
        raise OutcomeUncertain("ntfy accepted the message and named none")
    return Receipt(name)


def read_refusal(answer: HttpAnswer, words: str, now: datetime) -> PostroomError:
    said = f"ntfy answered {answer.status}" + (f": {words}" if words else "")
    match answer.status:
        case 429:
            return _throttled(said, answer.told.get("code"), answer.retry_after, now)
        case 401:
            return CredentialsRefused("ntfy does not accept our token")
        case 403:
            return CredentialsRefused("ntfy does not allow us this topic: the token needs access to it")
        case 507:
            return ValidationError(f"{said}; the topic takes no messages")
        case status:
            return by_status(said, status)


def _throttled(said: str, code: object, retry_after: str | None, now: datetime) -> ProviderThrottled:
    if code in _DAILY:
        return ProviderThrottled(f"{said}; the day's quota is used up", retry_after_seconds=until_reset(now))
    asked = asked_seconds(None if retry_after else _REFILL_SECONDS, retry_after, now)
    return throttled(said, asked)


def until_reset(now: datetime) -> float:
    """Quotas begin anew at midnight UTC, by the server's clock."""
    today = now.astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    if (now - today).total_seconds() < _JUST_BEGUN_SECONDS:
        return _SOON_SECONDS
    return (today + timedelta(days=1) - now).total_seconds()
