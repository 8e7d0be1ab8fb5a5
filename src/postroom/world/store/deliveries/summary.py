"""The columns of a delivery in a list."""

from __future__ import annotations

from postroom.world.store.tables.deliveries import (
    delivery_requests,
)

_requests = delivery_requests.c


SUMMARY = (
    _requests.id.label("delivery_id"),
    _requests.request_id,
    _requests.origin_butler,
    _requests.channel,
    _requests.intent,
    _requests.target_identity,
    _requests.status,
    _requests.priority,
    _requests.attempts,
    _requests.possible_duplicate,
    _requests.waiting_reason,
    _requests.provider_delivery_id,
    _requests.terminal_error_class,
    _requests.terminal_error_message,
    _requests.replay_of,
    _requests.replay_number,
    _requests.created_at,
    _requests.updated_at,
    _requests.terminal_at,
)
