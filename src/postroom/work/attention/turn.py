"""One transaction about one person: facts are folded, what is due is decided, and what is to be sent is frozen."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from postroom.domain.attention import AcceptedNotice, derived_id
from postroom.domain.delivery import Priority
from postroom.domain.notice_rows import Loaded, NoticeChanges, NoticeRow, PersonRow, SendRow
from postroom.domain.outgoing import Outgoing
from postroom.domain.risk_and_urgency import Urgency
from postroom.work.attention.codec import decoded, encoded
from postroom.work.attention.decide import decide
from postroom.work.attention.decisions import Decision
from postroom.work.attention.digest import Digest
from postroom.work.attention.facts import ChannelDown, ChannelUp, Fact, NoticeAccepted, PolicyChanged, Unmuted
from postroom.work.attention.fold import fold
from postroom.work.attention.freezing import frozen_message
from postroom.work.attention.policy import Policy
from postroom.work.attention.revising import revised
from postroom.work.attention.rules import PolicyBook
from postroom.work.attention.silences import MUTES, missed_words
from postroom.work.attention.simulate import changed
from postroom.work.attention.state import AttentionState, Silence, Standing
from postroom.work.attention.stored import digest_row, log_row, notice_row, policy_of, rest_text, send_row, state_of


@dataclass(frozen=True, slots=True, kw_only=True)
class NewNotice:
    """A notice with the message it is about; `fingerprint` tells whether one key means one message."""

    fact: NoticeAccepted
    outgoing: Outgoing
    request_id: str
    fingerprint: str


@dataclass(slots=True)
class Turn:
    person: str
    loaded: Loaded
    book: PolicyBook
    now_us: int
    state: AttentionState = field(init=False)
    policy: Policy | None = field(init=False)
    decisions: list[Decision] = field(init=False, default_factory=list)
    _events: list[Fact | Decision] = field(init=False, default_factory=list)
    _paths: dict[str, list[str]] = field(init=False, default_factory=dict)
    _new: dict[str, NewNotice] = field(init=False, default_factory=dict)
    _next_us: int | None = field(init=False, default=None)

    def __post_init__(self) -> None:
        self.state = state_of(self.person, self.loaded)
        self.policy = policy_of(self.loaded)
        others = {name: policy for name, policy in self.book.people.items() if name != self.person}
        own = {self.person: self.policy} if self.policy is not None else {}
        self.book = replace(self.book, people={**others, **own})

    @property
    def moment_us(self) -> int:
        """Never before what was folded: a clock that was set back stands still here."""
        return max(self.now_us, self.state.clock_us)

    def accept(self, new: NewNotice) -> None:
        self._new[new.fact.notice.id] = new
        self.take(new.fact)

    def take(self, fact: Fact) -> None:
        if isinstance(fact, PolicyChanged):
            self.policy = fact.policy
            self.book = changed(self.book, self.person, fact)
        silences = self.state.silences
        self._fold(fact)
        if isinstance(fact, Unmuted):
            what = (fact.agent, fact.thread, fact.category)
            for ended in (one for one in silences if one.is_of(*what) and one.missed):
                self.accept(_missed(ended, self.person, fact.at_us))

    def hear_of_channels(self, down: frozenset[str] | None) -> None:
        """None: not known here."""
        if down is None:
            return
        for channel in sorted(down - self.state.down.keys()):
            self.take(ChannelDown(at_us=self.moment_us, channel=channel))
        for channel in sorted(self.state.down.keys() - down):
            self.take(ChannelUp(at_us=self.moment_us, channel=channel))

    def judge(self) -> None:
        """What is due comes before the end of a mute at the same moment, as before any fact."""
        moment_us, next_us = self.moment_us, self._decide()
        if ended := [one for one in self.state.silences if one.until_us is not None and one.until_us <= moment_us]:
            for one in ended:
                self.take(Unmuted(at_us=moment_us, agent=one.agent, thread=one.thread, category=one.category))
            next_us = self._decide()
        ends = (one.until_us for one in self.state.silences if one.until_us is not None)
        self._next_us = min((at for at in (next_us, *ends) if at is not None), default=None)

    def _decide(self) -> int | None:
        decisions, next_us = decide(self.state, self.book, self.moment_us)
        for decision in decisions:
            self._fold(decision)
            self.decisions.append(decision)
        return next_us

    def own_send(self, notice_id: str) -> str | None:
        """What was decided just now to be sent for this notice."""
        return next((one.send for one in reversed(self.decisions) if one.notice == notice_id and one.send), None)

    @property
    def changes_anything(self) -> bool:
        before = self.loaded.person
        return bool(self._events) or (before is not None and before.next_us != self._next_us)

    def changes(self, *, leased: str | None = None, lease_us: int | None = None) -> NoticeChanges:
        """`leased`: the key of a send that the caller hands over itself."""
        seq = self.loaded.person.seq if self.loaded.person is not None else 0
        sends = [self._leased(one, leased, lease_us) for one in self._sends()]
        return NoticeChanges(
            person=PersonRow(
                person=self.person,
                policy=encoded(self.policy) if self.policy is not None else None,
                rest=rest_text(self.state),
                seq=seq + len(self._events),
                next_us=self._next_us,
            ),
            notices=tuple(self._notices()),
            sends=tuple(sends),
            digests=tuple(digest_row(self.person, one) for one in self._digests()),
            log=tuple(log_row(self.person, seq + place, one) for place, one in enumerate(self._events, start=1)),
        )

    def _fold(self, event: Fact | Decision) -> None:
        before, self.state = self.state.notices, fold(self.state, event)
        self._events.append(event)
        for name, standing in self.state.notices.items():
            if standing is not before.get(name):
                path = self._paths.setdefault(name, [])
                if not path or path[-1] != str(standing.state):
                    path.append(str(standing.state))

    def _notices(self) -> list[NoticeRow]:
        before = {one.id: one.standing for one in self.loaded.notices}
        rows = [self._row(self.state.notices[name], tuple(path)) for name, path in self._paths.items()]
        return [one for one in rows if before.get(one.id) != one.standing]

    def _row(self, standing: Standing, path: tuple[str, ...]) -> NoticeRow:
        row, new = notice_row(standing, path=path), self._new.get(standing.notice.id)
        if new is None:
            return row
        return replace(row, fingerprint=new.fingerprint, request_id=new.request_id, outgoing=encoded(new.outgoing))

    def _sends(self) -> list[SendRow]:
        before = {one.key: one.send for one in self.loaded.sends}
        frozen = self._frozen()
        rows = [frozen.get(key) or send_row(self.person, one) for key, one in self.state.sends.items()]
        return [one for one in rows if before.get(one.key) != one.send]

    def _frozen(self) -> dict[str, SendRow]:
        messages, known = self._messages(), {one.key: one for one in self.loaded.sends}
        made: dict[str, SendRow] = {}
        for decision in self.decisions:
            key = decision.send
            if key is None or key in known or key in made:
                continue
            revises = revised(self.state, decision, known)
            outgoing = frozen_message(self.state, decision, messages, revises)
            several = decision.digest is not None and len(decision.digest.members) > 1
            request = key if several else self._request_of(decision.notice)
            made[key] = send_row(self.person, self.state.sends[key], outgoing=encoded(outgoing), request_id=request)
        return made

    def _messages(self) -> _Messages:
        return _Messages(self.loaded, self._new)

    def _request_of(self, notice_id: str) -> str:
        new = self._new.get(notice_id)
        return new.request_id if new else next(one.request_id for one in self.loaded.notices if one.id == notice_id)

    def _digests(self) -> list[Digest]:
        known = {one.id for one in self.loaded.digests}
        return [one for name, one in self.state.digests.items() if name not in known]

    def _leased(self, row: SendRow, leased: str | None, lease_us: int | None) -> SendRow:
        return replace(row, lease_us=lease_us, fence=1) if row.key == leased else row


def _missed(silence: Silence, person: str, at_us: int) -> NewNotice:
    """What an ended silence kept from the person, as a message of ours that waits for its moment like any other."""
    asked = Outgoing(
        origin_butler=MUTES,
        channel=silence.channel or "",
        recipient=person,
        message=missed_words(silence),
        priority=Priority.LOW,
    )
    name = derived_id("missed", person, *silence.what, at_us)[:32]
    notice = AcceptedNotice(
        id=name,
        person=person,
        agent=MUTES,
        created_us=at_us,
        channel=asked.channel,
        text=asked.message,
        urgency=Urgency.PASSIVE,
        fingerprint=name,
    )
    return NewNotice(fact=NoticeAccepted(at_us=at_us, notice=notice), outgoing=asked, request_id=name, fingerprint=name)


class _Messages(dict[str, Outgoing]):
    """Decoded when they are asked for."""

    def __init__(self, loaded: Loaded, new: dict[str, NewNotice]) -> None:
        super().__init__({name: one.outgoing for name, one in new.items()})
        self._rows = {one.id: one.outgoing for one in loaded.notices}

    def __missing__(self, name: str) -> Outgoing:
        return decoded(Outgoing, self._rows[name])
