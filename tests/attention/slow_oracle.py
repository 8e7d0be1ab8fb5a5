"""
A second opinion, written without the engine: it wakes every minute and asks everything anew.

It knows policies as they are written and facts as they are dated, and keeps no moment at which something will be due.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time, timedelta
from functools import lru_cache
from typing import Any
from zoneinfo import ZoneInfo

from postroom.attention import state as fact
from postroom.attention.model import policy_mapping

ORDER = ["passive", "normal", "time_sensitive", "critical"]
LONGEST = {"passive": 24 * 60, "normal": 14 * 60, "time_sensitive": 10 * 60, "critical": 0}
DAYS = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"]
CALM = {
    "slots": ["08:00", "12:30", "18:00"],
    "collect": {"window_seconds": 600, "most": 20},
    "budget": {"per_hour": 6, "per_day": 20},
    "duplicate_seconds": 1800,
}
GONE = {"merged", "muted", "withdrawn", "expired", "undeliverable", "recalled"}
UNSENT = {"new", "held"}
US = 60_000_000


@lru_cache(maxsize=64)
def wall(zone: str, first: int, count: int) -> list[datetime]:
    """What the clock on the wall shows in each of these minutes."""
    place = ZoneInfo(zone)
    start = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(minutes=first)
    return [(start + timedelta(minutes=n)).astimezone(place).replace(tzinfo=None) for n in range(count)]


@dataclass
class Calendar:
    """The quiet minutes and the slots of one policy, found by looking at the wall clock minute by minute."""

    first: int
    walls: list[datetime]
    quiet: set[int] = field(default_factory=set)
    slots: list[tuple[int, str]] = field(default_factory=list)

    def date_of(self, minute: int) -> date:
        return self.walls[minute - self.first].date()


@lru_cache(maxsize=256)
def calendar(zone: str, windows: tuple[Any, ...], slots: tuple[str, ...], first: int, count: int) -> Calendar:
    shown = wall(zone, first, count)
    found = Calendar(first, shown)
    dates = [shown[0].date() + timedelta(days=n) for n in range(1, (shown[-1].date() - shown[0].date()).days - 1)]
    for days, start, end in windows:
        for day in dates:
            if start != end and (not days or DAYS[day.weekday()] in days):
                last = day + timedelta(days=1) if start > end else day
                begins = _first_not_before(shown, datetime.combine(day, time.fromisoformat(start)))
                ends = _last_showing(shown, datetime.combine(last, time.fromisoformat(end)))
                found.quiet |= {first + n for n in range(begins, ends)}
    for day in dates:
        for name in slots:
            at = first + _first_not_before(shown, datetime.combine(day, time.fromisoformat(name)))
            while at in found.quiet:
                at += 1
            found.slots.append((at, f"{day}/{name}"))
    found.slots.sort()
    return found


def _first_not_before(shown: list[datetime], moment: datetime) -> int:
    low = _near(shown, moment)
    return next(n for n in range(low, len(shown)) if shown[n] >= moment)


def _last_showing(shown: list[datetime], moment: datetime) -> int:
    """A time shown twice means its last showing; one that is never shown, the minute after the last one before it."""
    low = _near(shown, moment)
    around = range(low, min(low + 4 * 1440, len(shown)))
    return max(n if shown[n] == moment else n + 1 for n in around if shown[n] <= moment)


def _near(shown: list[datetime], moment: datetime) -> int:
    """More than a day before it, so that no clock change lies between."""
    return max(int((moment - shown[0]).total_seconds() // 60) - 2 * 1440, 0)


@dataclass
class Row:
    notice: Any
    urgency: str = "normal"
    state: str = "new"
    snooze: int | None = None  # minute
    over: int | None = None
    repeats: int = 0
    steps: list[str] = field(default_factory=list)
    reached: list[tuple[str, str]] = field(default_factory=list)
    first: int = 0
    last: int = 0
    step: int = 0
    pending: dict[str, tuple[str, str]] = field(default_factory=dict)  # repeat or step: where it is on its way to

    @property
    def minute(self) -> int:
        return self.notice.created_us // US

    @property
    def order(self) -> tuple[int, str]:
        return self.notice.created_us, self.notice.id


class Oracle:
    def __init__(self, person: str, policies: dict[str, dict[str, Any]], first: int, count: int) -> None:
        self.person, self.policies = person, dict(policies)
        self.first, self.count = first, count
        self.rows: dict[str, Row] = {}
        self.whole: dict[int, tuple[Any, dict[str, Any]]] = {}
        self.calendars: dict[int, Calendar] = {}
        self.log: list[tuple[Any, ...]] = []
        self.mutes: dict[str, int | None] = {}
        self.absences: list[Any] = []
        self.down: dict[str, int] = {}
        self.graves: dict[tuple[str, str], int] = {}
        self.slots_used: dict[str, int] = {}
        self.alone: list[tuple[int, Any]] = []  # sent by themselves: minute and notice
        self.openers: list[tuple[int, Any, str]] = []

    def run(self, facts: list[Any], end: int) -> list[tuple[Any, ...]]:
        due = sorted(facts, key=lambda one: one.at_us)
        minute = due[0].at_us // US if due else end
        while minute <= end:
            self.ask(minute)
            while due and due[0].at_us // US == minute:
                self.take(due.pop(0), minute)
                self.ask(minute)
            busy = any(row.state in {*UNSENT, "waiting", "released"} for row in self.rows.values())
            minute = minute + 1 if busy or not due else due[0].at_us // US
            if not busy and not due:
                break
        return self.log

    # what is known

    def get(self, name: str, person: str | None = None) -> Any:
        return self.settled(person or self.person).get(name)

    def settled(self, person: str) -> dict[str, Any]:
        """What was written, over what its preset and the product bring along."""
        policy = self.policies.get(person, {})
        if id(policy) not in self.whole:
            standard: dict[str, Any] = {"zone": "UTC", "repeat_seconds": [300, 600, 1200, 2400, 3600]}
            standard |= {"expires_seconds": 72 * 3600} if policy else {}
            standard |= CALM if policy.get("preset") in ("calm", "focus") else {}
            self.whole[id(policy)] = policy, {**standard, **policy}
        return self.whole[id(policy)][1]

    def days(self, person: str) -> Calendar:
        settled = self.settled(person)
        if id(settled) not in self.calendars:
            given = settled.get("quiet_hours") or ()
            windows = tuple((tuple(one.get("days", ())), one["from"], one["until"]) for one in given)
            slots = tuple(settled.get("slots") or ())
            self.calendars[id(settled)] = calendar(settled["zone"], windows, slots, self.first, self.count)
        return self.calendars[id(settled)]

    def effective(self, notice: Any) -> str:
        agent = (self.get("agents") or {}).get(notice.agent, {})
        category = (self.get("categories") or {}).get(notice.category, {})
        asked = [str(notice.urgency), self.get("ceiling"), agent.get("ceiling"), category.get("ceiling")]
        asked.append(None if agent.get("critical") else "time_sensitive")
        return ORDER[min(ORDER.index(one) for one in asked if one)]

    def is_quiet(self, person: str, urgency: str, minute: int) -> bool:
        if urgency == "critical" or urgency in (self.get("let_pass", person) or ()):
            return False
        return minute in self.days(person).quiet

    # facts

    def take(self, event: Any, minute: int) -> None:
        row = self.rows.get(event.notice) if isinstance(getattr(event, "notice", None), str) else None
        match event:
            case fact.NoticeAccepted():
                self.rows.setdefault(event.notice.id, Row(event.notice))
            case fact.PolicyChanged():
                self.policies[self.person] = policy_mapping(event.policy) if event.policy else {}
            case fact.Acked() if row and row.state in {*UNSENT, "waiting", "released"}:
                row.state = "acknowledged"
            case fact.Snoozed() if row and row.state in {*UNSENT, "waiting", "sent", "digested"}:
                if row.state not in UNSENT:
                    row.repeats, row.last, row.pending = 0, -(10**9), {}
                row.state, row.over = "held", None
                row.snooze = event.until_us // US
            case fact.Withdrawn():
                self.withdraw(event, minute)
            case fact.Muted():
                self.mutes[event.agent or ""] = None if event.until_us is None else event.until_us // US
            case fact.Unmuted():
                self.mutes.pop(event.agent or "", None)
            case fact.AwaySet():
                begun = [one for one in self.absences if one[0] < minute]
                self.absences = [(start, min(end, minute), what) for start, end, what in begun]
                if event.absence:
                    self.absences.append((event.absence.start_us // US, event.absence.end_us // US, event.absence))
            case fact.ChannelDown():
                self.down.setdefault(event.channel, minute)
            case fact.ChannelUp():
                self.down.pop(event.channel, None)
                for one in self.rows.values():
                    self.arrive(one, minute)

    def arrive(self, row: Row, minute: int) -> None:
        for kind, place in list(row.pending.items()):
            if place[1] not in self.down:
                del row.pending[kind]
                row.last = minute
                row.step = minute if kind == "step" else row.step
                row.reached += [place] if place not in row.reached else []

    def withdraw(self, event: Any, minute: int) -> None:
        mine = [row for row in self.rows.values() if row.notice.agent == event.agent]
        meant = [row for row in mine if (row.notice.key == event.key if event.key else row.notice.id == event.notice)]
        if event.key and not meant:
            self.graves[event.agent, event.key] = minute + 72 * 60
        for row in meant:
            if row.state in UNSENT:
                row.state = "withdrawn"
            elif row.state in ("sent", "digested", "waiting"):
                row.state = "recalled"
                self.say(minute, "correct", row.notice.id, *row.reached[0])

    # every minute

    def ask(self, minute: int) -> None:
        while self.once(minute):
            pass

    def say(self, *entry: Any) -> None:
        self.log.append(entry)

    def once(self, minute: int) -> bool:
        before, together = len(self.log), {}
        changed = False
        for row in sorted(self.rows.values(), key=lambda one: one.order):
            if row.state in UNSENT:
                state, over = row.state, row.over
                self.unsent(row, minute, together)
                changed = changed or (state, over) != (row.state, row.over)
            elif row.state == "waiting":
                self.waiting(row, minute)
        for (person, channel), members in together.items():
            if len(members) == 1:
                self.by_itself(members[0], minute, person, channel)
                continue
            self.say(minute, "digest", tuple(sorted(row.notice.id for row in members)), person, channel)
            for row in members:
                self.leaves(row, minute)
                row.state, row.first, row.last = "digested", minute, minute
                row.reached.append((person, channel))
        return changed or len(self.log) > before

    def unsent(self, row: Row, minute: int, together: dict[Any, list[Row]]) -> None:
        row.urgency = self.effective(row.notice)
        if self.ends(row, minute):
            return
        if self.held(row, minute):
            row.state = "held"
            return
        person, channel = self.target(row, minute), self.channel(row, minute)
        assert channel is not None
        asks = row.notice.needs_ack or row.urgency == "critical"
        if asks or (row.state == "new" and not self.in_window(row, minute)):
            self.by_itself(row, minute, person, channel)
        else:
            together.setdefault((person, channel), []).append(row)

    def ends(self, row: Row, minute: int) -> bool:
        notice = row.notice
        if row.state == "new" and self.graves.get((notice.agent, notice.key), 0) > minute:
            row.state = "withdrawn"
            self.say(minute, "withdraw", notice.id)
        elif (expires := self.expires(row)) is not None and minute >= expires:
            row.state = "expired"
            self.say(minute, "expire", notice.id)
        elif self.is_muted(notice, minute):
            row.state = "muted"
            self.say(minute, "mute", notice.id)
        elif (other := self.better(row, minute)) is not None:
            row.state = "merged"
            self.say(minute, "merge", notice.id, other)
        return row.state not in UNSENT

    def expires(self, row: Row) -> int | None:
        if row.notice.expires_us is not None:
            return row.notice.expires_us // US
        standard = self.get("expires_seconds")
        waits = self.effective(row.notice) in ("passive", "normal") and standard
        return row.minute + standard // 60 if waits else None

    def is_muted(self, notice: Any, minute: int) -> bool:
        if notice.category in (self.get("mandatory") or ("security", "approvals")) or notice.agent not in self.mutes:
            return False
        until = self.mutes[notice.agent]
        return until is None or minute < until

    def better(self, row: Row, minute: int) -> str | None:
        others = sorted(
            (one for one in self.rows.values() if one is not row and one.state not in GONE), key=lambda one: one.order
        )
        mine = row.notice
        if row.state == "new" and not mine.key:
            window = (self.get("duplicate_seconds") or 0) // 60
            for one in others:
                same = (
                    one.notice.fingerprint == mine.fingerprint
                    and one.notice.agent == mine.agent
                    and one.order < row.order
                )
                if same and row.minute - one.minute < window and self.outweighs(one, row):
                    return one.notice.id
        if mine.key:
            newer = [
                one
                for one in others
                if one.order > row.order and (one.notice.agent, one.notice.key) == (mine.agent, mine.key)
            ]
            newer = [one for one in newer if row.state in UNSENT or one.notice.needs_ack]
            if newer:
                return newer[-1].notice.id
        return None

    def outweighs(self, one: Row, row: Row) -> bool:
        loud = ORDER.index(self.effective(one.notice)) >= ORDER.index(self.effective(row.notice))
        return loud and (one.notice.needs_ack or not row.notice.needs_ack)

    # whether anything holds it in this very minute

    def absence(self, row: Row, minute: int) -> Any:
        for start, end, what in self.absences:
            if start <= minute < end:
                if row.urgency in what.let_pass or (row.urgency == "critical" and not self.hands_over(row, what)):
                    return None
                return what
        return None

    def hands_over(self, row: Row, what: Any) -> bool:
        return what.delegate is not None and (what.categories is None or row.notice.category in what.categories)

    def target(self, row: Row, minute: int) -> str:
        what = self.absence(row, minute)
        return what.delegate if what is not None and self.hands_over(row, what) else self.person

    def channel(self, row: Row, minute: int) -> str | None:
        mine = row.notice.channel
        if mine not in self.down:
            return mine
        others = [one for one in self.get("fallback") or () if one != mine and one not in self.down]
        return others[0] if others and minute - self.down[mine] >= 2 else None

    def since(self, row: Row, minute: int) -> int:
        ends = [end for _, end, _ in self.absences if end <= minute]
        return max([row.minute, *ends, *([row.snooze] if row.snooze is not None and row.snooze <= minute else [])])

    def held(self, row: Row, minute: int) -> bool:
        what = self.absence(row, minute)
        if what is not None and not self.hands_over(row, what):
            return True
        if row.snooze is not None and minute < row.snooze:
            return True
        if self.channel(row, minute) is None:
            return True
        if minute - self.since(row, minute) >= LONGEST[row.urgency]:
            return False
        if self.is_quiet(self.target(row, minute), row.urgency, minute):
            return True
        if self.takes_slots(row) and not self.slot_struck(self.since(row, minute), minute):
            return True
        if row.over is not None and not self.budget_waited(row, minute):
            return True
        return self.in_window(row, minute) and not self.window_full(row)

    def takes_slots(self, row: Row) -> bool:
        taken = ("passive", "normal") if self.get("preset") == "focus" else ("passive",)
        return bool(self.get("slots")) and row.urgency in taken

    def slot_struck(self, since: int, minute: int) -> int | None:
        for at, name in self.days(self.person).slots:
            if since < at and self.slots_used.get(name, at) == at:
                return at if at <= minute else None
        return None

    def budget_waited(self, row: Row, minute: int) -> bool:
        if self.get("slots"):
            return self.slot_struck(row.over or 0, minute) is not None
        return not self.used_up(row, minute)

    def used_up(self, row: Row, minute: int) -> bool:
        mine = [at for at, notice in self.alone if notice.agent == row.notice.agent]
        budget, days = self.get("budget") or {}, self.days(self.person)
        hour = sum(1 for at in mine if at > minute - 60)
        day = sum(1 for at in mine if days.date_of(at) == days.date_of(minute))
        return hour >= budget.get("per_hour", 10**9) or day >= budget.get("per_day", 10**9)

    def collectable(self, row: Row) -> bool:
        window = (self.get("collect") or {}).get("window_seconds", 0)
        normal = self.effective(row.notice) == "normal" and not row.notice.needs_ack
        return bool(window) and normal and not (self.get("slots") and self.get("preset") == "focus")

    def in_window(self, row: Row, minute: int) -> bool:
        if not self.collectable(row):
            return False
        window = self.get("collect")["window_seconds"] // 60
        return any(at <= minute < at + window and self.same_place(row, *opener) for at, *opener in self.openers)

    def same_place(self, row: Row, notice: Any, channel: str) -> bool:
        mine = row.notice
        if notice.id == mine.id:
            return False
        return (notice.agent, notice.thread, channel) == (mine.agent, mine.thread, mine.channel)

    def window_full(self, row: Row) -> bool:
        most = self.get("collect").get("most", 20)
        waiting = [one for one in self.rows.values() if one.state in UNSENT and self.collectable(one)]
        mine = row.notice
        same = [
            one
            for one in waiting
            if (one.notice.agent, one.notice.thread, one.notice.channel) == (mine.agent, mine.thread, mine.channel)
        ]
        return len(same) >= most

    # leaving

    def leaves(self, row: Row, minute: int) -> None:
        since = row.over if row.over is not None else self.since(row, minute) if self.takes_slots(row) else None
        struck = self.slot_struck(since, minute) if since is not None else None
        if struck is not None:
            self.slots_used |= {name: at for at, name in self.days(self.person).slots if at == struck}

    def by_itself(self, row: Row, minute: int, person: str, channel: str) -> None:
        counted = row.urgency in ("normal", "time_sensitive")
        slotted = self.takes_slots(row) and self.slot_struck(self.since(row, minute), minute) is not None
        if counted and row.over is None and not slotted and self.used_up(row, minute):
            strikes = self.slot_struck(minute - 1, minute) is not None and self.since(row, minute) < minute
            waits = row.urgency == "normal" and not row.notice.needs_ack and not strikes
            if waits and minute - self.since(row, minute) < LONGEST["normal"]:
                row.state, row.over = "held", minute
                return
        self.leaves(row, minute)
        if counted:
            self.alone.append((minute, row.notice))
        if row.urgency == "normal" and not row.notice.needs_ack:
            self.openers.append((minute, row.notice, channel))
        self.say(minute, "release", row.notice.id, person, channel)
        asks = row.notice.needs_ack or row.urgency == "critical"
        row.state = "waiting" if asks else "sent"
        row.first = row.last = row.step = minute
        row.reached += [(person, channel)] if (person, channel) not in row.reached else []

    def waiting(self, row: Row, minute: int) -> None:
        if (other := self.better(row, minute)) is not None:
            row.state = "merged"
            self.say(minute, "merge", row.notice.id, other)
            return
        urgent = row.urgency in ("time_sensitive", "critical")
        repeat, step = urgent and self.repeat_is_due(row, minute), urgent and self.step_is_due(row, minute)
        if repeat and step and step[0] < repeat:
            repeat = False
        if repeat:
            row.repeats += 1
            row.pending["repeat"] = row.reached[0]
            self.say(minute, "repeat", row.notice.id, *row.reached[0])
            self.arrive(row, minute)
        elif step:
            self.take_step(row, minute, step[1])
        elif self.is_hopeless(row, minute):
            row.state = "unanswered"
            self.say(minute, "give_up", row.notice.id)

    def repeat_is_due(self, row: Row, minute: int) -> int | bool:
        """The minute since which it is due."""
        gaps = self.get("repeat_seconds")
        if not gaps or "repeat" in row.pending:
            return False
        at = row.last + gaps[min(row.repeats, len(gaps) - 1)] // 60
        while at <= minute and self.is_quiet(self.person, row.urgency, at):
            at += 1
        return at if at <= minute and at <= row.first + 180 else False

    def step_is_due(self, row: Row, minute: int) -> tuple[int, dict[str, Any]] | bool:
        steps = [one for one in self.get("escalation") or () if self.name(one) not in row.steps]
        if not steps or "step" in row.pending:
            return False
        step = steps[0]
        person = step.get("person", self.person)
        left, at = step["after_seconds"] // 60, row.step
        while at <= minute:
            asleep = self.is_quiet(person, row.urgency, at)
            if not asleep and left == 0:
                return at, step
            left -= 0 if asleep else 1
            at += 1
        return False

    def name(self, step: dict[str, Any]) -> str:
        return step.get("id") or (f"channel:{step['channel']}" if "channel" in step else f"person:{step['person']}")

    def take_step(self, row: Row, minute: int, step: dict[str, Any]) -> None:
        row.steps.append(self.name(step))
        place = (step.get("person", self.person), step.get("channel", row.notice.channel))
        if place in row.reached:
            self.say(minute, "skip", row.notice.id, self.name(step))
            return
        row.pending["step"] = place
        self.say(minute, "escalate", row.notice.id, *place)
        self.arrive(row, minute)

    def is_hopeless(self, row: Row, minute: int) -> bool:
        expires = self.expires(row)
        if expires is not None and minute >= expires:
            return True
        if row.urgency not in ("time_sensitive", "critical"):
            return expires is None and minute >= row.first + 72 * 60
        rest = [one for one in self.get("escalation") or () if self.name(one) not in row.steps]
        return not rest and not row.pending and minute >= max(row.first + 180, row.last + 10)
