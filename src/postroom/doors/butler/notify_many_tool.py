"""The `notify_many` tool as a model sees it."""

from __future__ import annotations

from typing import Annotated, Any, Final

from mcp.server.mcpserver import Context, MCPServer
from mcp_types import ToolAnnotations
from pydantic import WithJsonSchema

from postroom.domain.errors import ValidationError
from postroom.domain.notify_response import argument_error
from postroom.doors.butler.daemon import Butler
from postroom.doors.butler.notify import NotifyArguments
from postroom.doors.butler.notify_many import ITEM_FIELDS, MOST_TOGETHER, notify_together, read_batch
from postroom.doors.butler.notify_tool import Wait, given
from postroom.doors.guard.caller import caller

DESCRIPTION: Final = f"""\
Deliver up to {MOST_TOGETHER} messages in one call. `notifications` is a list of objects, each with the arguments of \
`notify` except `wait_seconds`. Each is judged by itself: one that is refused does not stop the others, and those that \
are accepted are stored in one commit. Messages to the same person arrive in the order of the list.

The answer has `results` in the order of the list, each what `notify` would answer, with its `index`; and `counts` by \
`status`. Without `wait_seconds` it comes as soon as all are stored: `accepted` is never lost, and `notify_status` \
tells what became of one."""
Notifications = Annotated[
    Any,
    WithJsonSchema(
        {
            "type": "array",
            "minItems": 1,
            "maxItems": MOST_TOGETHER,
            "items": {
                "type": "object",
                "properties": {name: {} for name in ITEM_FIELDS},
                "required": ["channel"],
                "additionalProperties": False,
            },
        }
    ),
]
_SENDS: Final = ToolAnnotations(destructive_hint=True, idempotent_hint=False, open_world_hint=True)


def add_notify_many_tool(server: MCPServer[Any], butler: Butler) -> None:
    async def notify_many(
        context: Context[Any, Any], notifications: Notifications = None, wait_seconds: Wait = None
    ) -> dict[str, Any]:
        try:
            items, patience = read_batch(notifications, wait_seconds)
        except ValidationError as error:
            return argument_error(error)
        who = caller(context, butler.verifier)

        async def notify(asked: dict[str, Any]) -> dict[str, Any]:
            asked = {name: given(value) for name, value in asked.items()} | {"wait_seconds": patience}
            if asked.get("request_context") is None:
                asked["request_context"] = butler.sessions.notify_context(who, asked.get("intent", "send"))
            return await butler.notify(NotifyArguments(**asked))

        return await notify_together(items, notify, butler.new_id)

    server.add_tool(notify_many, description=DESCRIPTION, annotations=_SENDS)
