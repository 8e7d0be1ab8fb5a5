"""What doors and pages see of notices, what is going to happen to them, and whether all of it adds up."""

from __future__ import annotations

import base64
import hashlib
import hmac
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final

from postroom.attention.model import CELLS, Decision, DecisionKind, NoticeState, Policy
from postroom.attention.rules import decide
from postroom.attention.rules.policy import PolicyBook
from postroom.attention.rules.simulate import SimulatedRun, simulate
from postroom.attention.state import (
    AttentionState,
    Fact,
    KeptNotice,
    NoticeAccepted,
    NoticeCounts,
    NoticeRow,
    PolicyChanged,
    SendRow,
    Wanted,
)
from postroom.attention.turn import NoticeBook
from postroom.kernel.values.errors import FieldError, ValidationError
from postroom.kernel.values.ids import altered, record
from postroom.message.markup import Button, ButtonStyle, Markup
from postroom.message.wishes import AttentionWish, HoldReason, Urgency


@record
class NoticeView(KeptNotice):
    """One notice: where it stands, what it was sent as, and every decision about it in order."""

    sends: tuple[SendRow, ...] = ()
    decisions: tuple[Decision, ...] = ()

    @property
    def agent(self) -> str:
        return self.standing.notice.agent

    @property
    def text(self) -> str:
        return self.standing.notice.text

    @property
    def created_us(self) -> int:
        return self.standing.notice.created_us

    @property
    def state(self) -> NoticeState:
        return self.standing.state

    @property
    def cell(self) -> str:
        return next(name for name, states in CELLS.items() if self.standing.state in states)

    @property
    def urgency(self) -> Urgency:
        """As it counts here; what its agent asked for is `standing.notice.urgency`."""
        return self.standing.urgency

    @property
    def until_us(self) -> int | None:
        return self.standing.until_us

    @property
    def reasons(self) -> tuple[HoldReason, ...]:
        return self.standing.reasons


@dataclass(frozen=True, slots=True, kw_only=True)
class AttentionFigures:
    """`accepted` is the sum of the cells and of the states; `unaccounted` says which law is broken, and is empty."""

    accepted: int
    cells: Mapping[str, int]
    states: Mapping[str, int]
    by_agent: Mapping[str, int]
    unaccounted: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """What was, what would have been, and the difference in words; no words when nothing differs."""

    before: SimulatedRun
    after: SimulatedRun
    words: tuple[str, ...]


# -- What will happen if no one does anything --

_K = DecisionKind
_UNSENT: Final = "it is read, withdrawn, snoozed or muted before"
_UNANSWERED: Final = "it is acknowledged, withdrawn or snoozed before"


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanItem:
    at_us: int
    notice: str
    what: DecisionKind
    person: str | None  # to whom and by which channel it is sent then
    channel: str | None
    why: tuple[HoldReason, ...]
    unless: str | None

    @property
    def where(self) -> str | None:
        return f"{self.person} by {self.channel}" if self.person is not None else None


def plan(state: AttentionState, book: PolicyBook, now_us: int, *, notice: str | None = None) -> tuple[PlanItem, ...]:
    """The same `decide`, on a virtual clock and without further facts. `notice`: of this one alone."""
    run = simulate((), book, state=replace(state, clock_us=max(state.clock_us, now_us)))
    return tuple(planned(one) for one in run.decisions if notice is None or one.notice == notice)


def planned(decision: Decision) -> PlanItem:
    return PlanItem(
        at_us=decision.at_us,
        notice=decision.notice,
        what=decision.kind,
        person=decision.person if decision.send is not None else None,
        channel=decision.channel,
        why=decision.reasons,
        unless=_unless(decision),
    )


def _unless(decision: Decision) -> str | None:
    match decision.kind:
        case _K.RELEASE | _K.DELEGATE | _K.CLOSE_DIGEST | _K.EXPIRE | _K.HOLD | _K.JOIN_DIGEST:
            return _UNSENT
        case _K.REPEAT | _K.ESCALATE | _K.GIVE_UP:
            return _UNANSWERED
        case _:
            return None


# -- Reading --

_LEAVES: Final = (DecisionKind.RELEASE, DecisionKind.DELEGATE, DecisionKind.CLOSE_DIGEST)
_OTHERWISE: Final = {
    DecisionKind.ESCALATE: "escalation",
    DecisionKind.REPEAT: "repeat",
    DecisionKind.MERGE: "merged notice",
    DecisionKind.MUTE: "muted notice",
    DecisionKind.EXPIRE: "expired notice",
    DecisionKind.GIVE_UP: "unanswered notice",
}
MOST_LISTED: Final = 100
_NOTHING_TO_TRY: Final = "No message came in these days, so there is nothing to try it on."


