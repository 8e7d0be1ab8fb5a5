"""Random histories on whole minutes: a policy, notices, and what people and channels do."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from hypothesis import strategies as st
from tests.attention.sample import DAY, MINUTE, OTHER, accepted, at, empty

from postroom.attention import state as fact
from postroom.attention.rules.policy import Absence, PolicyBook, parse_policy
from postroom.attention.rules.simulate import SimulatedRun, simulate
from postroom.message.wishes import Urgency

# A zone, and a moment shortly before its clock changes.
PLACES = [
    ("UTC", "2026-01-05T00:00"),
    ("Europe/Vienna", "2026-03-28T12:00"),
    ("Europe/Vienna", "2026-10-24T12:00"),
    ("Australia/Lord_Howe", "2026-04-04T06:00"),
    ("Australia/Lord_Howe", "2026-10-03T06:00"),
    ("Pacific/Apia", "2011-12-29T00:00"),
    ("Africa/Casablanca", "2026-02-14T20:00"),
    ("Africa/Casablanca", "2026-03-21T20:00"),
    ("Antarctica/Troll", "2026-03-28T12:00"),
    ("Antarctica/Troll", "2026-10-24T12:00"),
    ("Africa/Cairo", "2023-04-27T12:00"),
    ("Africa/Cairo", "2023-10-26T12:00"),
    ("America/Sao_Paulo", "2018-11-03T12:00"),
    ("America/Sao_Paulo", "2019-02-16T12:00"),
]
ZONES = sorted({zone for zone, _ in PLACES})
CLOCK = st.builds("{:02}:{:02}".format, st.integers(0, 23), st.sampled_from([0, 0, 0, 10, 30, 45]))
DAYS = st.lists(st.sampled_from(["mon", "tue", "wed", "thu", "fri", "sat", "sun"]), min_size=1, max_size=6, unique=True)
URGENCY = st.sampled_from(["passive", "normal", "normal", "normal", "time_sensitive", "critical"])
AGENT = st.sampled_from(["cook", "cook", "gardener"])
CHANNEL = st.sampled_from(["telegram", "telegram", "email"])
# Some at any time, many within the same hour, so that they meet.
MINUTES = st.one_of(st.integers(0, 36 * 60), st.integers(600, 640), st.integers(1200, 1260))
SOON = st.one_of(st.integers(1, 60), st.integers(1, 24 * 60))


@st.composite
def windows(draw: st.DrawFn) -> list[dict[str, Any]]:
    drawn = draw(st.lists(st.fixed_dictionaries({"from": CLOCK, "until": CLOCK}, optional={"days": DAYS}), max_size=3))
    night = {"from": "22:00", "until": "07:00"}
    return draw(st.sampled_from([drawn, [night], [night, *drawn[:1]]]))


@st.composite
def policies(draw: st.DrawFn, zone: str) -> dict[str, Any]:
    minutes = st.integers(1, 90).map(lambda count: count * 60)
    step = st.one_of(
        st.fixed_dictionaries({"after_seconds": minutes, "channel": CHANNEL}),
        st.fixed_dictionaries({"after_seconds": minutes, "person": st.just(OTHER)}),
    )
    chain = st.lists(step, max_size=2, unique_by=lambda one: one.get("channel") or one.get("person"))
    optional = {
        "preset": st.sampled_from(["calm", "calm", "focus", "everything"]),
        "quiet_hours": windows(),
        "let_pass": st.just(["time_sensitive"]),
        "slots": st.lists(CLOCK, max_size=3, unique=True),
        "collect": st.fixed_dictionaries({"window_seconds": minutes}, optional={"most": st.integers(1, 4)}),
        "budget": st.fixed_dictionaries({}, optional={"per_hour": st.integers(0, 3), "per_day": st.integers(0, 4)}),
        "ceiling": st.sampled_from(["normal", "time_sensitive", "critical"]),
        "agents": st.fixed_dictionaries({"cook": st.just({"critical": True})}),
        "categories": st.just({"chat": {"ceiling": "normal"}}),
        "escalation": chain,
        "fallback": st.sampled_from([["email"], ["email", "telegram"], []]),
        "repeat_seconds": st.lists(minutes, max_size=3),
        "duplicate_seconds": minutes,
        "expires_seconds": st.integers(10, 48 * 60).map(lambda count: count * 60),
    }
    return {"zone": zone, **draw(st.fixed_dictionaries({}, optional=optional))}


@dataclass(frozen=True)
class History:
    policies: dict[str, dict[str, Any]]
    facts: list[Any]
    start_us: int


@st.composite
def histories(draw: st.DrawFn, places: tuple[tuple[str, str], ...] = tuple(PLACES)) -> History:
    zone, begin = draw(st.sampled_from(places))
    start = at(begin, zone)
    policy, other = draw(policies(zone)), {"zone": zone, "quiet_hours": draw(windows())}
    count = draw(st.integers(1, 9))
    facts: list[Any] = [draw(_notices(f"n{number}", start)) for number in range(count)]
    facts += draw(st.lists(_acts(count, start, zone), max_size=6))
    return History({"ada": policy, "grace": other}, facts, start)


@st.composite
def _notices(draw: st.DrawFn, name: str, start: int) -> fact.NoticeAccepted:
    label = st.sampled_from([None, None, None, None, "one", "two"])
    created = start + draw(MINUTES) * MINUTE
    return accepted(
        name,
        created,
        draw(URGENCY),
        agent=draw(AGENT),
        channel=draw(CHANNEL),
        category=draw(st.sampled_from([None, "chat", "security"])),
        thread=draw(label),
        key=draw(label),
        needs_ack=draw(st.integers(0, 3)) == 0,
        fingerprint=draw(st.sampled_from([name, name, "same"])),
        expires_us=created + draw(SOON) * MINUTE if draw(st.integers(0, 4)) == 0 else None,
    )


@st.composite
def _acts(draw: st.DrawFn, count: int, start: int, zone: str) -> Any:
    when = start + draw(MINUTES) * MINUTE
    later = when + draw(SOON) * MINUTE
    name = f"n{draw(st.integers(0, count - 1))}"
    agent, channel = draw(AGENT), draw(CHANNEL)
    key = draw(st.sampled_from(["one", "two"]))
    away = Absence(
        start_us=when + draw(st.integers(0, 120)) * MINUTE,
        end_us=later + 121 * MINUTE,
        delegate=draw(st.sampled_from([None, OTHER])),
        let_pass=draw(st.sampled_from([(), (Urgency.TIME_SENSITIVE,)])),
        categories=draw(st.sampled_from([None, ("chat",)])),
    )
    elsewhere = parse_policy(draw(policies(draw(st.sampled_from([zone, zone, *ZONES])))))
    return draw(
        st.sampled_from(
            [
                fact.Acked(at_us=when, notice=name),
                fact.Snoozed(at_us=when, notice=name, until_us=later),
                fact.Withdrawn(at_us=when, agent=agent, notice=name),
                fact.Withdrawn(at_us=when, agent=agent, key=key),
                fact.Muted(at_us=when, agent=agent, until_us=draw(st.sampled_from([later, None]))),
                fact.Unmuted(at_us=when, agent=agent),
                fact.AwaySet(at_us=when, absence=away),
                fact.AwaySet(at_us=when, absence=None),
                fact.ChannelDown(at_us=when, channel=channel),
                fact.ChannelUp(at_us=when, channel=channel),
                fact.PolicyChanged(at_us=when, policy=elsewhere),
            ]
        )
    )


def book_of(history: History) -> PolicyBook:
    return PolicyBook(people={name: parse_policy(one) for name, one in history.policies.items()})


def engine(history: History) -> tuple[SimulatedRun, int]:
    """What happens until two days after the last fact, and when that is."""
    end = max(one.at_us for one in history.facts) + 2 * DAY
    return simulate(history.facts, book_of(history), state=empty(), until_us=end), end
