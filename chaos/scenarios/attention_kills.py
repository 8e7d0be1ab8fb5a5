"""kill -9 around every commit of a digest, of an escalation and of a change of policy, and anywhere."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from itertools import count
from typing import Any, Final

from chaos import journal
from chaos.attention.acts import Act, Answer, Change, Dead, Die, Later, Quiet, Say
from chaos.attention.deaths import Deaths, played
from chaos.attention.points import inside
from chaos.attention.reading import accounts
from chaos.attention.timing import SLOTS, before_the_hour
from chaos.crash_points import CrashPlan, Point
from chaos.questions.steps import after, before
from chaos.rig import Rig
from chaos.scenario import About, Result, Scenario, World

HOUR: Final = 3600.0
_SLOTTED: Final[Mapping[str, Any]] = {"slots": list(SLOTS)}
_CHAIN: Final = [
    {"id": "mail", "after_seconds": 900, "channel": "email"},
    {"id": "ann", "after_seconds": 900, "person": "Ann"},
]
_ASKING: Final[Mapping[str, Any]] = {"repeat_seconds": [300, 600], "escalation": _CHAIN}
_BOTH: Final[Mapping[str, Any]] = {**_SLOTTED, **_ASKING}
_EDITED: Final[Mapping[str, Any]] = {
    "slots": [f"{hour:02}:30" for hour in range(24)],
    "repeat_seconds": [600],
    "escalation": [_CHAIN[1], {"id": "other", "after_seconds": 900, "channel": "email"}, _CHAIN[0]],
}
_AT_ONCE: Final[Mapping[str, Any]] = {"preset": "everything", **_ASKING}
_LEDGER: Final = (
    Point.BEFORE_INSERT,
    Point.AFTER_INSERT,
    Point.BEFORE_SEND,
    Point.AFTER_SEND,
    Point.BEFORE_SETTLE,
    Point.AFTER_SETTLE,
)


def _around(*names: str) -> list[str]:
    return [when(name) for name in names for when in (before, inside, after)]


_HANDED: Final = [after("take_sends"), *map(str, _LEDGER), before("handed_over"), after("handed_over")]
DIGEST: Final = [(point, 1) for point in (*_around("accept", "digest", "receipt"), *_HANDED)]
ESCALATION: Final = [
    *((point, 1) for point in _around("accept", "release", "repeat", "escalate", "answer", "receipt")),
    *((point, passage) for point in _HANDED[1:] for passage in (1, 2, 3)),
    *((point, 2) for point in _around("escalate", "receipt")),
]
POLICY: Final = [
    *((point, passage) for point in _around("policy") for passage in (1, 2)),
    *((point, 1) for point in (*_around("digest", "escalate", "receipt"), *_HANDED)),
]
_SHORT: Final[Mapping[str, list[tuple[str, int]]]] = {
    "digest": [(inside("digest"), 1), (str(Point.AFTER_SEND), 1), (before("receipt"), 1)],
    "escalation": [(str(Point.AFTER_SEND), 2), (inside("answer"), 1)],
    "policy": [(inside("policy"), 2)],
}


def _digest(number: int) -> list[Act]:
    """Some wait for a slot, on two channels, and leave as two digests."""
    names = [f"d{number}-{one}" for one in range(6)]
    said = Say(tokens=tuple(names[:4])), Say(tokens=tuple(names[4:]), channel="email")
    return [*said, Later(HOUR), Quiet()]


def _escalation(number: int) -> list[Act]:
    """Shown, repeated, by mail, to another person; the answer comes at another place each time, or in the race."""
    token = f"e{number}"
    said: list[Act] = [Say(tokens=(token,), urgency="time_sensitive", needs_ack=True), Quiet()]
    waits: list[Act] = [Later(301), Quiet(), Later(601), Quiet(), Later(901), Quiet()]
    raced = waits[: 2 * (number % 3) + 1]  # just after the clock went on: the loop is at it as well
    over: list[Act] = [Answer(token), Later(2 * HOUR), Quiet()]
    return [*said, *(waits if number % 2 else raced), *over]


def _policy(number: int) -> list[Act]:
    """Some wait for a slot and one for an answer when the chain and the slots change, twice."""
    held, asking = tuple(f"p{number}-{one}" for one in range(3)), f"a{number}"
    return [
        Change(_BOTH),
        Say(tokens=held),
        Say(tokens=(asking,), urgency="time_sensitive", needs_ack=True),
        Quiet(),
        Later(901),
        Quiet(),
        Change(_EDITED),
        Later(901),
        Quiet(),
        Say(tokens=tuple(f"{one}-b" for one in held)),
        Change(_AT_ONCE),
        Later(901),
        Quiet(),
        Answer(asking),
        Later(HOUR),
        Quiet(),
    ]


ROUNDS: Final[Mapping[str, tuple[Callable[[int], list[Act]], Mapping[str, Any], list[tuple[str, int]]]]] = {
    "digest": (_digest, _SLOTTED, DIGEST),
    "escalation": (_escalation, _ASKING, ESCALATION),
    "policy": (_policy, _BOTH, POLICY),
}


def _dying(kind: str, *, short: bool) -> Iterator[list[Act]]:
    """Each moment in a round of its own; an escalation that is answered early does not come to the later ones."""
    make, _, moments = ROUNDS[kind]
    for number, (point, passage) in zip(count(1, 2), _SHORT[kind] if short else moments, strict=False):
        plan = CrashPlan(point=point, passage=passage)
        yield [Die(plan), *make(number), Dead(point)]
        if kind == "escalation" and number % 4 == 1 and not short:
            yield make(number + 1)


async def attention_kills(world: World, database: str, kind: str) -> Result:
    async with _opened(world, database)(f"attention {kind}") as rig:
        acts: list[Act] = [Change(ROUNDS[kind][1]), *(act for acts in _dying(kind, short=world.short) for act in acts)]
        return await _result(rig, kind, await played(rig, acts))


async def attention_anywhere(world: World, database: str, kind: str) -> Result:
    async with _opened(world, database)(f"attention {kind} anywhere") as rig:
        rounds = range(1, world.sized(12, 2) + 1)
        acts: list[Act] = [Change(ROUNDS[kind][1]), *(act for number in rounds for act in ROUNDS[kind][0](number))]
        return await _result(rig, kind, await played(rig, acts, kills_at_random=world.sized(20, 3)))


def _opened(world: World, database: str) -> Any:
    return world.sqlite if database == "sqlite" else world.postgres


async def _result(rig: Rig, kind: str, deaths: Deaths) -> Result:
    found = await accounts(rig, deaths.offset_seconds)
    hurried = before_the_hour(list(journal.read(rig.journal))) if kind == "digest" else []
    found = replace(found, early=found.early + len(hurried), complaints=(*found.complaints, *hurried))
    return Result(comparison=found, note=f"{deaths.kills} kills")


_WORDS: Final = {
    "digest": "digests",
    "escalation": "repeats and escalations, answered meanwhile",
    "policy": "changes of policy while notices are open",
}


def _scenarios(database: str, kind: str) -> list[Scenario]:
    steps = len({point for point, _ in ROUNDS[kind][2]})
    return [
        Scenario(
            name=f"attention-{kind}-{database}",
            what=f"kill -9 at each of {steps} steps of {_WORDS[kind]}, {database}",
            run=partial(attention_kills, database=database, kind=kind),
            in_short=(database == "postgres") == (kind == "escalation"),
            about=About.ATTENTION,
            about_seconds=45.0,
        ),
        Scenario(
            name=f"attention-{kind}-anywhere-{database}",
            what=f"kill -9 anywhere: {_WORDS[kind]}, {database}",
            run=partial(attention_anywhere, database=database, kind=kind),
            in_short=False,
            about=About.ATTENTION,
            about_seconds=45.0,
        ),
    ]


SCENARIOS: Final = [one for database in ("sqlite", "postgres") for kind in ROUNDS for one in _scenarios(database, kind)]
