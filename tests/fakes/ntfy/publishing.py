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
_LIMIT_BYTES: Final = 4_096
_FILE_BYTES: Final = 15 * 1_048_576
_KINDS: Final = ("view", "http")
_MOST_ACTIONS: Final = 3
_NOTHING: Final = "triggered"
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
    event: Event = {name: given[name] for name in ("title", "tags") if given.get(name)}
    event |= _text(given.get("message"))
    event |= _named(given.get("sequence_id"))
    if priority := given.get("priority"):
        event["priority"] = int(priority)
    if attach := given.get("attach"):
        event["attachment"] = {"name": given["filename"], "url": attach}
    if actions := given.get("actions"):
        event["actions"] = _actions(actions)
    return topic, event


def _of_json(body: bytes) -> Mapping[str, Any]:
    if len(body) >= 2 * _LIMIT_BYTES:
        raise NtfyRefusal(errors.TOO_LARGE)
    given: Mapping[str, Any] = json.loads(body)
    return given


def _of_headers(request: web.Request, topic: str, body: bytes) -> Mapping[str, Any]:
    tags = _said(request, "Tags")
    return {
        "topic": topic,
        "message": body.decode().strip() or _said(request, "Message"),
        "title": _said(request, "Title"),
        "priority": _said(request, "Priority"),
        "tags": tags.split(",") if tags else None,
        "sequence_id": _said(request, "Sequence-ID"),
    }


def _said(request: web.Request, name: str) -> str | None:
    """With and without X-, written as RFC 2047 wants."""
    found = request.headers.get(f"X-{name}", request.headers.get(name))
    return decoded(shown(found)) if found else None


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
    if not _TOPIC.fullmatch(str(sequence_id)):
        raise NtfyRefusal(errors.SEQUENCE)
    return {"sequence_id": sequence_id}


def _actions(given: list[Event]) -> list[Event]:
    if len(given) > _MOST_ACTIONS or not all(one["action"] in _KINDS and one["label"] and one["url"] for one in given):
        raise NtfyRefusal(errors.ACTIONS)
    return [{"id": f"action{place:04d}", "clear": False, **one} for place, one in enumerate(given)]
