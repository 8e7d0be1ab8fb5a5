"""Notices, plans and stories as the pages of attention show them: times in the person's zone, reasons in words."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from postroom.domain.attention import AcceptedNotice
from postroom.domain.notice_states import ON_ITS_WAY, NoticeMove, NoticeState, may
from postroom.doors.console.attention_words import (
    COMING_WORDS,
    DECISION_WORDS,
    STATE_WORDS,
    URGENCY_WORDS,
    local_time,
    reason_words,
)
from postroom.work.attention import facts as fact
from postroom.work.attention.absence import Absence
from postroom.work.attention.decisions import Decision
from postroom.work.attention.plan import PlanItem
from postroom.work.attention.views import NoticeView, SendView

_LEFT = (NoticeState.SENT, NoticeState.DIGESTED, NoticeState.WAITING)
_RECEIPTS = {
    fact.SendOutcome.OK: ("Arrived", "good"),
    fact.SendOutcome.FAILED: ("The delivery failed", "bad"),
    fact.SendOutcome.UNCERTAIN: ("It may have arrived", "warn"),
    fact.SendOutcome.WITHDRAWN: ("Withdrawn before it was sent", "plain"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownNotice:
    view: NoticeView
    word: str
    tone: str
    until: str
    reasons: Sequence[str]
    urgency: str
    asked: str  # what its agent asked for, where that is something else

    @property
    def can_ok(self) -> bool:
        return may(self.view.state, NoticeMove.ACKNOWLEDGE)

    @property
    def can_wait(self) -> bool:
        return may(self.view.state, NoticeMove.SNOOZE)

    @property
    def can_be_withdrawn(self) -> bool:
        state = self.view.state
        left = state in ON_ITS_WAY or state in _LEFT
        return may(state, NoticeMove.WITHDRAW) or (left and not self.view.standing.recall)

    @property
    def is_escalated(self) -> bool:
        return bool(self.view.standing.steps)


@dataclass(frozen=True, slots=True, kw_only=True)
class Coming:
    """One line of what will happen; `notices` of them at once."""

    at_us: int
    at: str
    what: str
    where: str
    why: Sequence[str]
    unless: str
    notice: str
    agent: str
    text: str
    notices: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class StoryLine:
    at_us: int
    at: str
    title: str
    detail: Sequence[str] = ()
    tone: str = "plain"
    delivery_id: str | None = None


def shown(view: NoticeView, zone: str) -> ShownNotice:
    word, tone = STATE_WORDS[view.state]
    asked = view.standing.notice.urgency
    return ShownNotice(
        view=view,
        word=word,
        tone=tone,
        until=local_time(view.until_us, zone) if view.until_us is not None else "",
        reasons=reason_words(view.reasons, zone, view.until_us),
        urgency=URGENCY_WORDS[view.urgency],
        asked=URGENCY_WORDS[asked] if asked is not view.urgency else "",
    )


def coming(item: PlanItem, names: Mapping[str, str], zone: str, notice: AcceptedNotice | None) -> Coming:
    person, _, channel = (item.where or "").rpartition(" by ")
    return Coming(
        at_us=item.at_us,
        at=local_time(item.at_us, zone),
        what=COMING_WORDS[item.what],
        where=f"{names.get(person, person)} by {channel}" if item.where else "",
        why=reason_words(item.why, zone),
        unless=item.unless or "",
        notice=item.notice,
        agent=notice.agent if notice is not None else "",
        text=notice.text if notice is not None else "",
    )


def together(lines: Iterable[Coming]) -> list[Coming]:
    """What happens to several in the same way in the same minute is one line."""
    found: dict[tuple[str, str, str], Coming] = {}
    for one in lines:
        same = (one.at, one.what, one.where)
        found[same] = replace(found[same], notices=found[same].notices + 1) if same in found else one
    return list(found.values())


def story_lines(
    view: NoticeView, events: Iterable[fact.Fact | Decision], names: Mapping[str, str], zone: str
) -> list[StoryLine]:
    """In the order it happened; what happened at the same moment stays as it was written."""
    lines = [line for one in events if (line := _line(one, names, zone)) is not None]
    return sorted([*lines, *_receipts(view.sends, zone)], key=lambda one: one.at_us)


def _line(event: fact.Fact | Decision, names: Mapping[str, str], zone: str) -> StoryLine | None:
    said = _decided(event, names, zone) if isinstance(event, Decision) else _happened(event, names, zone)
    if said is None:
        return None
    title, tone, detail = said
    return StoryLine(at_us=event.at_us, at=local_time(event.at_us, zone), title=title, tone=tone, detail=detail)


def _decided(one: Decision, names: Mapping[str, str], zone: str) -> tuple[str, str, list[str]]:
    title, tone = DECISION_WORDS[one.kind]
    if one.until_us is not None:
        title += f" until {local_time(one.until_us, zone)}"
    if one.send is not None and one.person is not None:
        title += f", to {names.get(one.person, one.person)} by {one.channel}"
    return title, tone, reason_words(one.reasons, zone, one.until_us)


def _happened(event: fact.Fact, names: Mapping[str, str], zone: str) -> tuple[str, str, list[str]] | None:
    match event:
        case fact.NoticeAccepted():
            return f"Accepted from {event.notice.agent} for {event.notice.channel}", "plain", []
        case fact.Acked():
            return f"OK by {names.get(event.by, event.by)}", "good", []
        case fact.Snoozed():
            until = f"until {local_time(event.until_us, zone)}" if event.until_us is not None else "for now"
            return f"Put off {until}", "ask", []
        case fact.Withdrawn():
            return "Taken back", "plain", []
        case fact.MayArriveTwice():
            return f"It may arrive twice on {event.channel}: it was being sent there already", "warn", []
        case fact.ApprovalAsked():
            return "A person is asked to approve it", "ask", []
        case fact.ApprovalGiven():
            return ("Approved", "good", []) if event.approved else ("Refused", "bad", [])
        case _:
            return None


def _receipts(sends: Iterable[SendView], zone: str) -> Iterator[StoryLine]:
    for one in sends:
        send = one.send
        if send.outcome is not None and send.receipt_us is not None:
            title, tone = _RECEIPTS[send.outcome]
            yield StoryLine(
                at_us=send.receipt_us,
                at=local_time(send.receipt_us, zone),
                title=f"{title}, by {send.channel}",
                tone=tone,
                delivery_id=one.delivery_id,
            )


def absence_words(absence: Absence, names: Mapping[str, str], zone: str, now_us: int) -> str:
    end = local_time(absence.end_us, zone)
    begun = "Away" if absence.covers(now_us) else f"Away from {local_time(absence.start_us, zone)}"
    stands_in = names.get(absence.delegate, absence.delegate) if absence.delegate else ""
    meanwhile = f"{stands_in} stands in." if stands_in else "Messages wait until then."
    urgent = " Urgent ones come all the same." if absence.let_pass else ""
    return f"{begun} until {end}. {meanwhile}{urgent}"