@dataclass(slots=True, kw_only=True)
class NoticeReading:
    book: NoticeBook

    async def notice(self, notice_id: str) -> NoticeView | None:
        row = await self.book.store.notice(notice_id)
        return await self.view(row) if row is not None else None

    async def view(self, row: NoticeRow) -> NoticeView:
        rows = await self.book.store.log(row.person, notice=row.id)
        decisions = tuple(one.event for one in rows if isinstance(one.event, Decision))
        sends = await self.book.store.sends({one.send for one in decisions if one.send is not None})
        return NoticeView(standing=row.standing, sends=tuple(sends), decisions=decisions)

    async def behind(self, delivery_id: str) -> Sequence[NoticeView]:
        """The notices that this delivery showed; none where nothing was kept of them."""
        row = await self.book.store.send_of_delivery(delivery_id)
        names = row.send.notices if row is not None else ()
        found = [await self.notice(name) for name in names]
        return [one for one in found if one is not None]

    async def story(self, view: NoticeView) -> tuple[Fact | Decision, ...]:
        """All that was ever noted about one notice, in order."""
        return tuple(row.event for row in await self.book.store.log(view.person, notice=view.id))

    async def notices(
        self, person: str, cell: str | None = None, limit: int = MOST_LISTED, before: str | None = None
    ) -> Sequence[NoticeView]:
        """Newest first, without their decisions; `before`: older than this notice. Cells are those of `CELLS`."""
        if cell is not None and cell not in CELLS:
            raise ValidationError.of([FieldError("cell", f"must be one of {', '.join(CELLS)}", "not_allowed")])
        states = [str(one) for one in CELLS[cell]] if cell is not None else None
        rows = await self.book.store.page(person, states, max(1, min(limit, MOST_LISTED)), before)
        return [NoticeView(standing=one.standing) for one in rows]

    async def person_plan(self, person: str, notice: str | None = None) -> tuple[PlanItem, ...]:
        state, book = await self.present(person)
        return plan(state, book, self.book.clock.now_us(), notice=notice)

    async def present(self, person: str) -> tuple[AttentionState, PolicyBook]:
        """As it is now, with the policies that count now."""
        await self.book.refresh()
        loaded = await self.book.store.read(person, self.book.wanted(person))
        return loaded.state(person), self.book.policies

    async def own_policy(self, person: str) -> Policy | None:
        return (await self.book.store.read(person, Wanted(since_us=self.book.clock.now_us()))).policy

    async def compare(self, person: str, policy: Policy | None, since_us: int) -> Comparison:
        """
        The facts of those days under what was then, and under this policy: what was sent arrives in both.

        What left while there was no policy counts as well: the ledger of deliveries has it.
        """
        await self.book.refresh()
        logged = [row.event for row in await self.book.store.log(person, since_us=since_us)]
        told = [one for one in logged if isinstance(one, Fact) and not isinstance(one, PolicyChanged)]
        unjudged = await self.book.store.sent_unjudged(await self.book.people.places(person), since_us)
        told += [NoticeAccepted(at_us=one.created_us, notice=altered(one, person=person)) for one in unjudged]
        before = self._run(person, told, self.book.policies)
        after = self._run(person, told, self.book.policies.with_own(person, policy))
        tried = any(isinstance(one, NoticeAccepted) for one in told)
        words = _difference(before, after) if tried else (_NOTHING_TO_TRY,)
        return Comparison(before=before, after=after, words=words)

    def _run(self, person: str, facts: Sequence[Fact], book: PolicyBook) -> SimulatedRun:
        return simulate(facts, book, state=AttentionState(person=person), until_us=self.book.clock.now_us())

    async def figures(self, person: str | None = None) -> AttentionFigures:
        """Of one person, or of all."""
        counts = await self.book.store.counts(person)
        broken = [*await (self._open_laws(person) if person is not None else self.open_laws()), *_first_law(counts)]
        return AttentionFigures(
            accepted=counts.accepted,
            cells={name: sum(counts.states.get(str(one), 0) for one in states) for name, states in CELLS.items()},
            states=counts.states,
            by_agent=counts.agents,
            unaccounted=tuple(broken),
        )

    async def open_laws(self) -> list[str]:
        """Of everyone; what it costs does not grow with what is kept."""
        return [problem for one in await self.book.store.everybody() for problem in await self._open_laws(one.person)]

    async def first_law(self) -> list[str]:
        """Of all that is kept."""
        return _first_law(await self.book.store.counts(None))

    async def _open_laws(self, person: str) -> list[str]:
        """Of what is open and recent; what looks wrong there is looked at whole."""
        state, book = await self.present(person)
        broken = decide.present(state, book, self.book.clock.now_us())
        return await self.audit_of(person) if broken else []

    async def audit_of(self, person: str) -> list[str]:
        """Every law over all that is kept of a person: the log is folded again and compared with the rows."""
        await self.book.refresh()
        loaded = await self.book.store.read(person, Wanted(everything=True))
        state, rows = loaded.state(person), await self.book.store.log(person)
        events, start = [one.event for one in rows], AttentionState(person=person)
        broken = decide.kept(state, self.book.policies, events, start, self.book.clock.now_us())
        whole = bool(rows) and rows[0].seq == 1 and len(rows) == rows[-1].seq
        return broken + (decide.the_log_is_the_state(state, events, start) if whole else [])


