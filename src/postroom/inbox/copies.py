"""The e-mails of an inbox: copies of notes as notices of their reader, and letters that ask whose an address is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from postroom.attention.considering import noticed
from postroom.attention.model import UNSENT
from postroom.attention.state import Loaded, NoticeAccepted, NoticeChanges, Snoozed, Standing, Withdrawn
from postroom.attention.turn import NewNotice, NoticeBook
from postroom.delivery.accept import Plane
from postroom.inbox.model import (
    AskedToConfirm,
    Ending,
    GivenUp,
    HandedOver,
    Notification,
    Preferences,
    Terms,
    TryAgain,
    shortened,
)
from postroom.inbox.preferences import no_copy
from postroom.inbox.store.mail import StoredConfirmations
from postroom.kernel.running.clock import Clock
from postroom.kernel.values.errors import ValidationError
from postroom.kernel.values.ids import altered, seconds
from postroom.message.outgoing import INBOX_AGENT, Outcome, Outgoing
from postroom.people.model import CONFIRMATION_ORIGIN, Purpose, person_of_inbox

_SUBJECT_CHARACTERS: Final = 60


# A copy is a notice: attention holds it, makes one message of several, and hands it over.


@dataclass(frozen=True, slots=True, kw_only=True)
class Copies:
    """Each step is taken in the transaction in which what it follows from is stored."""

    book: NoticeBook
    terms: Terms

    def copy(
        self, note: Notification, wishes: Preferences, loaded: Loaded
    ) -> tuple[Standing, NoticeChanges] | tuple[None, None]:
        """Under the note's own id, so that whoever asks for the one finds the other."""
        if no_copy(note, wishes, self.terms) is not None:
            return None, None
        turn = self.book.begun(person_of_inbox(note.user_id), loaded, note.created_at_us)
        asked = outgoing(note, wishes.email or "")
        notice = altered(noticed(asked, note.id, turn.person, note.created_at_us), agent=note.agent, apart=INBOX_AGENT)
        if not self.terms.digest:
            notice = altered(notice, room=None)
        fact = NoticeAccepted(at_us=turn.moment_us, notice=notice)
        turn.accept(NewNotice(fact=fact, outgoing=asked, request_id=note.id, fingerprint=note.id))
        turn.judge()
        return turn.state.notices[note.id], turn.changes()

    def follow(
        self, notes: Sequence[Notification], wishes: Preferences, loaded: Loaded, now_us: int, snoozed: str | None
    ) -> NoticeChanges | None:
        """What its reader did with a note, or wants no more, counts for the copy that waits. `snoozed`: which note."""
        turn = self.book.begun(person_of_inbox(notes[0].user_id), loaded, now_us)
        for note in notes:
            standing, at_us = turn.state.notices[note.id], turn.moment_us
            if standing.state not in UNSENT:
                continue
            if no_copy(note, wishes, self.terms) is not None:
                turn.take(Withdrawn(at_us=at_us, agent=standing.notice.agent, notice=note.id))
            elif note.id == snoozed:
                turn.take(Snoozed(at_us=at_us, notice=note.id, until_us=note.snoozed_until_us or at_us))
        turn.judge()
        return turn.changes() if turn.changes_anything else None


def outgoing(note: Notification, address: str) -> Outgoing:
    return Outgoing(
        origin_butler=INBOX_AGENT,
        priority=note.priority,
        channel="email",
        recipient=address,
        subject=f"{note.type.capitalize()}: {shortened(note.message, _SUBJECT_CHARACTERS)}".rstrip(": "),
        message=f"{note.message}\n\n{note.link}" if note.link else note.message,
        wish=note.wish,
    )


# What the plane's answer means for a letter that asks whose an address is.

_LONGEST_PAUSE_SECONDS: Final = 900.0
_MOST_ATTEMPTS: Final = 100  # about a day at the longest pause


def ending_of(outcome: Outcome, attempts: int, now_us: int) -> Ending:
    """The plane keeps whatever it accepted; from here on only a refusal is ours to deal with."""
    error = outcome.error
    if error is None or outcome.delivery_id is not None:
        return HandedOver(outcome.delivery_id)
    if isinstance(error, ValidationError) and any(one.code == "key_reused" for one in error.fields):
        return HandedOver(None)  # accepted before, in words an earlier version of us chose
    reason = str(error.error_class)
    if not outcome.retryable or attempts + 1 >= _MOST_ATTEMPTS:
        return GivenUp(reason)
    pause = max(min(2.0**attempts, _LONGEST_PAUSE_SECONDS), error.retry_after_seconds or 0.0)
    return TryAgain(now_us + seconds(pause), reason)


# Ask an address whether it is a person's own, in words that only we chose.

PATH: Final = "/confirm"
_SUBJECT: Final = "Please confirm your address"
_BODY: Final = """\
This address was given as the place for copies of somebody's notifications.

If it was you, open this page and press the button there:

{link}

The link works once, for a day. If it was not you, do nothing: no copies will come here."""
_PAIRING: Final = """\
The household that sends this wants to know whether this address is yours.

If you know of it, open this page and press the button there; what you answer from here counts from then on:

{link}

The link works once, for an hour. If you know nothing of it, do nothing."""
_BODIES: Final = {Purpose.INBOX: _BODY, Purpose.PAIRING: _PAIRING}


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfirmationPost:
    queue: StoredConfirmations
    plane: Plane
    clock: Clock
    base_url: str
    lease_seconds: float
    sweep_seconds: float
    copies: bool

    async def look(self) -> int:
        """All that is due; another process may add some without a word to this one, so it never sleeps for long."""
        while await self.send_due():
            pass
        return self.clock.now_us() + seconds(self.sweep_seconds)

    async def send_due(self) -> int:
        now_us = self.clock.now_us()
        lease_until_us = now_us + seconds(self.lease_seconds)
        due = await self.queue.take(now_us=now_us, lease_until_us=lease_until_us, copies=self.copies)
        for asked in due:
            outgoing = confirmation(asked, self.base_url, is_letter=self._is_letter(asked.channel))
            outcome = await self.plane.submit(outgoing, request_id=asked.digest[:32], wait_seconds=0)
            ended_us = self.clock.now_us()
            await self.queue.settle(asked, ending_of(outcome, asked.attempts - 1, ended_us), ended_us)
        return len(due)

    def _is_letter(self, channel: str) -> bool:
        can = self.plane.known_channels.get(channel)
        return can is not None and can.style == "letter"


def confirmation(asked: AskedToConfirm, base_url: str, *, is_letter: bool = True) -> Outgoing:
    return Outgoing(
        origin_butler=CONFIRMATION_ORIGIN,
        idempotency_key=f"inbox-confirmation:{asked.digest[:32]}",
        channel=asked.channel,
        recipient=asked.address,
        subject=_SUBJECT if is_letter else None,
        message=_BODIES[asked.purpose].format(link=f"{base_url}{PATH}/{asked.secret}"),
    )
