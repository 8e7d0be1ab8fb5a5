"""notify.v1 in, notify_response.v1 out, around the one way out."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from postroom.domain.capabilities import KnownChannels
from postroom.domain.errors import ValidationError
from postroom.domain.notify import parse_notify
from postroom.domain.notify_response import notify_error, notify_response
from postroom.domain.outgoing import Outgoing
from postroom.work.delivery.plane import Plane

Parser = Callable[[object, KnownChannels], Outgoing]


async def deliver_envelope(
    plane: Plane, envelope: object, *, request_id: str, wait_seconds: float, parse: Parser = parse_notify
) -> dict[str, Any]:
    try:
        outgoing = parse(envelope, plane.known_channels)
    except ValidationError as error:
        return notify_error(error, request_id=request_id)
    return notify_response(await plane.submit(outgoing, request_id=request_id, wait_seconds=wait_seconds))
