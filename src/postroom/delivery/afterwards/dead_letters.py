"""Dead letters: look at them, send them again, or give them up for good."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Final

from postroom.delivery.model import DeadLetter, EarlierReplay, Replay, ReplayRefused
from postroom.delivery.reading.file import (
    DeadLetterQuery,
    in_pages,
    read_choice,
    read_flag,
    read_moment,
    read_page,
    read_reason,
    read_uuid,
    read_word,
)
from postroom.delivery.reading.record import document
from postroom.delivery.rules.policy import current_trace_id, replay_key
from postroom.delivery.store.dead_letters import StoredDeadLetters
from postroom.kernel.running.clock import Clock
from postroom.kernel.values.errors import ErrorClass, ValidationError
from postroom.kernel.values.ids import DeadLetterId, DeliveryId, to_text
from postroom.message.delivery import Status

_KIND: Final = "dead-letter"
_NOT_OVER: Final = frozenset({Status.AWAITING_APPROVAL, Status.PENDING, Status.IN_PROGRESS})
_NEEDS_CONSENT: Final = (
    "an attempt's outcome is uncertain, so the message may have arrived: "
    "replaying it needs accept_duplicate=true and may deliver a second copy"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class DeadLetters:
    """`hand_over` tells the dispatcher of a row that is pending and not leased to anyone."""

    record: StoredDeadLetters
    channels: Collection[str]
    channel_names: frozenset[str]
    hand_over: Callable[[], None]
    clock: Clock
    mint: Callable[[int], str]

    async def list(
        self,
        *,
        channel: object = None,
        origin_butler: object = None,
        error_class: object = None,
        since: object = None,
        limit: object = None,
        include_discarded: object = None,
        cursor: object = None,
    ) -> dict[str, object]:
        asked_class = read_choice(error_class, "error_class", ErrorClass)
        query = DeadLetterQuery(
            page=read_page(_KIND, limit, cursor),
            channel=read_choice(channel, "channel", sorted(self.channel_names)),
            origin_butler=read_word(origin_butler, "origin_butler"),
            error_class=ErrorClass(asked_class) if asked_class else None,
            since_us=read_moment(since, "since"),
            include_discarded=read_flag(include_discarded, "include_discarded"),
        )
        found = [self._summary(letter) for letter in await self.record.letters(query)]
        letters, next_cursor = in_pages(_KIND, found, query.page, "dead_letter_id")
        return {
            "dead_letters": letters,
            "count": len(letters),
            "limit": query.page.limit,
            "include_discarded": query.include_discarded,
            "next_cursor": next_cursor,
        }

    async def inspect(self, dead_letter_id: object) -> dict[str, object]:
        known = read_uuid(dead_letter_id, "dead_letter_id")
        found = await self.record.letter(DeadLetterId(known))
        if found is None:
            raise _not_found(known)
        letter, calls = found.letter, found.attempts
        reasons = objections(letter, self.channels)
        assessment = {
            "eligible": not reasons,
            "reasons": reasons + ([_NEEDS_CONSENT] if letter.uncertain and not reasons else []),
            "requires_accept_duplicate": letter.uncertain,
            "current_replay_count": letter.replay_count,
        }
        replays = [
            {"delivery_id": one.delivery_id, "replay_number": one.number, "status": str(one.status)}
            for one in letter.replays
        ]
        return self._summary(letter) | {
            "original_request_envelope": found.envelope,
            "all_attempt_outcomes": [document(one) for one in calls],
            "first_attempt_at": to_text(calls[0].started_at_us) if calls else None,
            "last_attempt_at": to_text(calls[-1].started_at_us) if calls else None,
            "replays": replays,
            "replay_eligibility_assessment": assessment,
        }

    async def replay(self, dead_letter_id: object, *, accept_duplicate: object = None) -> dict[str, object]:
        known = read_uuid(dead_letter_id, "dead_letter_id")
        accepted = read_flag(accept_duplicate, "accept_duplicate")
        decided = await self.record.replay(DeadLetterId(known), lambda letter: self._decide(letter, accepted))
        match decided:
            case None:
                raise _not_found(known)
            case ReplayRefused(reasons):
                text = f"Dead letter {known} cannot be replayed: {'; '.join(reasons)}"
                return {"error": text, "reasons": list(reasons)}
            case Replay():
                self.hand_over()
                return _replayed(known, decided)

    async def discard(self, dead_letter_id: object, reason: object) -> dict[str, object]:
        known = read_uuid(dead_letter_id, "dead_letter_id")
        done = await self.record.discard(DeadLetterId(known), read_reason(reason), self.clock.now_us())
        if done is None:
            raise _not_found(known)
        told = {"dead_letter_id": known, "discarded_at": to_text(done.at_us), "discard_reason": done.reason}
        if not done.fresh:
            return {"error": f"Dead letter {known} was already discarded", **told}
        return {"status": "ok", **told, "message": "The dead letter is discarded and cannot be replayed any more."}

    def _decide(self, letter: DeadLetter, accept_duplicate: bool) -> Replay | ReplayRefused:
        reasons = objections(letter, self.channels)
        if letter.uncertain and not accept_duplicate:
            reasons.append(_NEEDS_CONSENT)
        if reasons:
            return ReplayRefused(tuple(reasons))
        now = self.clock.now_us()
        number = max((one.number for one in letter.replays), default=0) + 1
        return Replay(
            delivery_id=DeliveryId(self.mint(now)),
            number=number,
            idempotency_key=replay_key(letter.idempotency_key, number),
            possible_duplicate=letter.uncertain,
            at_us=now,
            trace_id=current_trace_id(),
        )

    def _summary(self, letter: DeadLetter) -> dict[str, object]:
        shown = document(letter)
        del shown["replays"]
        return {
            "dead_letter_id": shown.pop("id"),
            "replay_eligible": not objections(letter, self.channels),
            "requires_accept_duplicate": shown.pop("uncertain"),
            **shown,
        }


def objections(letter: DeadLetter, channels: Collection[str]) -> list[str]:
    """Why this letter cannot be replayed, whatever the caller accepts; empty when it can."""
    found = []
    if letter.discarded_at_us is not None:
        found.append("it was discarded")
    found += [told for one in letter.replays if (told := _standing_in_the_way(one))]
    if letter.channel not in channels:
        found.append(f"no credentials for {letter.channel} are set")
    return found


def _standing_in_the_way(replay: EarlierReplay) -> str | None:
    if replay.status is Status.DELIVERED:
        return f"replay {replay.number} ({replay.delivery_id}) has delivered it"
    if replay.status in _NOT_OVER:
        return f"replay {replay.number} ({replay.delivery_id}) is {replay.status}"
    return None


def _replayed(dead_letter_id: str, replay: Replay) -> dict[str, object]:
    return {
        "status": "ok",
        "replayed_delivery_id": replay.delivery_id,
        "original_dead_letter_id": dead_letter_id,
        "replay_number": replay.number,
        "idempotency_key": replay.idempotency_key,
        "delivery_status": str(Status.PENDING),
        "possible_duplicate": replay.possible_duplicate,
        "message": "A new delivery is stored and on its way: ask messenger_delivery_status for what becomes of it.",
    }


def _not_found(dead_letter_id: str) -> ValidationError:
    return ValidationError(f"Dead letter {dead_letter_id} not found")
