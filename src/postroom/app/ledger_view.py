"""Look into the ledger from outside a running household: what happened to a request, and why."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from sqlalchemy import Connection

from postroom.app.policy import delivery_policy
from postroom.app.store import connect_store
from postroom.clock import SystemClock
from postroom.delivery.why import Around, why, why_refused
from postroom.domain.delivery import Priority
from postroom.domain.nearest import nearest
from postroom.inbox.why import why_note
from postroom.settings import Settings, SettingsError
from postroom.store.migrate import known_revision
from postroom.store.surroundings import note, recent_ids, surroundings
from postroom.store.trace import request_ids, trace

Result = TypeVar("Result")

_REMEMBERED = 500


async def traced(settings: Settings, identifier: str) -> dict[str, Any]:
    """Raises SettingsError when nothing is known of it."""
    return await _read(settings, lambda connection: _known(connection, identifier))


async def reasons(settings: Settings, identifier: str) -> list[dict[str, str]]:
    """One paragraph for each delivery, refusal or note that the identifier stands for."""
    now_us = SystemClock().now_us()

    def work(connection: Connection) -> list[dict[str, str]]:
        notes = _of_note(connection, settings, identifier, now_us)
        found = _trace(connection, identifier)
        told = [_of_delivery(connection, settings, delivery, now_us) for delivery in found["deliveries"]]
        chosen = [one for one in told if one["id"] == identifier] or told
        refused = [{"id": one["id"], "why": why_refused(one, now_us)} for one in found["refusals"]]
        return notes + chosen + refused or [_without_delivery(_known(connection, identifier))]

    return await _read(settings, work)


def _of_note(connection: Connection, settings: Settings, identifier: str, now_us: int) -> list[dict[str, str]]:
    if (found := note(connection, identifier)) is None:
        return []
    return [{"id": identifier, "why": why_note(*found, email_enabled=settings.inbox.email_enabled, now_us=now_us)}]


def _of_delivery(connection: Connection, settings: Settings, delivery: dict[str, Any], now_us: int) -> dict[str, str]:
    attempts = delivery_policy(settings).retry.attempts_for(Priority(delivery["priority"]))
    around = Around(**surroundings(connection, delivery["id"], delivery["channel"]), max_attempts=attempts)
    return {"id": delivery["id"], "why": why(delivery, delivery["attempts"], now_us, around)}


def _without_delivery(found: dict[str, Any]) -> dict[str, str]:
    """The switchboard noted the call, and nothing came of it."""
    hop = found["hops"][-1]
    reason = hop["error_message"] or hop["status"]
    return {"id": found["request_id"], "why": f"It never became a delivery: {reason}. Nothing was stored or sent."}


def _trace(connection: Connection, identifier: str) -> dict[str, Any]:
    return trace(connection, request_ids(connection, identifier)[0])


def _known(connection: Connection, identifier: str) -> dict[str, Any]:
    found = _trace(connection, identifier)
    if found["hops"] or found["deliveries"] or found["refusals"]:
        return found
    ids = recent_ids(connection, _REMEMBERED)
    meant = nearest(identifier, ids)
    latest = f"The newest delivery is {ids[0]}." if ids else "No delivery has been stored yet."
    raise SettingsError(
        f"Nothing is known of '{identifier}'{f', did you mean {meant}?' if meant else '.'} {latest} "
        "Give the id of a delivery, a request or a notification."
    )


async def _read(settings: Settings, work: Callable[[Connection], Result]) -> Result:
    store = connect_store(settings)
    try:
        if await store.database.read(known_revision) is None:
            raise SettingsError("This database is empty: no household has worked on it yet (postroom up).")
        return await store.database.read(work)
    finally:
        await store.database.close()
