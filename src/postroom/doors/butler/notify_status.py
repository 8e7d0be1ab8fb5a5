"""The `notify_status` tool of every butler: what became of a message it sent."""

from __future__ import annotations

from typing import Any, Final

from postroom.domain.errors import DeliveryTimeout, PostroomError, TargetUnavailable, ValidationError
from postroom.domain.ids import is_uuid
from postroom.domain.notify_response import argument_error, notify_error
from postroom.domain.peer import Peer
from postroom.work.attention.notice_outcome import is_notice_id

_TIMEOUT_SECONDS: Final = 15.0


async def notify_status(delivery_id: object, notice_id: object = None, *, switchboard: Peer) -> dict[str, Any]:
    """The switchboard knows who asks; whose delivery it is, the messenger. A notice takes the same way."""
    try:
        asked = _identifier(delivery_id, notice_id)
    except ValidationError as error:
        return argument_error(error)
    try:
        return await switchboard.call("delivery_status", {"delivery_id": asked}, _TIMEOUT_SECONDS)
    except (DeliveryTimeout, TargetUnavailable) as error:
        silent = "the switchboard gave no answer; nothing about the delivery has changed, ask again"
        return notify_error(type(error)(silent))
    except PostroomError as error:
        return notify_error(error)


def _identifier(delivery_id: object, notice_id: object) -> str:
    if notice_id is not None and delivery_id is not None:
        raise ValidationError("Give either delivery_id or notice_id.")
    if notice_id is not None:
        return _notice_id(notice_id)
    given = delivery_id.strip() if isinstance(delivery_id, str) else ""
    if not is_uuid(given) and not is_notice_id(given):
        raise ValidationError("Invalid delivery_id format: it is a UUID")
    return given


def _notice_id(notice_id: object) -> str:
    given = notice_id.strip() if isinstance(notice_id, str) else ""
    if not is_notice_id(given):
        raise ValidationError("Invalid notice_id format: it is the notice_id of an answer of notify")
    return given
