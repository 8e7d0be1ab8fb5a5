"""Tools for deliveries that were given up."""

from __future__ import annotations

from inspect import getdoc
from typing import Any, cast

from mcp.server.mcpserver import MCPServer
from mcp_types import ToolAnnotations

from postroom.domain.enquiry import DEFAULT_LIMIT
from postroom.domain.error_shapes import error_sentence
from postroom.doors.guard.answered import answered
from postroom.doors.messenger.answers import DeadLetterDiscard, DeadLetterInspection, DeadLetterList, DeadLetterReplay
from postroom.doors.messenger.arguments import (
    ChannelName,
    Cursor,
    ErrorClassName,
    Flag,
    Limit,
    Moment,
    Text,
    Uuid,
    Word,
)
from postroom.work.delivery.dead_letters import DeadLetters

_READS = ToolAnnotations(read_only_hint=True, open_world_hint=False)


def add_dead_letter_tools(server: MCPServer[Any], dead_letters: DeadLetters) -> None:
    _add_reading_tools(server, dead_letters)
    _add_repairing_tools(server, dead_letters)


def _add_reading_tools(server: MCPServer[Any], dead_letters: DeadLetters) -> None:
    @answered(error_sentence)
    async def messenger_dead_letter_list(
        channel: ChannelName = None,
        origin_butler: Word = None,
        error_class: ErrorClassName = None,
        since: Moment = None,
        limit: Limit = DEFAULT_LIMIT,
        include_discarded: Flag = False,
        cursor: Cursor = None,
    ) -> DeadLetterList:
        """
        Deliveries that were given up, newest first: why, after how many attempts, and whether each can be replayed.

        `quarantine_reason` is `retries_exhausted` or `outcome_uncertain` (it may have arrived, and the policy was not
        to risk a second copy). Discarded ones are left out unless `include_discarded` is true. When `next_cursor` is
        not null there are more: call again with the same filters and that cursor.
        """
        return cast(
            DeadLetterList,
            await dead_letters.list(
                channel=channel,
                origin_butler=origin_butler,
                error_class=error_class,
                since=since,
                limit=limit,
                include_discarded=include_discarded,
                cursor=cursor,
            ),
        )

    @answered(error_sentence)
    async def messenger_dead_letter_inspect(dead_letter_id: Uuid) -> DeadLetterInspection:
        """
        One dead letter in full: the original envelope, every attempt, earlier replays.

        `replay_eligibility_assessment` says whether it can be replayed now and why not; with
        `requires_accept_duplicate` a replay is possible but may reach the person a second time.
        """
        return cast(DeadLetterInspection, await dead_letters.inspect(dead_letter_id))

    for tool in (messenger_dead_letter_list, messenger_dead_letter_inspect):
        server.add_tool(tool, description=getdoc(tool), annotations=_READS)


def _add_repairing_tools(server: MCPServer[Any], dead_letters: DeadLetters) -> None:
    @answered(error_sentence)
    async def messenger_dead_letter_replay(dead_letter_id: Uuid, accept_duplicate: Flag = False) -> DeadLetterReplay:
        """
        Send a dead letter again: a new delivery is stored as `pending` and goes out on the ordinary path.

        For people only. Refused, with `reasons`, when the letter was discarded, or while an earlier replay is on its
        way or has arrived. When an attempt's outcome is uncertain the message may have arrived already: pass
        `accept_duplicate=true` to send it all the same. Follow `replayed_delivery_id` with messenger_delivery_status.
        """
        return cast(DeadLetterReplay, await dead_letters.replay(dead_letter_id, accept_duplicate=accept_duplicate))

    @answered(error_sentence)
    async def messenger_dead_letter_discard(dead_letter_id: Uuid, reason: Text) -> DeadLetterDiscard:
        """
        Give a dead letter up for good, with a reason. It keeps its record but can never be replayed.

        For people only. A second discard is an error that shows when and why the first one was made.
        """
        return cast(DeadLetterDiscard, await dead_letters.discard(dead_letter_id, reason))

    server.add_tool(
        messenger_dead_letter_replay,
        description=getdoc(messenger_dead_letter_replay),
        annotations=ToolAnnotations(destructive_hint=True, idempotent_hint=False, open_world_hint=True),
    )
    server.add_tool(
        messenger_dead_letter_discard,
        description=getdoc(messenger_dead_letter_discard),
        annotations=ToolAnnotations(destructive_hint=True, idempotent_hint=False, open_world_hint=False),
    )
