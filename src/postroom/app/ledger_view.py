"""Look into the ledger from outside a running household: what happened to a request, and why."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, TypeVar

from sqlalchemy import Connection

from postroom.app.policy import delivery_policy
from postroom.app.store import connect_store
from postroom.domain.delivery import Priority
from postroom.domain.nearest import nearest
from postroom.domain.principal import Role
from postroom.system.clock import SystemClock
from postroom.system.settings import Settings, SettingsError
from postroom.work.approvals.visible import reveal
from postroom.work.delivery.why import Around, why, why_refused
from postroom.work.inbox.why import why_note
from postroom.work.questions.view import QuestionStory, QuestionView
from postroom.work.questions.why import why_question
from postroom.world.store.deliveries.context import note, recent_ids, surroundings
from postroom.world.store.deliveries.id_prefix import ids_with_prefix
from postroom.world.store.deliveries.trace import request_ids, trace
from postroom.world.store.engine.migrate import known_revision
from postroom.world.store.questions.story import story

Result = TypeVar("Result")

_REMEMBERED = 500
_SHORTEST_PREFIX = 4
_MOST_CANDIDATES = 8


class NothingKnown(SettingsError):
    """No delivery, request, notification or question has this id."""


class SeveralMeant(SettingsError):
    """The beginning of more ids than one."""

    def __init__(self, prefix: str, ids: Iterable[str]) -> None:
        super().__init__(f"'{prefix}' is the beginning of several ids; give more of it. There are {', '.join(ids)}.")


async def traced(settings: Settings, identifier: str) -> dict[str, Any]:
    """Raises SettingsError when nothing is known of it."""
    return await _read(settings, tracing(identifier))


async def reasons(settings: Settings, identifier: str) -> list[dict[str, str]]:
    """One paragraph for each delivery, refusal, note or question that the identifier stands for."""
    return await _read(settings, reasoning(settings, identifier, SystemClock().now_us()))


def tracing(identifier: str, origin: str | None = None) -> Callable[[Connection], dict[str, Any]]:
    """With an `origin`, only what that sender has sent is known."""
    return lambda connection: _known(connection, _meant(connection, identifier, origin), origin)


def reasoning(
    settings: Settings, identifier: str, now_us: int, origin: str | None = None
) -> Callable[[Connection], list[dict[str, str]]]:
    def work(connection: Connection) -> list[dict[str, str]]:
        meant = _meant(connection, identifier, origin)
        notes = _of_note(connection, settings, meant, now_us) if origin is None else []
        notes += _of_question(connection, meant, now_us, origin)
        found = _trace(connection, meant, origin)
        told = [_of_delivery(connection, settings, delivery, now_us) for delivery in found["deliveries"]]
        chosen = [one for one in told if one["id"] == meant] or told
        refused = [{"id": one["id"], "why": why_refused(one, now_us)} for one in found["refusals"]]
        return notes + chosen + refused or [_without_delivery(_known(connection, meant, origin))]

    return work


def _meant(connection: Connection, identifier: str, origin: str | None) -> str:
    """The one id that begins so. Ids of one request are one: made in the same moment, they begin alike."""
    if len(identifier) < _SHORTEST_PREFIX or _anything(_trace(connection, identifier, origin)):
        return identifier
    found = ids_with_prefix(connection, identifier, origin=origin, most=_MOST_CANDIDATES)
    if len(set(found.values())) > 1:
        raise SeveralMeant(identifier, found)
    return next(iter(found if len(found) == 1 else found.values()), identifier)


def _of_note(connection: Connection, settings: Settings, identifier: str, now_us: int) -> list[dict[str, str]]:
    if (found := note(connection, identifier)) is None:
        return []
    return [{"id": identifier, "why": why_note(*found, email_enabled=settings.inbox.email_enabled, now_us=now_us)}]


def _of_question(connection: Connection, identifier: str, now_us: int, origin: str | None) -> list[dict[str, str]]:
    """Of a sender only what it asked itself."""
    found = story(connection, identifier)
    if found is None or (origin is not None and found.question.asker not in (origin, f"{Role.BUTLER}:{origin}")):
        return []
    view = QuestionView(question=found.question, presentations=found.presentations)
    told = QuestionStory(view=view, events=(), attempts=found.attempts if origin is None else ())
    return [{"id": identifier, "why": reveal(why_question(told, now_us))}]


def _of_delivery(connection: Connection, settings: Settings, delivery: dict[str, Any], now_us: int) -> dict[str, str]:
    attempts = delivery_policy(settings).retry.attempts_for(Priority(delivery["priority"]))
    around = Around(**surroundings(connection, delivery["id"], delivery["channel"]), max_attempts=attempts)
    return {"id": delivery["id"], "why": why(delivery, delivery["attempts"], now_us, around)}


def _without_delivery(found: dict[str, Any]) -> dict[str, str]:
    """The switchboard noted the call, and nothing came of it."""
    hop = found["hops"][-1]
    reason = hop["error_message"] or hop["status"]
    return {"id": found["request_id"], "why": f"It never became a delivery: {reason}. Nothing was stored or sent."}


def _trace(connection: Connection, identifier: str, origin: str | None) -> dict[str, Any]:
    found = trace(connection, request_ids(connection, identifier)[0])
    return found if origin is None else _of_origin(found, origin)


def _of_origin(found: dict[str, Any], origin: str) -> dict[str, Any]:
    """A request's id is any text, so that two senders may have chosen the same."""
    deliveries = [one for one in found["deliveries"] if one["origin_butler"] == origin]
    return {
        "request_id": found["request_id"],
        "hops": [one for one in found["hops"] if one["source_butler"] == origin],
        "deliveries": deliveries,
        "delivery_count": len(deliveries),
        "refusals": [one for one in found["refusals"] if one["origin_butler"] == origin],
    }


def _anything(found: dict[str, Any]) -> bool:
    return bool(found["hops"] or found["deliveries"] or found["refusals"])


def _known(connection: Connection, identifier: str, origin: str | None) -> dict[str, Any]:
    found = _trace(connection, identifier, origin)
    if _anything(found):
        return found
    if origin is not None:
        raise NothingKnown(f"Nothing of yours is known under '{identifier}'.")
    ids = recent_ids(connection, _REMEMBERED)
    meant = nearest(identifier, ids)
    latest = f"The newest delivery is {ids[0]}." if ids else "No delivery has been stored yet."
    raise NothingKnown(
        f"Nothing is known of '{identifier}'{f', did you mean {meant}?' if meant else '.'} {latest} "
        "Give the id of a delivery, a request, a notification or a question."
    )


async def _read(settings: Settings, work: Callable[[Connection], Result]) -> Result:
    store = connect_store(settings)
    try:
        if await store.database.read(known_revision) is None:
            raise SettingsError("This database is empty: no household has worked on it yet (postroom up).")
        return await store.database.read(work)
    finally:
        await store.database.close()
