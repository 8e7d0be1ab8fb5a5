"""The people whom policies, rotations and absences name, and who of them is not there."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from postroom.domain.errors import FieldError
from postroom.work.attention.absence import Absence
from postroom.work.attention.policy import Policy
from postroom.work.attention.ports import KnowsPeople
from postroom.work.attention.rotation import Rotation

Named = tuple[str, str]  # the field as it is written, and who stands in it


def in_policy(policy: Policy | None, rotations: Mapping[str, Rotation], path: str = "") -> Iterator[Named]:
    for place, step in enumerate(policy.escalation or () if policy is not None else ()):
        if step.person is not None and step.person not in rotations:
            yield f"{path}escalation.{place}.person", step.person


def in_rotations(rotations: Mapping[str, Rotation], path: str) -> Iterator[Named]:
    for name, rotation in rotations.items():
        for place, person in enumerate(rotation.people):
            yield f"{path}{name}.people.{place}", person
        for place, (_, _, person) in enumerate(rotation.overrides):
            yield f"{path}{name}.overrides.{place}.person", person


def in_absences(absences: Iterable[Absence], path: str) -> Iterator[Named]:
    return ((f"{path}delegate", one.delegate) for one in absences if one.delegate is not None)


async def missing(people: KnowsPeople, named: Iterable[Named]) -> list[FieldError]:
    unknown = [(field, name) for field, name in named if await people.called(name) is None]
    return [
        FieldError(field, f"{name!r} names no one person that is known here", "unknown_person")
        for field, name in unknown
    ]
