"""A request to Discord with files: a form with `payload_json` and one part for each of them."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any, Final

from aiohttp import web

from postroom.sandbox.ledger import FileShelf
from postroom.sandbox.records import ArrivedFile, given_file, with_room
from tests.fakes.discord.refusal import DiscordRefusal
from tests.fakes.record import KEPT_FILES

MOST_FILES: Final = 10
FILE_BYTES: Final = 10 * 1_048_576
REQUEST_BYTES: Final = 25 * 1_048_576
_FIELD = re.compile(r"files\[(\d{1,3})\]")


async def read_form(request: web.Request, shelf: FileShelf) -> Mapping[str, Any]:
    """What was said, with what was kept of the files under a name of our own."""
    if (request.content_length or 0) > REQUEST_BYTES:
        raise DiscordRefusal(40005)
    form = await with_room(request).post()
    body = read_json(str(form.get("payload_json", "{}")).encode())
    given = {
        int(found[1]): given_file(one)
        for name, one in form.items()
        if isinstance(one, web.FileField) and (found := _FIELD.fullmatch(name))
    }
    _check(given)
    kept = [shelf.keep(_called(given[place], body, place)).listing() for place in sorted(given)]
    return {**body, KEPT_FILES: kept}


def read_json(content: bytes) -> dict[str, Any]:
    told: dict[str, Any] = json.loads(content)
    return told


def _check(given: Mapping[int, ArrivedFile]) -> None:
    if len(given) > MOST_FILES:
        raise DiscordRefusal(50035)
    if any(len(one.content) > FILE_BYTES for one in given.values()):
        raise DiscordRefusal(40005)


def _called(given: ArrivedFile, body: Mapping[str, Any], place: int) -> ArrivedFile:
    """The list of attachments may name a file otherwise."""
    names = [one["filename"] for one in body.get("attachments", ()) if str(one["id"]) == str(place)]
    name = names[0] if names else given.name
    return ArrivedFile(name=name, media_type=given.media_type, content=given.content)