def _first_law(counts: NoticeCounts) -> list[str]:
    if counts.logged == counts.accepted:
        return []
    return [f"L1 {counts.logged} notices were accepted and {counts.accepted} are in a cell"]


def _difference(before: SimulatedRun, after: SimulatedRun) -> tuple[str, ...]:
    """Such as `31 fewer interruptions`; empty when nothing differs."""
    changes = {"interruption": _interruptions(after) - _interruptions(before)}
    for kind, name in _OTHERWISE.items():
        changes[name] = _of(after, kind) - _of(before, kind)
    lines = [_count(many, f"{'more' if many > 0 else 'fewer'} {name}") for name, many in changes.items() if many]
    first, second = left_at(before), left_at(after)
    moved = sum(1 for name in first.keys() | second.keys() if first.get(name) != second.get(name))
    return (*lines, f"{_count(moved, 'notice')} held, merged or sent at another time") if moved else tuple(lines)


def _interruptions(run: SimulatedRun) -> int:
    """Each send is one, however many notices it carries; corrections interrupt no one."""
    return len({one.send for one in run.decisions if one.send is not None and one.kind is not DecisionKind.CORRECT})


def left_at(run: SimulatedRun) -> dict[str, int]:
    """When each notice was sent for the first time."""
    found: dict[str, int] = {}
    for one in run.decisions:
        if one.kind in _LEAVES:
            found.setdefault(one.notice, one.at_us)
    return found


def _of(run: SimulatedRun, kind: DecisionKind) -> int:
    return sum(1 for one in run.decisions if one.kind is kind)


def _count(many: int, name: str) -> str:
    return f"{abs(many)} {name}{'' if abs(many) == 1 else 's'}"


# -- The buttons under a message that a person has to acknowledge, and what each of them stands for --

_SIGNATURE_BYTES: Final = 9
_TOKEN: Final = re.compile(r"n([olm])([0-9a-f]{32})([\w-]{12})", re.ASCII)


class NoticeAct(StrEnum):
    OK = "o"
    LATER = "l"
    MUTE_TODAY = "m"


_LABELS: Final = {NoticeAct.OK: "OK", NoticeAct.LATER: "Later", NoticeAct.MUTE_TODAY: "Mute today"}


def has_buttons(wish: AttentionWish | None) -> bool:
    return wish is not None and (wish.needs_ack or wish.urgency is Urgency.CRITICAL)


def notice_markup(key: bytes, notice_id: str) -> Markup:
    """The same notice always has the same buttons, so one that is sent again after a crash is the same message."""
    styles = {NoticeAct.OK: ButtonStyle.SUCCESS}
    row = [Button(label=_LABELS[act], token=_token(key, act, notice_id), style=styles.get(act)) for act in NoticeAct]
    return Markup(buttons=(tuple(row),))


def read_button(key: bytes, token: str) -> tuple[NoticeAct, str] | None:
    """None for what is no button of ours, and for one that this household did not make."""
    if (found := _TOKEN.fullmatch(token)) is None:
        return None
    act, notice_id = NoticeAct(found[1]), found[2]
    return (act, notice_id) if hmac.compare_digest(_token(key, act, notice_id), token) else None


def _token(key: bytes, act: NoticeAct, notice_id: str) -> str:
    digest = hmac.new(key, f"{act}\x1f{notice_id}".encode(), hashlib.sha256).digest()
    return f"n{act}{notice_id}{base64.urlsafe_b64encode(digest[:_SIGNATURE_BYTES]).decode()}"
