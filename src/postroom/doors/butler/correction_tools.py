"""The `revise` and `recall` tools of every butler, as a model sees them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from mcp.server.mcpserver import MCPServer
from mcp_types import ToolAnnotations

from postroom.domain.errors import DeliveryTimeout, PostroomError, ValidationError
from postroom.domain.ids import is_uuid
from postroom.domain.notify_response import argument_error, notify_error
from postroom.doors.butler.daemon import Butler
from postroom.doors.butler.notify import wait_seconds as patience
from postroom.doors.butler.notify_tool import FormatName, Text, Wait, given

REVISE_DESCRIPTION: Final = """\
Give a message you sent with `notify` another text, by the `delivery.delivery_id` of its answer.

While it has not been sent it is changed in place; what was sent is edited where the channel can, or a reply in the \
same thread that begins with "Correction:" puts it right. Only your own messages are found. A text to somebody who \
needs an approval is approved anew. The same call again changes nothing more; of several revisions the last accepted \
one stands.

The answer's `status` is `revised`, `corrected` (by another message in the thread), `awaiting_approval` (a person must \
agree to the new text first), `accepted` (stored, still being tried), `too_late` (nothing was changed; `message` says \
why), or `error` with `error_message`, `error_class` and `retryable`. `revises` is the message, `delivery_id` what \
corrects it (the message itself when `how` is `in_place`; else `how` is `edit` or `correction`)."""

RECALL_DESCRIPTION: Final = """\
Take back a message you sent with `notify`, by the `delivery.delivery_id` of its answer.

While it has not been sent it is withdrawn and never sent; what was sent is deleted where the channel can, or a reply \
in the same thread asks to disregard it. People may have read it all the same. `reason` is kept for the household and \
not shown to the recipient. Only your own messages are found; a second recall is the first one.

The answer's `status` is `withdrawn` (before it was sent), `recalled`, `corrected` (by another message in the thread), \
`awaiting_approval`, `accepted` (stored, still being tried), `too_late` (`message` says why), or `error` with \
`error_message`, `error_class` and `retryable`. `revises` is the message, `delivery_id` what carries the recall, `how` \
is `in_place`, `delete`, `edit` or `correction`."""

_ACTS: Final = ToolAnnotations(destructive_hint=True, idempotent_hint=True, open_world_hint=True)
_MARGIN_SECONDS: Final = 20.0


def add_correction_tools(server: MCPServer[Any], butler: Butler) -> None:
    async def revise(
        delivery_id: Text = "",
        message: Text = "",
        subject: Text = "",
        format: FormatName = None,
        idempotency_key: Text = "",
        wait_seconds: Wait = None,
    ) -> dict[str, Any]:
        asked = {
            "act": "revise",
            "delivery_id": given(delivery_id),
            "message": given(message),
            "subject": given(subject),
            "format": format,
            "idempotency_key": given(idempotency_key),
        }
        return await _correct(butler, asked, wait_seconds)

    async def recall(
        delivery_id: Text = "", reason: Text = "", idempotency_key: Text = "", wait_seconds: Wait = None
    ) -> dict[str, Any]:
        asked = {
            "act": "recall",
            "delivery_id": given(delivery_id),
            "reason": given(reason),
            "idempotency_key": given(idempotency_key),
        }
        return await _correct(butler, asked, wait_seconds)

    server.add_tool(revise, description=REVISE_DESCRIPTION, annotations=_ACTS)
    server.add_tool(recall, description=RECALL_DESCRIPTION, annotations=_ACTS)


async def _correct(butler: Butler, asked: Mapping[str, Any], wait_seconds: object) -> dict[str, Any]:
    """The switchboard knows who asks; whose delivery it is, the messenger."""
    delivery_id = asked["delivery_id"]
    if not isinstance(delivery_id, str) or not is_uuid(delivery_id.strip()):
        return argument_error(ValidationError("Invalid delivery_id format: it is a UUID"))
    try:
        wait = patience(wait_seconds, butler.notifier.default_wait_seconds)
        call = {"correction": {name: value for name, value in asked.items() if value is not None}, "wait_seconds": wait}
        return await butler.notifier.switchboard.call("correct_delivery", call, wait + _MARGIN_SECONDS)
    except DeliveryTimeout as error:
        silent = "the switchboard gave no answer; the same call again is safe, it corrects once"
        return notify_error(type(error)(silent))
    except PostroomError as error:
        return notify_error(error)
