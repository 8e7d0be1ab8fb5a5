"""Tools that tell what became of a delivery."""

from __future__ import annotations

from inspect import getdoc
from typing import Any, cast

from mcp.server.mcpserver import MCPServer
from mcp_types import ToolAnnotations

from postroom.domain.enquiry import DEFAULT_LIMIT
from postroom.domain.error_shapes import error_sentence
from postroom.doors.guard.answered import answered
from postroom.doors.messenger.answers import DeliveryAttempts, DeliverySearch, DeliveryStatus, DeliveryTrace
from postroom.doors.messenger.arguments import (
    ChannelName,
    Cursor,
    IntentName,
    Limit,
    Moment,
    StatusName,
    Text,
    Uuid,
    Word,
)
from postroom.work.delivery.tracking import Tracking

_READS = ToolAnnotations(read_only_hint=True, open_world_hint=False)


def add_tracking_tools(server: MCPServer[Any], tracking: Tracking) -> None:
    _add_lookup_tools(server, tracking)
    _add_search_tool(server, tracking)


def _add_lookup_tools(server: MCPServer[Any], tracking: Tracking) -> None:
    @answered(error_sentence)
    async def messenger_delivery_status(delivery_id: Uuid) -> DeliveryStatus:
        """
        What has become of one delivery.

        `status` is `awaiting_approval`, `pending` (stored; `waiting_reason` and `next_attempt_at` tell what it waits
        for), `in_progress`, `delivered`, `failed` (final) or `dead_lettered` (attempts used up: see `dead_letter_id`).
        Also the latest attempt with latency, outcome and error, and the provider's own id once there is one.
        `possible_duplicate` says that the person may have received it twice. The message itself is not shown.
        """
        return cast(DeliveryStatus, await tracking.status(delivery_id))

    @answered(error_sentence)
    async def messenger_delivery_attempts(delivery_id: Uuid) -> DeliveryAttempts:
        """
        Every call that was made to the provider for one delivery, in order.

        `outcome` is `success`, `retryable_error`, `non_retryable_error` or `uncertain` (handed over, no answer: it may
        have arrived). `provider_response` is the provider's own id of what it accepted; of
        a call that failed, the status and the short words it refused with, or why no answer came.
        """
        return cast(DeliveryAttempts, await tracking.attempts(delivery_id))

    @answered(error_sentence)
    async def messenger_delivery_trace(request_id: Text) -> DeliveryTrace:
        """
        Everything that happened on behalf of one upstream request, oldest first.

        All deliveries it led to (replays too), each with content, envelope, attempts, receipts and dead letter; who
        called which part, and when (`hops`); and requests that a limit turned away before they were stored
        (`refusals`). A delivery's `request_id` is in messenger_delivery_status and in every notify answer.
        """
        return cast(DeliveryTrace, await tracking.trace(request_id))

    for tool in (messenger_delivery_status, messenger_delivery_attempts, messenger_delivery_trace):
        server.add_tool(tool, description=getdoc(tool), annotations=_READS)


def _add_search_tool(server: MCPServer[Any], tracking: Tracking) -> None:
    @answered(error_sentence)
    async def messenger_delivery_search(
        origin_butler: Word = None,
        channel: ChannelName = None,
        intent: IntentName = None,
        status: StatusName = None,
        since: Moment = None,
        until: Moment = None,
        limit: Limit = DEFAULT_LIMIT,
        cursor: Cursor = None,
    ) -> DeliverySearch:
        """
        Find deliveries, newest first, by any combination of filters.

        `since` and `until` are about when a delivery was stored, both ends included. At most `limit` (1 to 500) are
        returned; when `next_cursor` is not null there are more: call again with the same filters and that cursor.
        """
        return cast(
            DeliverySearch,
            await tracking.search(
                origin_butler=origin_butler,
                channel=channel,
                intent=intent,
                status=status,
                since=since,
                until=until,
                limit=limit,
                cursor=cursor,
            ),
        )

    server.add_tool(messenger_delivery_search, description=getdoc(messenger_delivery_search), annotations=_READS)
