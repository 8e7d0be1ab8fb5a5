"""What became of the questions that a server was killed under."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, fields


@dataclass(slots=True, kw_only=True)
class Fate:
    """One question: `before` and `after` are its ids; `given` is an answer that the product had taken."""

    key: str
    before: str | None = None
    after: str | None = None
    given: str | None = None
    values: list[str] = field(default_factory=list)  # what each caller got
    errors: int = 0
    mails: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Tally:
    questions: int = 0
    gone: int = 0  # accepted, and another one is there under its key
    lost: int = 0  # an answer was taken, and a caller got another one or none
    two_answers: int = 0  # two callers of one question were given different answers
    never_asked: int = 0  # no mail ever came
    asked_twice: int = 0
    never_returned: int = 0
    errors: int = 0  # callers that had to handle one

    def __add__(self, other: Tally) -> Tally:
        return Tally(**{one.name: getattr(self, one.name) + getattr(other, one.name) for one in fields(self)})


def tally(fates: Iterable[Fate]) -> Tally:
    return sum((_one(fate) for fate in fates), Tally())


def _one(fate: Fate) -> Tally:
    return Tally(
        questions=1,
        gone=fate.before is not None and fate.before != fate.after,
        lost=fate.given is not None and _misses(fate.values, fate.given),
        two_answers=len(set(fate.values)) > 1,
        never_asked=fate.mails == 0,
        asked_twice=fate.mails > 1,
        never_returned=not fate.values,
        errors=fate.errors > 0,
    )


def _misses(values: Sequence[str], given: str) -> bool:
    return not values or any(value != given for value in values)
