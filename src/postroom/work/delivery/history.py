"""What happened to a message, and why, found by an id or the beginning of one."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final, Protocol

from postroom.domain.delivery import Priority
from postroom.domain.nearest import nearest
from postroom.domain.notification import Notification, Preferences
from postroom.domain.settings_error import SettingsError
from postroom.work.delivery.why import Around, why, why_refused

_REMEMBERED: Final = 500
_SHORTEST_PREFIX: Final = 4
_MOST_CANDIDATES: Final = 8

Trace = dict[str, Any]  # as people and programs are shown it: hops, deliveries, refusals
Note = tuple[Notification, Preferences, Mapping[str, Any] | None]  # with what its reader wants, and its e-mail copy


class NothingKnown(SettingsError):
    """No delivery, request, notification or question has this id."""


class SeveralMeant(SettingsError):
    """The beginning of more ids than one."""

    def __init__(self, prefix: str, ids: Iterable[str]) -> None:
        super().__init__(f"'{prefix}' is the beginning of several ids; give more of it. There are {', '.join(ids)}.")


class History(Protocol):
    """The record, as it is at one moment."""

    def trace(self, identifier: str) -> Trace: ...

    def note(self, identifier: str) -> Note | None: ...

    def around(self, delivery_id: str, channel: str) -> Mapping[str, Any]: ...

    def with_prefix(self, prefix: str, *, origin: str | None, most: int) -> dict[str, str]: ...

    def recent_ids(self, limit: int) -> list[str]: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class DeliveryReason:
    id: str
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Explained:
    """How the household decides, so that a reason given is the reason that counts."""

    attempts_for: Callable[[Priority], int]
    why_note: Callable[[Note], str]
    why_question: Callable[[str, str | None], str | None]  # of an id, for a sender or for anybody
    now_us: int

    def reasons(self, history: History, identifier: str, origin: str | None = None) -> list[DeliveryReason]:
        """One paragraph for each delivery, refusal, note or question that the identifier stands for."""
        meant = _meant(history, identifier, origin)
        notes = self._of_note(history, meant) if origin is None else []
        notes += self._of_question(meant, origin)
        found = _trace(history, meant, origin)
        told = [self._of_delivery(history, delivery) for delivery in found["deliveries"]]
        chosen = [one for one in told if one.id == meant] or told
        refused = [DeliveryReason(id=one["id"], why=why_refused(one, self.now_us)) for one in found["refusals"]]
        return notes + chosen + refused or [_without_delivery(_known(history, meant, origin))]

    def _of_note(self, history: History, identifier: str) -> list[DeliveryReason]:
        found = history.note(identifier)
        return [] if found is None else [DeliveryReason(id=identifier, why=self.why_note(found))]

    def _of_question(self, identifier: str, origin: str | None) -> list[DeliveryReason]:
        why = self.why_question(identifier, origin)
        return [] if why is None else [DeliveryReason(id=identifier, why=why)]

    def _of_delivery(self, history: History, delivery: Mapping[str, Any]) -> DeliveryReason:
        attempts = self.attempts_for(Priority(delivery["priority"]))
        around = Around(**history.around(delivery["id"], delivery["channel"]), max_attempts=attempts)
        return DeliveryReason(id=delivery["id"], why=why(delivery, delivery["attempts"], self.now_us, around))


def traced(history: History, identifier: str, origin: str | None = None) -> Trace:
    """With an `origin`, only what that sender has sent is known."""
    return _known(history, _meant(history, identifier, origin), origin)


def nothing_traced(request_id: str) -> Trace:
    """Of a request that sent nothing."""
    return {"request_id": request_id, "hops": [], "deliveries": [], "delivery_count": 0, "refusals": []}


def _meant(history: History, identifier: str, origin: str | None) -> str:
    """The one id that begins so. Ids of one request are one: made in the same moment, they begin alike."""
    if len(identifier) < _SHORTEST_PREFIX or _anything(_trace(history, identifier, origin)):
        return identifier
    found = history.with_prefix(identifier, origin=origin, most=_MOST_CANDIDATES)
    if len(set(found.values())) > 1:
        raise SeveralMeant(identifier, found)
    return next(iter(found if len(found) == 1 else found.values()), identifier)


def _without_delivery(found: Trace) -> DeliveryReason:
    """The switchboard noted the call, and nothing came of it."""
    hop = found["hops"][-1]
    reason = hop["error_message"] or hop["status"]
    return DeliveryReason(
        id=found["request_id"], why=f"It never became a delivery: {reason}. Nothing was stored or sent."
    )


def _trace(history: History, identifier: str, origin: str | None) -> Trace:
    found = history.trace(identifier)
    return found if origin is None else _of_origin(found, origin)


def _of_origin(found: Trace, origin: str) -> Trace:
    """A request's id is any text, so that two senders may have chosen the same."""
    deliveries = [one for one in found["deliveries"] if one["origin_butler"] == origin]
    return {
        "request_id": found["request_id"],
        "hops": [one for one in found["hops"] if one["source_butler"] == origin],
        "deliveries": deliveries,
        "delivery_count": len(deliveries),
        "refusals": [one for one in found["refusals"] if one["origin_butler"] == origin],
    }


def _anything(found: Trace) -> bool:
    return bool(found["hops"] or found["deliveries"] or found["refusals"])


def _known(history: History, identifier: str, origin: str | None) -> Trace:
    found = _trace(history, identifier, origin)
    if _anything(found):
        return found
    if origin is not None:
        raise NothingKnown(f"Nothing of yours is known under '{identifier}'.")
    ids = history.recent_ids(_REMEMBERED)
    meant = nearest(identifier, ids)
    latest = f"The newest delivery is {ids[0]}." if ids else "No delivery has been stored yet."
    raise NothingKnown(
        f"Nothing is known of '{identifier}'{f', did you mean {meant}?' if meant else '.'} {latest} "
        "Give the id of a delivery, a request, a notification or a question."
    )
