"""The `notify_status` tool of every butler: what became of a message it sent."""

from __future__ import annotations

from typing import Any, Final

from postroom.domain.errors import DeliveryTimeout, PostroomError, TargetUnavailable, ValidationError
from postroom.domain.ids import is_uuid
from postroom.domain.notify_response import argument_error, notify_error
from postroom.domain.ports import Peer

_TIMEOUT_SECONDS: Final = 15.0


async def notify_status(delivery_id: object, *, switchboard: Peer) -> dict[str, Any]:
    """The switchboard knows who asks; whose delivery it is, the messenger."""
    if not isinstance(delivery_id, str) or not is_uuid(delivery_id.strip()):
        return argument_error(ValidationError("Invalid delivery_id format: it is a UUID"))
    try:
        return await switchboard.call("delivery_status", {"delivery_id": delivery_id.strip()}, _TIMEOUT_SECONDS)
    except (DeliveryTimeout, TargetUnavailable) as error:
        silent = "the switchboard gave no answer; nothing about the delivery has changed, ask again"
        return notify_error(type(error)(silent))
    except PostroomError as error:
        return notify_error(error)
