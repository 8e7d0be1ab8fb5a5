"""Whether a message leaves now: asked by the one way out before it accepts anything."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

from postroom.attention.keeper import LEASE_SECONDS, Carrier
from postroom.attention.model import UNSENT, NoticeState
from postroom.attention.reading import has_buttons, notice_markup
from postroom.attention.rules.digest import room_of
from postroom.attention.state import NoticeAccepted, NoticeChanges, NoticeRow, SendRow, Snoozed, Standing, Wanted
from postroom.attention.turn import NewNotice, NoticeBook, Turn
from postroom.delivery.accept import Acceptance
from postroom.delivery.rules.policy import DeliveryDraft
from postroom.kernel.values.errors import FieldError, StoreUnavailable, ValidationError
from postroom.kernel.values.ids import altered, seconds
from postroom.message.outgoing import AnswerStatus, Outcome, Outgoing
from postroom.message.wishes import OWN_AGENTS, PRIORITY_URGENCY, AcceptedNotice, AttentionWish, Urgency, derived_id

_SHOWN: Final = 200  # characters of a line in a list
_ID: Final = 32  # short enough for a button
_NO_WISH: Final = AttentionWish()
_NOT_SENT: Final = frozenset({NoticeState.MUTED, NoticeState.MERGED, NoticeState.WITHDRAWN, NoticeState.EXPIRED})


# -- A message as a notice to one person --


def asks_for_more(wish: AttentionWish | None) -> bool:
    """What is to be remembered even where no one has a policy."""
    if wish is None:
        return False
    critical = wish.urgency is Urgency.CRITICAL  # without a grant it is not, and its sender is told
    return critical or wish.needs_ack or wish.supersedes is not None or wish.expires_in_seconds is not None


def notice_id(key: str) -> str:
    """The same request is the same notice."""
    return derived_id("notice", key)[:_ID]


def noticed(outgoing: Outgoing, name: str, person: str, now_us: int) -> AcceptedNotice:
    wish = outgoing.wish or _NO_WISH
    return AcceptedNotice(
        id=name,
        person=person,
        agent=outgoing.origin_butler,
        created_us=now_us,
        channel=outgoing.channel,
        text=_line(outgoing),
        urgency=wish.urgency or PRIORITY_URGENCY[str(outgoing.priority)],
        category=wish.category,
        thread=wish.thread,
        key=wish.supersedes,
        needs_ack=wish.needs_ack,
        expires_us=now_us + seconds(wish.expires_in_seconds) if wish.expires_in_seconds is not None else None,
        fingerprint=_sameness(outgoing),
        room=room_of(outgoing),
    )


def _new_notice(draft: DeliveryDraft, person: str, now_us: int) -> NewNotice:
    notice = noticed(draft.outgoing, notice_id(draft.identity.key), person, now_us)
    return NewNotice(
        fact=NoticeAccepted(at_us=now_us, notice=notice),
        outgoing=draft.outgoing,
        request_id=draft.new.request_id,
        fingerprint=draft.identity.fingerprint,
    )


def _line(outgoing: Outgoing) -> str:
    words = " ".join((outgoing.subject or outgoing.message).split())
    return words if len(words) <= _SHOWN else f"{words[: _SHOWN - 1]}…"


def _sameness(outgoing: Outgoing) -> str:
    """What says the same, however it is spaced."""
    files = [one.sha256 for one in outgoing.attachments]
    return derived_id(" ".join((outgoing.subject or "").split()), " ".join(outgoing.message.split()), *files)


# -- What becomes of it --


@dataclass(frozen=True, slots=True, kw_only=True)
class Considering:
    """`button_key`: of the buttons under what a person has to acknowledge; without one there are none."""

    book: NoticeBook
    acceptance: Acceptance
    carrier: Carrier
    button_key: bytes | None = None

    async def consider(self, draft: DeliveryDraft, wait_seconds: float) -> Outcome | DeliveryDraft:
        if (person := await self._meant(draft)) is None:
            return draft
        return await self._accepted(await self._read(draft), person, wait_seconds)

    async def forecast(self, draft: DeliveryDraft) -> Outcome | None:
        """How it would be held; None when it would leave now. Nothing is written."""
        if (person := await self._meant(draft)) is None:
            return None
        name = notice_id(draft.identity.key)
        loaded = await self.book.store.read(person, self.book.wanted(person, Wanted(notices=(name,))))
        turn = self.book.begun(person, loaded, self.book.clock.now_us())
        if name not in turn.state.notices:
            if _is_neutral(turn, draft):
                return None
            turn.accept(_new_notice(draft, person, turn.moment_us))
            turn.judge()
        standing = turn.state.notices[name]
        return held_outcome(standing, draft.new.request_id) if standing.send is None else None

    async def put_off(self, outgoing: Outgoing, request_id: str, person: str, until_us: int) -> str:
        """The id of a notice that begins with the person's wish to see it later."""
        draft = await self._read(await self.acceptance.draft(outgoing, request_id))
        name = notice_id(draft.identity.key)

        def step(turn: Turn) -> NoticeChanges | None:
            if name in turn.state.notices:
                return None
            turn.accept(_new_notice(draft, person, turn.moment_us))
            turn.take(Snoozed(at_us=turn.moment_us, notice=name, until_us=until_us))
            turn.judge()
            return turn.changes()

        await self.book.turn(person, step, wanted=Wanted(notices=(name,)))
        self.book.woken.ring()
        return name

    async def _meant(self, draft: DeliveryDraft) -> str | None:
        """For which person, where there is something to consider."""
        await self.book.heed()
        more = asks_for_more(draft.outgoing.wish)
        if draft.outgoing.origin_butler in OWN_AGENTS:
            return None
        if self.book.neutral and not more and not await self._is_kept(draft):
            return None
        person = await self._person(draft)
        if person is None or not (more or self.book.concerns(person) or await self._is_kept(draft)):
            return None
        identity = draft.identity
        known = not identity.fresh and await self.acceptance.ledger.find(identity.key) is not None
        return person if not known else None

    async def _read(self, draft: DeliveryDraft) -> DeliveryDraft:
        """As it will stand on its channel, with its buttons; raises for what can never be sent."""
        outgoing = draft.outgoing
        can = self.acceptance.channels[outgoing.channel].capabilities
        if self.button_key is not None and has_buttons(outgoing.wish) and can.buttons and can.inbound:
            markup = notice_markup(self.button_key, notice_id(draft.identity.key))
            draft = replace(draft, outgoing=replace(outgoing, markup=markup), new=replace(draft.new, markup=markup))
        return await self.acceptance.read(draft)

    async def _person(self, draft: DeliveryDraft) -> str | None:
        """Whose address it is; a stranger has no policy."""
        outgoing = draft.outgoing
        if outgoing.recipient is None:
            return await self.book.people.owner()
        found = await self.book.people.at(outgoing.channel, draft.new.address)
        return found or await self.book.people.called(outgoing.recipient)

    async def _is_kept(self, draft: DeliveryDraft) -> bool:
        """Whether this key is that of a notice already, from when there was something to consider."""
        if draft.identity.fresh or not self.book.known:
            return False
        return await self.book.store.notice(notice_id(draft.identity.key)) is not None

    async def _accepted(self, draft: DeliveryDraft, person: str, wait_seconds: float) -> Outcome | DeliveryDraft:
        name, sent = notice_id(draft.identity.key), list[SendRow]()

        def step(turn: Turn) -> NoticeChanges | None:
            sent.clear()
            if name in turn.state.notices or _is_neutral(turn, draft):
                return None
            turn.accept(_new_notice(draft, person, turn.moment_us))
            turn.judge()
            lease_us = turn.now_us + seconds(LEASE_SECONDS)
            changes = turn.changes(leased=turn.own_send(name), lease_us=lease_us)
            sent.extend(one for one in changes.sends if one.lease_until_us is not None)
            return changes

        turn = await self.book.turn(person, step, wanted=Wanted(notices=(name,)))
        before = next((one for one in turn.loaded.notices if one.id == name), None)
        if before is not None:
            return await self._again(before, draft, wait_seconds)
        if name not in turn.state.notices:
            return draft
        if any(one.send for one in turn.decisions if one.notice != name):
            self.book.woken.ring()
        return await self._answer(turn.state.notices[name], sent, draft, wait_seconds)

    async def _answer(
        self, standing: Standing, sent: list[SendRow], draft: DeliveryDraft, wait_seconds: float
    ) -> Outcome:
        """What may leave now leaves in the same breath; the loop takes up what dies here."""
        request_id = draft.new.request_id
        if not sent:
            return held_outcome(standing, request_id)
        try:
            outcome = await self.carrier.hand_over(sent[0], wait_seconds, draft)
        except StoreUnavailable:
            return _on_its_way(standing, request_id)
        return self._of(standing, outcome, request_id)

    def _of(self, standing: Standing, outcome: Outcome, request_id: str) -> Outcome:
        """A refusal for now holds the notice; it is not lost, so it is no error."""
        if outcome.delivery_id is None and outcome.retryable:
            return _on_its_way(standing, request_id)
        return replace(outcome, request_id=request_id, notice_id=standing.notice.id, urgency=standing.lowered)

    async def _again(self, row: NoticeRow, draft: DeliveryDraft, wait_seconds: float) -> Outcome:
        """The same key again is the same notice and has the same answer."""
        if row.fingerprint != draft.identity.fingerprint:
            error = FieldError("idempotency_key", "was already used for another message", "key_reused")
            raise ValidationError.of([error])
        standing, request_id = row.standing, draft.new.request_id
        if standing.state in UNSENT or standing.state in _NOT_SENT or standing.send is None:
            return held_outcome(standing, request_id)
        (send,) = await self.book.store.sends([standing.send])
        if send.delivery_id is None and send.lease_until_us is not None:
            return _on_its_way(standing, request_id)
        return self._of(standing, await self.carrier.submitted(send, wait_seconds, draft), request_id)


def _is_neutral(turn: Turn, draft: DeliveryDraft) -> bool:
    """Asked under the lock: a policy may have been set or taken away since."""
    return turn.book.neutral(turn.person) and not turn.state.has_wishes and not asks_for_more(draft.outgoing.wish)


def held_outcome(standing: Standing, request_id: str | None) -> Outcome:
    """Where a notice stands that has not left, with its reasons."""
    return altered(
        _on_its_way(standing, request_id),
        status=AnswerStatus.MUTED if standing.state is NoticeState.MUTED else AnswerStatus.DEFERRED,
        until_us=standing.until_us,
        reasons=tuple(dict.fromkeys(str(one.reason) for one in standing.reasons)),
    )


def _on_its_way(standing: Standing, request_id: str | None) -> Outcome:
    return Outcome(
        status=AnswerStatus.ACCEPTED,
        request_id=request_id,
        channel=standing.notice.channel,
        notice_id=standing.notice.id,
        urgency=standing.lowered,
    )
