"""Notices, reasons and times in words, for the pages of attention."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, time, timedelta
from typing import Any, Final
from urllib.parse import urlencode

from starlette.exceptions import HTTPException

from postroom.attention import state as fact
from postroom.attention.attention import Attention
from postroom.attention.model import (
    DAYS,
    DECISION_WORDS,
    LEFT,
    ON_ITS_WAY,
    Decision,
    EscalationStep,
    NoticeMove,
    Policy,
    Preset,
    QuietWindow,
    may,
)
from postroom.attention.reading import NoticeView, PlanItem
from postroom.attention.rules.policy import Absence
from postroom.attention.rules.times import Wish, merged_spans, snoozed_until
from postroom.console.visit import Visit
from postroom.kernel.guard.tokens import TokenFile
from postroom.kernel.values.errors import FieldError, ValidationError
from postroom.kernel.values.ids import to_datetime, to_us
from postroom.kernel.values.principal import HOUSEHOLD_OWNER, OWNER, Principal, person_id_of
from postroom.kernel.values.zones import duration, instant, known_zone
from postroom.message.outgoing import known_as
from postroom.message.wishes import REASON_WORDS, AcceptedNotice, HoldReason, Urgency
from postroom.people.model import Person
from postroom.people.people import HouseholdPeople
from postroom.people.store.people import StoredPeople

# -- Whose page it is: each person's own, and for the owner everybody's --

_LONGEST_ID: Final = 255


@dataclass(frozen=True, slots=True, kw_only=True)
class Whose:
    """`of` is what an address or a form carries when the page is not the visitor's own."""

    id: str
    name: str
    is_own: bool
    zone: str

    @property
    def of(self) -> str:
        return "" if self.is_own else self.id

    def address(self, path: str = "", **more: str) -> str:
        """Below /console, with what makes it this person's."""
        asked = urlencode({name: value for name, value in {**more, "of": self.of}.items() if value})
        return f"/attention{path}" + (f"?{asked}" if asked else "")


@dataclass(frozen=True, slots=True, kw_only=True)
class AttentionPeople:
    attention: Attention
    people: StoredPeople
    tokens: TokenFile
    approvers: HouseholdPeople

    async def whose(self, visit: Visit, wanted: str) -> Whose:
        """404 for another person's, unless the owner asks for someone who is known."""
        own = own_id(visit)
        person_id = wanted[:_LONGEST_ID] or own
        if person_id != own and not visit.principal.is_owner:
            raise HTTPException(404)
        person = await self.people.get(HOUSEHOLD_OWNER, person_id)
        if person is None and person_id != own:
            raise HTTPException(404)
        zone = await self.attention.zone_of(person_id)
        return Whose(id=person_id, name=_name(person, person_id), is_own=person_id == own, zone=zone)

    async def names(self) -> dict[str, str]:
        """Of the owner, of those who can sign in or approve, and of those of whom attention keeps something."""
        await self.attention.book.refresh()
        signing_in = {one for who in self.tokens.principals() if (one := person_id_of(who)) is not None}
        ids = {OWNER, *self.approvers.approvers, *self.attention.book.known, *signing_in}
        found = await self.people.people(HOUSEHOLD_OWNER, sorted(ids))
        return {one.id: _name(one, one.id) for one in found.values()}

    async def others(self, person_id: str) -> list[tuple[str, str]]:
        names = await self.names()
        return sorted(((one, name) for one, name in names.items() if one != person_id), key=lambda one: one[1].lower())


def own_id(visit: Visit) -> str:
    own = person_id_of(visit.principal)
    if own is None:
        raise HTTPException(404)
    return own


def is_somebody(who: Principal) -> bool:
    return person_id_of(who) is not None


def _name(person: Person | None, person_id: str) -> str:
    return (person.name if person is not None else "") or person_id


# -- Words --

CELL_WORDS: Final = {
    "held": "held",
    "in_a_digest": "in a digest",
    "waiting": "waiting for an OK",
    "escalated": "escalated",
    "sent": "sent",
    "not_sent": "not sent",
}
URGENCY_WORDS: Final = {
    Urgency.PASSIVE: "can wait",
    Urgency.NORMAL: "ordinary",
    Urgency.TIME_SENSITIVE: "urgent",
    Urgency.CRITICAL: "critical",
}
PRESET_WORDS: Final = {
    Preset.EVERYTHING: ("Everything", "Everything leaves at once. Only quiet hours hold it."),
    Preset.CALM: (
        "Calm",
        "An agent's first message leaves at once; what it says in the ten minutes after is collected into one. What "
        "can wait comes at 08:00, 12:30 and 18:00. One agent may interrupt 6 times an hour and 20 times a day.",
    ),
    Preset.FOCUS: (
        "Focus",
        "Like calm, and ordinary messages wait for the set times, too. Only what is urgent interrupts.",
    ),
}
_ELSEWHERE: Final = ("collect", "categories", "repeat_seconds", "duplicate_seconds", "expires_seconds", "mandatory")


