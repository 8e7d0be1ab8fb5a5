"""What the tools for assistants answer."""

from __future__ import annotations

from typing import (
    Any,
    NotRequired,  # pydantic reads no other before Python 3.12
)

from typing_extensions import TypedDict


class Problem(TypedDict):
    code: str
    message: str
    category: str
    retryable: bool
    fields: list[dict[str, str]]


class DecisionAnswer(TypedDict):
    """
    `decision_mode`: sent, resolved, needs_confirmation, needs_disambiguation or contact_not_found.

    `confirmation`: whether a name that was confirmed is remembered, or why not.
    """

    ok: bool
    decision_mode: NotRequired[str]
    resolution: NotRequired[dict[str, Any]]
    delivery: NotRequired[dict[str, Any] | None]
    confirmation: NotRequired[dict[str, Any] | None]
    error: NotRequired[Problem]


class ConfirmedAnswer(TypedDict):
    ok: bool
    agent_address: NotRequired[str]
    match_type: NotRequired[str]
    confirm_count: NotRequired[int]
    error: NotRequired[Problem]


class InboxListing(TypedDict):
    ok: bool
    threads: NotRequired[list[dict[str, Any]]]
    next_cursor: NotRequired[str | None]
    error: NotRequired[Problem]


class IntentState(TypedDict):
    """`status` is accepted, running, done or failed; `result` holds the answer once there is one."""

    ok: bool
    intent_id: NotRequired[str]
    status: NotRequired[str]
    lifecycle_status: NotRequired[str]
    waiting_reason: NotRequired[str | None]
    result: NotRequired[dict[str, Any] | None]
    updated_at: NotRequired[str]
    error: NotRequired[Problem]
