"""
Who may call which tool of the messenger; the operator may call all of them.

    routing          the switchboard alone: it has checked who the sender is
    channel tools    the messenger alone: no other butler reaches people past the switchboard
    correcting       anyone: the tool itself knows only the caller's own deliveries, and for the owner all of them
    reading          the messenger: what it shows is everybody's messages
    deciding         the owner, and the people `approvals.approvers` names: no token that a model or a program
                     holds agrees to what a model wrote
    repairing        the same: a replay reaches somebody again, a discard is for good
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

from postroom.doors.guard.tool_policy import Rule, anyone, approver, butler

_MESSENGER: Final = butler("messenger")

CHANNEL_TOOL_NAMES: Final = (
    "telegram_send_message",
    "telegram_reply_to_message",
    "telegram_react_to_message",
    "email_send_message",
    "email_reply_to_thread",
)
READING_TOOL_NAMES: Final = (
    "messenger_delivery_status",
    "messenger_delivery_search",
    "messenger_delivery_attempts",
    "messenger_delivery_trace",
    "messenger_dead_letter_list",
    "messenger_dead_letter_inspect",
    "messenger_validate_notify",
    "messenger_dry_run",
    "messenger_circuit_status",
    "messenger_rate_limit_status",
    "messenger_queue_depth",
    "messenger_delivery_stats",
)
CORRECTING_TOOL_NAMES: Final = ("revise_delivery", "recall_delivery")
REPAIRING_TOOL_NAMES: Final = ("messenger_dead_letter_replay", "messenger_dead_letter_discard")
APPROVAL_TOOL_NAMES: Final = (
    "list_pending_actions",
    "show_pending_action",
    "approve_action",
    "reject_action",
    "list_approval_rules",
    "create_approval_rule",
    "revoke_approval_rule",
)


def rules(approvers: Collection[str]) -> dict[str, Rule]:
    return {
        "route.execute": butler("switchboard"),
        **dict.fromkeys(CHANNEL_TOOL_NAMES, _MESSENGER),
        **dict.fromkeys(READING_TOOL_NAMES, _MESSENGER),
        **dict.fromkeys(CORRECTING_TOOL_NAMES, anyone),
        **dict.fromkeys((*REPAIRING_TOOL_NAMES, *APPROVAL_TOOL_NAMES), approver(approvers)),
    }