def local_time(at_us: int, zone: str) -> str:
    return to_datetime(at_us).astimezone(known_zone(zone)).strftime("%a %-d %b %Y, %H:%M")


def reason_words(reasons: Iterable[HoldReason], zone: str, said_us: int | None = None) -> list[str]:
    """The latest first: that is the one which binds. `said_us`: a moment that stands beside them already."""
    ordered = sorted(reasons, key=lambda one: -(one.until_us or 0))
    return [_reason(one, zone, said_us) for one in ordered]


def _reason(one: HoldReason, zone: str, said_us: int | None) -> str:
    is_new = one.until_us is not None and one.until_us != said_us
    until = f", until {local_time(one.until_us, zone)}" if is_new and one.until_us is not None else ""
    return REASON_WORDS[one.reason] + until


def absence_words(absence: Absence, names: Mapping[str, str], zone: str, now_us: int) -> str:
    end = local_time(absence.end_us, zone)
    begun = "Away" if absence.covers(now_us) else f"Away from {local_time(absence.start_us, zone)}"
    stands_in = names.get(absence.delegate, absence.delegate) if absence.delegate else ""
    meanwhile = f"{stands_in} stands in." if stands_in else "Messages wait until then."
    urgent = " Urgent ones come all the same." if absence.let_pass else ""
    return f"{begun} until {end}. {meanwhile}{urgent}"


def policy_words(policy: Policy) -> list[tuple[str, str]]:
    """What is set, each with its name; what is not set is not said."""
    found = [
        ("Preset", PRESET_WORDS[policy.preset][0] if policy.preset else ""),
        ("Time zone", policy.zone or ""),
        ("Quiet hours", _listed(policy.quiet_hours, _window_words)),
        ("Pass through quiet hours", _listed(policy.let_pass, lambda one: URGENCY_WORDS[one])),
        ("Set times", _listed(policy.slots, lambda one: one.isoformat("minutes"))),
        ("Interruptions by one agent", _budget_words(policy)),
        ("At most", URGENCY_WORDS[policy.ceiling] if policy.ceiling else ""),
        ("Agents", "; ".join(_agent_words(policy))),
        ("Escalation", _listed(policy.escalation, _step_words)),
        ("If a channel is down", _listed(policy.fallback, str)),
        ("Also set", ", ".join(name for name in _ELSEWHERE if getattr(policy, name) is not None)),
    ]
    return [(name, words) for name, words in found if words]


def _listed(values: Sequence[Any] | None, say: Any) -> str:
    return "" if values is None else "; ".join(say(one) for one in values) or "none"


def _budget_words(policy: Policy) -> str:
    budget = policy.budget
    if budget is None:
        return ""
    limits = ((budget.per_hour, "an hour"), (budget.per_day, "a day"))
    return ", ".join(f"{most} {each}" for most, each in limits if most is not None)


def _agent_words(policy: Policy) -> Iterable[str]:
    for name, rule in policy.agents or ():
        said = [f"at most {URGENCY_WORDS[rule.ceiling]}"] if rule.ceiling else []
        said += ["may be critical"] if rule.critical else []
        if said:
            yield f"{name} {' and '.join(said)}"


def _step_words(step: EscalationStep) -> str:
    return f"after {duration(step.after_seconds)} {'by ' + step.channel if step.channel else 'to ' + str(step.person)}"


def _window_words(window: QuietWindow) -> str:
    if window.days is None or set(window.days) == set(DAYS):
        days = "every day"
    else:
        days = ", ".join(day.capitalize() for day in DAYS if day in window.days)
    return f"{days} {_span_words(window)}"


def _span_words(window: QuietWindow) -> str:
    return f"{window.start.isoformat('minutes')}–{window.end.isoformat('minutes')}"


# -- Notices, plans and stories: times in the person's zone --

