"""What people send to a bot besides words, and how it is fetched: `getFile`, then the file itself."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import PurePosixPath
from typing import Any, Final
from urllib.parse import quote

from postroom.domain.errors import ValidationError
from postroom.domain.inbound_message import InboundFile
from postroom.world.channels.brought_files import fetched, with_ending
from postroom.world.http.http_call import HttpCall

MOST_BYTES: Final = 20 * 1024 * 1024
"""Telegram hands a bot nothing larger."""
_TOO_LARGE: Final = "it is larger than the 20 MB that Telegram gives to a bot"
_KINDS: Final = ("animation", "document", "video", "audio", "voice", "video_note", "sticker")

Calls = Callable[[str, Mapping[str, Any], float], Awaitable[Mapping[str, Any]]]


def offers(message: Mapping[str, Any]) -> tuple[InboundFile, ...]:
    """A photo comes in several sizes, the largest of which is meant; an animation stands as a document as well."""
    if sizes := _objects(message.get("photo")):
        return _offer("photo", max(sizes, key=lambda one: (_number(one, "width") * _number(one, "height"), _size(one))))
    kind = next((one for one in _KINDS if isinstance(message.get(one), Mapping)), None)
    return _offer(kind, message[kind]) if kind else ()


def _offer(kind: str, told: Mapping[str, Any]) -> tuple[InboundFile, ...]:
    if not isinstance(told.get("file_id"), str):
        return ()
    name, size = told.get("file_name"), told.get("file_size")
    usual = "image/jpeg" if kind == "photo" else told.get("mime_type")
    return (
        InboundFile(
            reference=told["file_id"],
            name=name if isinstance(name, str) and name else with_ending(kind, usual),
            size=size if isinstance(size, int) else None,
        ),
    )


async def brought(
    files: Sequence[InboundFile], call: Calls, http: HttpCall, base_url: str, token: str, timeout_seconds: float
) -> list[InboundFile]:
    ends_at = time.monotonic() + timeout_seconds
    return [await _brought(one, call, http, f"{base_url}/file/bot{token}", ends_at) for one in files]


async def _brought(file: InboundFile, call: Calls, http: HttpCall, folder: str, ends_at: float) -> InboundFile:
    if file.size is not None and file.size > MOST_BYTES:
        return replace(file, problem=_TOO_LARGE)
    try:
        told = (await call("getFile", {"file_id": file.reference}, ends_at - time.monotonic())).get("result")
    except ValidationError as error:
        return replace(file, problem=_TOO_LARGE if "too big" in error.message else error.message)
    path = told.get("file_path") if isinstance(told, Mapping) else None
    if not isinstance(path, str) or not path:
        return replace(file, problem="Telegram did not say where it lies")
    ending = PurePosixPath(path).suffix
    named = file if "." in file.name or not ending else replace(file, name=f"{file.name}{ending}")
    found = await fetched(
        http, "Telegram", replace(named, reference=f"{folder}/{quote(path)}"), {}, ends_at - time.monotonic()
    )
    return replace(found, reference=file.reference)


def _size(told: Mapping[str, Any]) -> int:
    return _number(told, "file_size")


def _number(told: Mapping[str, Any], name: str) -> int:
    value = told.get(name)
    return value if isinstance(value, int) else 0


def _objects(value: object) -> list[Mapping[str, Any]]:
    return [one for one in value if isinstance(one, Mapping)] if isinstance(value, list) else []
