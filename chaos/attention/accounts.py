"""Whether every notice is accounted for: against the log, the ledger, the provider and the journal."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from chaos.attention.timing import early
from chaos.journal import Entry, Step
from chaos.tokens import tokens_in
from postroom.attention.model import OPEN, Decision, DecisionKind, NoticeState
from postroom.attention.state import Acked, AttentionState, Fact, Standing

COLUMNS: Final = (
    "notices",
    "messages",
    "lost",
    "sent twice, marked",
    "unmarked",
    "early",
    "after the answer",
    "unaccounted",
    "decided otherwise in the replay",
)
_GOES_ON: Final = (DecisionKind.REPEAT, DecisionKind.ESCALATE)
Place = tuple[str, tuple[str, ...]]  # a channel, and the notices of a message
Events = Sequence[Fact | Decision]


@dataclass(frozen=True, slots=True, kw_only=True)
class Sent:
    """A delivery in the ledger."""

    place: Place
    delivered: bool
    marked: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Person:
    """`otherwise`: what the replay of the log says else; `broken`: the laws that do not hold."""

    state: AttentionState
    events: Events
    otherwise: Sequence[str] = ()
    broken: Sequence[str] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Accounts:
    notices: int = 0
    messages: int = 0
    lost: int = 0
    twice_marked: int = 0
    twice_unmarked: int = 0
    early: int = 0
    after_answer: int = 0
    unaccounted: int = 0
    otherwise: int = 0
    complaints: tuple[str, ...] = field(default=())

    @property
    def sound(self) -> bool:
        harm = (self.lost, self.twice_unmarked, self.early, self.after_answer, self.unaccounted, self.otherwise)
        return not any(harm)

    @property
    def numbers(self) -> tuple[int, ...]:
        return (
            self.notices,
            self.messages,
            self.lost,
            self.twice_marked,
            self.twice_unmarked,
            self.early,
            self.after_answer,
            self.unaccounted,
            self.otherwise,
        )

    def line(self) -> str:
        return (
            f"notices {self.notices} · lost {self.lost} · sent twice marked {self.twice_marked}, "
            f"unmarked {self.twice_unmarked} · early {self.early} · after the answer {self.after_answer} · "
            f"unaccounted {self.unaccounted} · otherwise in the replay {self.otherwise}"
        )


def judged(
    people: Sequence[Person], sent: Sequence[Sent], arrived: Iterable[Place], journal: Sequence[Entry]
) -> Accounts:
    copies = Counter(arrived)
    standings = {token: one for person in people for one in person.state.notices.values() for token in _tokens(one)}
    extra = {place: more for place, count in copies.items() if (more := count - _delivered(sent, place)) > 0}
    marked = {place for place, more in extra.items() if more <= sum(one.marked for one in sent if one.place == place)}
    harm: Mapping[str, list[str]] = {
        "lost": [*_losses(standings, sent, copies, journal)],
        "twice": [f"{place} came too often, unmarked" for place in extra.keys() - marked] + [*_undecided(people, sent)],
        "early": early([one.events for one in people], journal),
        "after": [problem for one in people for problem in _after_the_answer(one.events)],
        "broken": [one.detail for one in journal if one.step is Step.UNACCOUNTED]
        + [problem for one in people for problem in one.broken],
        "otherwise": [problem for one in people for problem in one.otherwise],
    }
    return Accounts(
        notices=len(standings),
        messages=sum(one.delivered for one in sent),
        lost=len(harm["lost"]),
        twice_marked=len(marked),
        twice_unmarked=len(harm["twice"]),
        early=len(harm["early"]),
        after_answer=len(harm["after"]),
        unaccounted=len(harm["broken"]),
        otherwise=len(harm["otherwise"]),
        complaints=tuple(sentence for sentences in harm.values() for sentence in sentences),
    )


def _tokens(standing: Standing) -> list[str]:
    return tokens_in(standing.notice.text)


def _delivered(sent: Sequence[Sent], place: Place) -> int:
    return sum(one.delivered for one in sent if one.place == place)


def _losses(
    standings: Mapping[str, Standing], sent: Sequence[Sent], copies: Counter[Place], journal: Sequence[Entry]
) -> Iterator[str]:
    said = {one.token for one in journal if one.step is Step.ANSWER}
    yield from (f"{token} was accepted and is no notice" for token in sorted(said - standings.keys()))
    shown = {token for _, tokens in copies for token in tokens}
    for token, one in standings.items():
        if one.state in OPEN:
            yield f"{token} is still {one.state}"
        if one.first_us is not None and token not in shown:
            yield f"{token} counts as sent and has not arrived"
        if one.state is NoticeState.UNDELIVERABLE:
            yield f"{token} is undeliverable"
    for place in {one.place for one in sent}:
        if copies[place] < _delivered(sent, place):
            yield f"{place} is called delivered and has not arrived"
    answered = {one.token for one in journal if one.step is Step.ANSWERED}
    for token in sorted(answered):
        if standings[token].state is not NoticeState.ACKNOWLEDGED:
            yield f"{token} was answered and is {standings[token].state}"


def _undecided(people: Sequence[Person], sent: Sequence[Sent]) -> Iterator[str]:
    """Every delivery is one that was decided, and no decision has two."""
    decided: Counter[Place] = Counter()
    for person in people:
        texts = {name: tuple(_tokens(one)) for name, one in person.state.notices.items()}
        for send in person.state.sends.values():
            decided[send.channel, tuple(sorted(token for name in send.notices for token in texts[name]))] += 1
    made = Counter(one.place for one in sent)
    yield from (f"{place} has {made[place]} deliveries" for place in made if made[place] > decided[place])


def _after_the_answer(events: Events) -> Iterator[str]:
    answered: set[str] = set()
    for event in events:
        if isinstance(event, Acked):
            answered.add(event.notice)
        elif isinstance(event, Decision) and event.kind in _GOES_ON and event.notice in answered:
            yield f"{event.kind} of {event.notice} after its answer"