_RECEIPTS = {
    fact.SendOutcome.OK: ("Arrived", "good"),
    fact.SendOutcome.FAILED: ("The delivery failed", "bad"),
    fact.SendOutcome.UNCERTAIN: ("It may have arrived", "warn"),
    fact.SendOutcome.WITHDRAWN: ("Withdrawn before it was sent", "plain"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownNotice:
    view: NoticeView
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
        return may(state, NoticeMove.WITHDRAW) or (state in ON_ITS_WAY | LEFT and not self.view.standing.recall)

    @property
    def is_escalated(self) -> bool:
        return bool(self.view.standing.steps)


def shown(view: NoticeView, zone: str) -> ShownNotice:
    asked = view.standing.notice.urgency
    return ShownNotice(
        view=view,
        until=local_time(view.until_us, zone) if view.until_us is not None else "",
        reasons=reason_words(view.reasons, zone, view.until_us),
        urgency=URGENCY_WORDS[view.urgency],
        asked=URGENCY_WORDS[asked] if asked is not view.urgency else "",
    )


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


def coming(item: PlanItem, names: Mapping[str, str], zone: str, notice: AcceptedNotice | None) -> Coming:
    return Coming(
        at_us=item.at_us,
        at=local_time(item.at_us, zone),
        what=DECISION_WORDS[item.what].coming,
        where=f"{names.get(item.person, item.person)} by {item.channel}" if item.person is not None else "",
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


@dataclass(frozen=True, slots=True, kw_only=True)
class StoryLine:
    at_us: int
    at: str
    title: str
    detail: Sequence[str] = ()
    tone: str = "plain"
    delivery_id: str | None = None


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
    title, tone, *_ = DECISION_WORDS[one.kind]
    if one.until_us is not None:
        title += f" until {local_time(one.until_us, zone)}"
    if one.send is not None and one.person is not None:
        title += f", to {names.get(one.person, one.person)} by {one.channel}"
    return title, tone, reason_words(one.reasons, zone, one.until_us)


def _happened(event: fact.Fact, names: Mapping[str, str], zone: str) -> tuple[str, str, list[str]] | None:
    match event:
        case fact.NoticeAccepted():
            return f"Accepted from {known_as(event.notice.agent)} for {event.notice.channel}", "plain", []
        case fact.Acked():
            return f"OK by {names.get(event.by, event.by)}", "good", []
        case fact.Snoozed():
            return f"Put off until {local_time(event.until_us, zone)}", "ask", []
        case fact.Withdrawn():
            return "Taken back", "plain", []
        case fact.MayArriveTwice():
            return f"It may arrive twice on {event.channel}: it was being sent there already", "warn", []
        case fact.NoticeRefused():
            return "Refused", "bad", []
        case _:
            return None


def _receipts(sends: Iterable[fact.SendRow], zone: str) -> Iterator[StoryLine]:
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


# -- Moments as a person chooses them, by the wall clock of their zone --

EVENING: Final = time(18)


def later(wish: str, typed: str, zone: str, now_us: int) -> int:
    """`wish`: hour, evening, tomorrow, or until the moment that was typed. Raises ValidationError."""
    if wish == "evening":
        evening = this_evening(zone, now_us)
        if evening is None:
            raise ValidationError.of([FieldError("until", "must lie in the future", "invalid")])
        return evening
    if wish not in tuple(Wish):
        raise ValidationError.of([FieldError("until", "must be one of the choices", "invalid")])
    return snoozed_until(Wish(wish), typed, zone, now_us)


def this_evening(zone: str, now_us: int) -> int | None:
    """None when it has begun."""
    evening = _at(_today(zone, now_us), EVENING, zone)
    return evening if evening > now_us else None


def end_of_today(zone: str, now_us: int) -> int:
    return _at(_today(zone, now_us) + timedelta(days=1), time(0), zone)


def _today(zone: str, now_us: int) -> date:
    return to_datetime(now_us).astimezone(known_zone(zone)).date()


def _at(day: date, at: time, zone: str) -> int:
    return to_us(instant(day, at, known_zone(zone), last=False))


# -- Quiet hours as seven days that can be drawn, and said in words beside the drawing --

_DAY_MINUTES: Final = 24 * 60
_NAMES: Final = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")


@dataclass(frozen=True, slots=True, kw_only=True)
class QuietDay:
    """`spans` and `slots` in minutes of the day."""

    name: str
    spans: tuple[tuple[int, int], ...]
    slots: tuple[int, ...]

    @property
    def words(self) -> str:
        if self.spans == ((0, _DAY_MINUTES),):
            return "quiet all day"
        return ", ".join(f"{_clock(start)}–{_clock(end)}" for start, end in self.spans) or "no quiet hours"


def week(windows: Sequence[QuietWindow], slots: Sequence[time]) -> tuple[QuietDay, ...]:
    """A window over midnight ends on the day after the one it belongs to."""
    drawn = tuple(sorted(_minute(one) for one in slots))
    return tuple(
        QuietDay(name=name, spans=merged_spans(_spans(windows, place)), slots=drawn)
        for place, name in enumerate(_NAMES)
    )


def _spans(windows: Sequence[QuietWindow], place: int) -> list[tuple[int, int]]:
    found = []
    for window in windows:
        start, end = _minute(window.start), _minute(window.end)
        if start < end and _begins(window, place):
            found.append((start, end))
        if start > end and _begins(window, place):
            found.append((start, _DAY_MINUTES))
        if start > end and end > 0 and _begins(window, place - 1):
            found.append((0, end))
    return found


def _begins(window: QuietWindow, place: int) -> bool:
    return window.days is None or DAYS[place % 7] in window.days


def _minute(at: time) -> int:
    return at.hour * 60 + at.minute


def _clock(minutes: int) -> str:
    return f"{minutes // 60:02}:{minutes % 60:02}"
