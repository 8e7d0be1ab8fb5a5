"""A person's policy or absence as it was sent, with the people it names looked up."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Protocol

from postroom.domain.capabilities import KnownChannels
from postroom.domain.errors import Code, FieldError, Refused, ValidationError
from postroom.domain.fields import text_problem
from postroom.domain.person import Person
from postroom.domain.principal import Principal
from postroom.domain.time import seconds, to_text
from postroom.doors.attention.arguments import LONGEST_ABSENCE
from postroom.work.attention.absence import Absence, parse_absence
from postroom.work.attention.attention import Attention
from postroom.work.attention.policy import Policy
from postroom.work.attention.policy_request import parse_policy
from postroom.work.questions.asked_people import in_reach, several

_MOST_HOPS: Final = 20


class PeopleByName(Protocol):
    async def called(self, who: str) -> Sequence[Person]:
        """By id, or exactly by name or alias; `owner` is the owner."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyBodies:
    attention: Attention
    people: PeopleByName
    channels: KnownChannels

    async def person(self, who: str) -> str:
        """The id of the one person who is called so; others than themselves are named by the owner alone."""
        found = await self.people.called(who)
        if len(found) != 1:
            raise Refused(Code.NOT_FOUND, several(who, found) if found else "there is no such person")
        return found[0].id

    async def policy(self, caller: Principal, person: str, payload: object) -> Policy:
        """Raises ValidationError, which names every wrong field as it was written."""
        named = {one: await self._id(caller, one) for one in _escalation_names(payload)}
        known = {one for one, found in named.items() if found is not None} | set(self.attention.book.rotations)
        return parse_policy(payload, people=known, channels=self.channels, person=person)

    async def absence(self, caller: Principal, person: str, payload: object, now_us: int) -> Absence | None:
        """None: back again. Without `from` it begins now."""
        if isinstance(payload, Mapping) and "back" in payload:
            if not isinstance(payload["back"], bool) or (payload["back"] and len(payload) > 1):
                raise ValidationError.of([FieldError("back", "is true and alone, or false", "not_allowed")])
            if payload["back"]:
                return None
            payload = {name: value for name, value in payload.items() if name != "back"}
        written = {"from": to_text(now_us), **payload} if isinstance(payload, Mapping) else payload
        asked = written.get("delegate") if isinstance(written, Mapping) else None
        found = await self._id(caller, asked) if isinstance(asked, str) and not text_problem(asked) else None
        if isinstance(written, Mapping) and found is not None:
            written = {**written, "delegate": found}
        chain = await self._chain(found)
        absence = parse_absence(written, person=person, people=chain.keys(), absences=chain)
        if absence.end_us <= now_us:
            raise ValidationError.of([FieldError("until", "must lie in the future", "in_the_past")])
        if absence.end_us > now_us + seconds(LONGEST_ABSENCE):
            raise ValidationError.of([FieldError("until", "is more than a year ahead", "out_of_range")])
        return absence

    async def _chain(self, first: str | None) -> dict[str, tuple[Absence, ...]]:
        """When the delegates are away themselves, and theirs."""
        chain: dict[str, tuple[Absence, ...]] = {}
        waiting = [first] if first is not None else []
        while waiting and len(chain) < _MOST_HOPS:
            one = waiting.pop()
            if one not in chain:
                chain[one] = await self.attention.absences(one)
                waiting += [away.delegate for away in chain[one] if away.delegate is not None]
        return chain

    async def _id(self, caller: Principal, who: str) -> str | None:
        """None also for whom the caller does not reach: a policy tells nobody who is known here."""
        found = await in_reach(caller, await self.people.called(who), self.people.called)
        return found[0].id if len(found) == 1 else None


def _escalation_names(payload: object) -> list[str]:
    steps = payload.get("escalation") if isinstance(payload, Mapping) else None
    named = [one.get("person") for one in steps if isinstance(one, Mapping)] if isinstance(steps, list) else []
    return [one for one in named if isinstance(one, str)]
