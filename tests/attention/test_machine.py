"""Whatever people, agents, channels, clocks, two workers and crashes do, the laws hold."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, invariant, rule
from tests.attention.histories import AGENT, CHANNEL, PLACES, URGENCY, policies
from tests.attention.sample import DAY, HOUR, MINUTE, OTHER, PERSON, accepted, at, empty, unaccounted

from postroom.attention import state as fact
from postroom.attention.model import DecisionKind, NoticeState
from postroom.attention.rules.decide import decide
from postroom.attention.rules.fold import fold
from postroom.attention.rules.policy import Absence, PolicyBook, parse_policy
from postroom.attention.rules.simulate import simulate
from postroom.attention.state import AttentionState
from postroom.message.wishes import Urgency

RUNS = int(os.environ.get("POSTROOM_HISTORIES", "60"))
OUTCOMES = st.sampled_from([*[fact.SendOutcome.OK] * 4, fact.SendOutcome.FAILED, fact.SendOutcome.UNCERTAIN])


class Store:
    """The smallest store: one log in which an id is written once, and a ledger that keeps one delivery for each key."""

    def __init__(self, person: str) -> None:
        self.log: list[Any] = []
        self.state = AttentionState(person=person)
        self.ids: set[str] = set()
        self.ledger: dict[str, int] = {}

    def write(self, event: Any) -> None:
        if isinstance(event, fact.Fact):
            self.log.append(event)
        elif event.id not in self.ids:
            self.ids.add(event.id)
            self.log.append(event)
        else:
            return
        self.state = fold(self.state, event)

    def deliver(self, key: str) -> None:
        self.ledger[key] = self.ledger.get(key, 0)

    def settled(self, key: str) -> bool:
        send = self.state.sends.get(key)
        return send is None or not send.pending


class Attention(RuleBasedStateMachine):
    """T1: decide and write; T2: hand over to the ledger; T3: write the receipt. A crash leaves what was done before."""

    notices = Bundle("notices")

    def __init__(self) -> None:
        super().__init__()
        self.zone, begin = PLACES[1]
        self.now = at(begin, self.zone)
        self.store = Store(PERSON)
        self.book = PolicyBook(people={PERSON: parse_policy({"preset": "calm", "zone": self.zone})})
        self.count = 0

    def happens(self, event: Any) -> None:
        if isinstance(event, fact.PolicyChanged):
            self.book = replace(self.book, people={**self.book.people, PERSON: event.policy})
        self.store.write(event)
        self.work()

    def work(self) -> int | None:
        """T1 of one worker: decide and write in one transaction."""
        made, next_at = decide(self.store.state, self.book, self.now)
        for one in made:
            self.store.write(one)
        return next_at

    @rule(
        target=notices,
        urgency=URGENCY,
        agent=AGENT,
        channel=CHANNEL,
        key=st.sampled_from([None, None, "k"]),
        data=st.data(),
    )
    def accept(self, urgency: str, agent: str, channel: str, key: str | None, data: st.DataObject) -> str:
        self.count += 1
        name = f"n{self.count:03}"
        fields = {"needs_ack": data.draw(st.booleans())}
        fields["fingerprint"] = data.draw(st.sampled_from([name, "same"]))
        self.happens(accepted(name, self.now, urgency, agent=agent, channel=channel, key=key, **fields))
        return name

    @rule(name=notices)
    def ack(self, name: str) -> None:
        self.happens(fact.Acked(at_us=self.now, notice=name))

    @rule(name=notices, minutes=st.integers(1, 3000))
    def snooze(self, name: str, minutes: int) -> None:
        self.happens(fact.Snoozed(at_us=self.now, notice=name, until_us=self.now + minutes * MINUTE))

    @rule(name=notices)
    def withdraw(self, name: str) -> None:
        agent = self.store.state.notices[name].notice.agent
        self.happens(fact.Withdrawn(at_us=self.now, agent=agent, notice=name))

    @rule(agent=AGENT)
    def withdraw_the_key(self, agent: str) -> None:
        self.happens(fact.Withdrawn(at_us=self.now, agent=agent, key="k"))

    @rule(agent=AGENT, minutes=st.one_of(st.none(), st.integers(1, 600)))
    def mute(self, agent: str, minutes: int | None) -> None:
        until = None if minutes is None else self.now + minutes * MINUTE
        self.happens(fact.Muted(at_us=self.now, agent=agent, until_us=until))

    @rule(agent=AGENT)
    def unmute(self, agent: str) -> None:
        self.happens(fact.Unmuted(at_us=self.now, agent=agent))

    @rule(hours=st.integers(1, 60), delegate=st.sampled_from([None, OTHER]))
    def leave(self, hours: int, delegate: str | None) -> None:
        passing = (Urgency.TIME_SENSITIVE,)
        gone = Absence(start_us=self.now, end_us=self.now + hours * HOUR, delegate=delegate, let_pass=passing)
        self.happens(fact.AwaySet(at_us=self.now, absence=gone))

    @rule()
    def come_back(self) -> None:
        self.happens(fact.AwaySet(at_us=self.now, absence=None))

    @rule(channel=CHANNEL)
    def channel_down(self, channel: str) -> None:
        self.happens(fact.ChannelDown(at_us=self.now, channel=channel))

    @rule(channel=CHANNEL)
    def channel_up(self, channel: str) -> None:
        self.happens(fact.ChannelUp(at_us=self.now, channel=channel))

    @rule(data=st.data(), place=st.sampled_from(PLACES))
    def change_policy_and_zone(self, data: st.DataObject, place: tuple[str, str]) -> None:
        self.happens(fact.PolicyChanged(at_us=self.now, policy=parse_policy(data.draw(policies(place[0])))))

    @rule()
    def go_to_what_is_next(self) -> None:
        next_at = self.work()
        if next_at is not None:
            self.now = next_at
            self.work()

    @rule(minutes=st.integers(1, 600))
    def time_passes(self, minutes: int) -> None:
        self.now += minutes * MINUTE
        self.work()

    @rule(days=st.integers(1, 4))
    def the_machine_sleeps(self, days: int) -> None:
        self.now += days * DAY
        self.work()

    @rule(hours=st.integers(1, 5))
    def the_clock_is_set_back(self, hours: int) -> None:
        self.now -= hours * HOUR
        self.work()

    def pending(self) -> list[str]:
        return sorted(key for key, send in self.store.state.sends.items() if send.pending)

    @rule(outcome=OUTCOMES)
    def deliver_and_settle(self, outcome: fact.SendOutcome) -> None:
        """T2 and T3 of one worker."""
        for key in self.pending()[:2]:
            self.store.deliver(key)
            self.settle(key, outcome)

    @rule(outcome=OUTCOMES)
    def crash_between_handing_over_and_settling(self, outcome: fact.SendOutcome) -> None:
        """The second worker takes the same key again, and the ledger still has one delivery."""
        for key in self.pending()[:1]:
            self.store.deliver(key)
            self.store.deliver(key)
            self.settle(key, outcome)

    @rule(outcome=OUTCOMES)
    def two_workers_settle_one_send(self, outcome: fact.SendOutcome) -> None:
        for key in self.pending()[:1]:
            self.store.deliver(key)
            self.settle(key, outcome)
            self.store.write(fact.ReceiptIn(at_us=self.now, send=key, outcome=outcome))

    @rule()
    def give_back_what_was_never_handed_over(self) -> None:
        for key in [key for key in self.pending() if key not in self.store.ledger][:1]:
            self.happens(fact.Returned(at_us=self.now, send=key, until_us=self.now + MINUTE))

    def settle(self, key: str, outcome: fact.SendOutcome) -> None:
        self.happens(fact.ReceiptIn(at_us=self.now, send=key, outcome=outcome))

    @rule(minutes=st.integers(0, 600))
    def two_workers_decide_on_the_same_state(self, minutes: int) -> None:
        """Both read before either writes; a crash between the writes is the same as one that wrote a part."""
        self.now += minutes * MINUTE
        first, second = (decide(self.store.state, self.book, self.now)[0] for _ in range(2))
        assert first == second
        for one in (*first, *second):
            self.store.write(one)
        self.work()

    @rule()
    def the_plan_comes_true(self) -> None:
        before = self.store.state
        planned = simulate((), self.book, state=before, receipts=False, until_us=max(self.now, before.clock_us) + DAY)
        written = len(self.store.log)
        end = max(self.now, before.clock_us) + DAY
        while (next_at := self.work()) is not None and next_at <= end:
            self.now = next_at
        self.now = end
        self.work()
        assert tuple(self.store.log[written:]) == planned.decisions

    @invariant()
    def all_laws_hold(self) -> None:
        assert unaccounted(self.store.state, self.book, self.store.log, empty(), self.now) == []

    @invariant()
    def a_second_look_decides_nothing(self) -> None:
        assert decide(self.store.state, self.book, self.now)[0] == ()

    @invariant()
    def the_ledger_has_nothing_that_was_not_decided(self) -> None:
        assert self.store.ledger.keys() <= self.store.state.sends.keys()

    @invariant()
    def what_was_acknowledged_stays_so(self) -> None:
        standings = self.store.state.notices.values()
        assert all(one.state is NoticeState.ACKNOWLEDGED for one in standings if one.acked_us is not None)

    @invariant()
    def no_step_is_taken_twice(self) -> None:
        steps = [
            (one.notice, one.step) for one in self.store.log if getattr(one, "kind", None) is DecisionKind.ESCALATE
        ]
        assert len(steps) == len(set(steps))


Attention.TestCase.settings = settings(
    max_examples=RUNS, stateful_step_count=40, deadline=None, suppress_health_check=list(HealthCheck)
)
TestAttention = pytest.mark.timeout(7200)(pytest.mark.requirement("attention:conservation")(Attention.TestCase))
