"""What a client asks to be published, in either form: JSON to the root, or text and headers to a topic."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any, Final

from aiohttp import web

from postroom.sandbox.ledger import FileShelf
from postroom.sandbox.mail import decoded, shown
from postroom.sandbox.records import ArrivedFile, picture_type, with_room
from tests.fakes.ntfy import errors
from tests.fakes.ntfy.errors import NtfyRefusal
from tests.fakes.record import KEPT_FILES

_TOPIC: Final = re.compile(r"[-_A-Za-z0-9]{1,64}")
_RESERVED: Final = ("docs", "static", "file", "app", "metrics", "account", "settings", "signup", "login", "v1")
_LIMIT_BYTES: Final = 4_096
_FILE_BYTES: Final = 15 * 1_048_576
_KINDS: Final = ("view", "broadcast", "http", "copy")
_MOST_ACTIONS: Final = 3
_PRIORITIES: Final = {"min": 1, "low": 2, "default": 3, "high": 4, "max": 5, "urgent": 5}
_NOTHING: Final = "triggered"
_KEPT: Final = ("title", "click", "icon")
Event = dict[str, Any]


async def published(request: web.Request, shelf: FileShelf) -> tuple[str, Event]:
    """The topic and the message, as its readers will see it. Raises NtfyRefusal."""
    topic = request.match_info.get("topic")
    name = None if topic is None else _said(request, "Filename")
    if topic is None or name is None:
        body = await request.read()
        return checked(_of_json(body) if topic is None else _of_headers(request, topic, body))
    return _with_file(request, topic, name, await with_room(request).read(), shelf)


def _with_file(request: web.Request, topic: str, name: str, content: bytes, shelf: FileShelf) -> tuple[str, Event]:
    """A file that is named is the content, whatever it holds; the message is in the headers."""
    if len(content) > _FILE_BYTES:
        raise NtfyRefusal(errors.FILE_TOO_LARGE)
    topic, event = checked(_of_headers(request, topic, b""))
    if not content:
        return topic, event
    kept = shelf.keep(ArrivedFile(name=name, media_type=picture_type(content) or request.content_type, content=content))
    said = {} if _said(request, "Message") else {"message": f"You received a file: {name}"}
    url = f"http://{request.host}/sandbox/files/{kept.sha256}"
    listed = {"name": name, "type": kept.media_type, "size": kept.size, "url": url}
    return topic, event | said | {"attachment": listed, KEPT_FILES: [kept.listing()]}


def checked(given: Mapping[str, Any]) -> tuple[str, Event]:
    topic = str(given.get("topic") or "")
    if not _TOPIC.fullmatch(topic):
        raise NtfyRefusal(errors.TOPIC)
    if topic in _RESERVED:
        raise NtfyRefusal(errors.RESERVED)
    event: Event = {name: str(given[name]) for name in _KEPT if given.get(name)}
    event |= _text(given.get("message"))
    event |= _named(given.get("sequence_id"))
    if (priority := _priority(given.get("priority"))) is not None:
        event["priority"] = priority
    if tags := given.get("tags"):
        event["tags"] = [str(tag) for tag in tags]
    if attach := given.get("attach"):
        event["attachment"] = {"name": str(given.get("filename") or attach), "url": str(attach)}
    if actions := given.get("actions"):
        event["actions"] = _actions(actions)
    return topic, event


def _of_json(body: bytes) -> Mapping[str, Any]:
    if len(body) >= 2 * _LIMIT_BYTES:
        raise NtfyRefusal(errors.TOO_LARGE)
    try:
        given = json.loads(body)
    except (ValueError, RecursionError):
        raise NtfyRefusal(errors.NOT_JSON) from None
    if not isinstance(given, dict):
        raise NtfyRefusal(errors.NOT_JSON)
    return given


def _of_headers(request: web.Request, topic: str, body: bytes) -> Mapping[str, Any]:
    def said(name: str) -> str | None:
        return _said(request, name)

    try:
        text = body.decode().strip() or (said("Message") or "")
    except UnicodeDecodeError:
        raise NtfyRefusal(errors.NOT_UTF8) from None
    actions = said("Actions")
    return {
        "topic": topic,
        "message": text,
        "title": said("Title"),
        "click": said("Click"),
        "icon": said("Icon"),
        "priority": said("Priority"),
        "tags": [tag.strip() for tag in (said("Tags") or "").split(",") if tag.strip()],
        "sequence_id": request.match_info.get("sequence_id") or said("Sequence-ID"),
        "actions": _read_actions(actions) if actions else None,
    }


def _said(request: web.Request, name: str) -> str | None:
    """As a header or in the query, with and without X-; headers may be written as RFC 2047 wants."""
    for one in (f"X-{name}", name):
        if found := request.headers.get(one):
            return decoded(shown(found))
        if found := request.query.get(one.lower()):
            return found
    return None


def _read_actions(text: str) -> Any:
    """Only as JSON: the short form is for people at a shell."""
    try:
        return json.loads(text)
    except ValueError:
        raise NtfyRefusal(errors.ACTIONS) from None


def _text(message: object) -> Event:
    """Longer than a message may be, it is kept as a file, and the message only says so."""
    text = str(message or "").strip() or _NOTHING
    if (size := len(text.encode())) < _LIMIT_BYTES:
        return {"message": text}
    file = {"name": "attachment.txt", "type": "text/plain; charset=utf-8", "size": size, "url": "attachment.txt"}
    return {"message": "You received a file: attachment.txt", "attachment": file}


def _named(sequence_id: object) -> Event:
    if not sequence_id:
        return {}
    if not isinstance(sequence_id, str) or not _TOPIC.fullmatch(sequence_id):
        raise NtfyRefusal(errors.SEQUENCE)
    return {"sequence_id": sequence_id}


def _priority(given: object) -> int | None:
    if not given:
        return None
    number = _PRIORITIES.get(str(given).lower(), int(str(given)) if str(given).isdecimal() else 0)
    if not 1 <= number <= 5:
        raise NtfyRefusal(errors.PRIORITY)
    return number


def _actions(given: object) -> list[Event]:
    if not isinstance(given, list) or len(given) > _MOST_ACTIONS or not all(isinstance(one, dict) for one in given):
        raise NtfyRefusal(errors.ACTIONS)
    return [_action(place, one) for place, one in enumerate(given)]


def _action(place: int, given: Mapping[str, Any]) -> Event:
    kind = str(given.get("action", "")).lower()
    if kind not in _KINDS or not given.get("label") or (kind in ("view", "http") and not given.get("url")):
        raise NtfyRefusal(errors.ACTIONS)
    method = {"method": str(given["method"]).upper()} if given.get("method") else {}
    return {"id": f"action{place:04d}", "clear": False, **given, **method, "action": kind}
