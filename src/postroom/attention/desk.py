"""What callers do about notices and the wishes of people: who may, and the people and moments they name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from postroom.attention.attention import Attention
from postroom.attention.model import Policy
from postroom.attention.reading import NoticeView
from postroom.attention.rules.policy import LONGEST_ABSENCE, Absence, parse_absence, parse_policy
from postroom.kernel.guard.tools import Rule
from postroom.kernel.values.errors import Code, FieldError, Refused, ValidationError
from postroom.kernel.values.fields import Document, text_problem
from postroom.kernel.values.ids import parse_text, seconds, to_text
from postroom.kernel.values.principal import OWNER, Principal, sender_of
from postroom.message.channel import KnownChannels
from postroom.people.people import People
from postroom.questions.asked_people import in_reach, several

_DAY: Final = 86_400


@dataclass(frozen=True, slots=True, kw_only=True)
class AttentionDesk:
    """`decides`: whose token is a person's own."""

    attention: Attention
    people: People
    channels: KnownChannels
    decides: Rule

    @property
    def now_us(self) -> int:
        return self.attention.book.clock.now_us()

    # -- Who may --

    async def person(self, caller: Principal, who: str | None) -> str:
        """Of the owner any person; of another person themselves, whom they need not name."""
        if not caller.is_owner:
            self._act_for(caller, who or caller.name)
            return await self._id_of(caller.name)
        return await self._id_of(who or OWNER)

    async def seen(self, caller: Principal, notice_id: str) -> NoticeView:
        """A person's own, or one that the caller has sent; of others nobody hears that they exist."""
        view = await self.attention.notice(notice_id)
        if view is None or not (self._concerns(caller, view) or view.agent == sender_of(caller)):
            raise Refused(Code.NOT_FOUND, "there is no such notice")
        return view

    async def theirs(self, caller: Principal, notice_id: str) -> NoticeView:
        """To act on as the person it is for; what an agent sees is its own, so it hears why not."""
        view = await self.seen(caller, notice_id)
        if not self._concerns(caller, view):
            self._act_for(caller, view.person)
        return view

    async def withdraw(self, caller: Principal, notice_id: str | None, key: str | None) -> tuple[NoticeView, ...]:
        """Of a key all that the caller sent under it; what has not come yet is withdrawn when it does."""
        if notice_id is not None:
            view = await self.seen(caller, notice_id)
            agent = view.agent if caller.is_owner else _sender(caller)
            return tuple(await self.attention.withdraw(agent, notice_id=notice_id))
        return tuple(await self.attention.withdraw(_sender(caller), key=key))

    def _act_for(self, caller: Principal, person: str) -> None:
        if not self.decides(caller):
            raise Refused(Code.POLICY_DENIED, f"{caller} may not do this: it needs a person's own token")
        if not caller.is_owner and caller.name != person:
            raise Refused(Code.POLICY_DENIED, f"{caller} may not do this for another person")

    def _concerns(self, caller: Principal, view: NoticeView) -> bool:
        people = {view.person, *(person for person, _ in view.standing.reached)}
        return self.decides(caller) and (caller.is_owner or caller.name in people)

    async def _id_of(self, who: str) -> str:
        found = await self.people.called(who)
        if len(found) != 1:
            raise Refused(Code.NOT_FOUND, several(who, found) if found else "there is no such person")
        return found[0].id

    # -- Until when --

    def end(self, until: str | None, for_seconds: int, longest_seconds: int, shortest_seconds: int = 0) -> int:
        """`until` counts where it is said, and `for_seconds` otherwise."""
        if until is None:
            return self.now_us + seconds(for_seconds)
        until_us, now_us = parse_text(until), self.now_us
        if not now_us < until_us <= now_us + seconds(longest_seconds):
            error = f"must lie in the future, {longest_seconds // _DAY} days ahead at most"
            raise ValidationError.of([FieldError("until", error, "out_of_range")])
        if until_us < now_us + seconds(shortest_seconds):
            raise ValidationError.of([FieldError("until", "must lie at least a minute ahead", "out_of_range")])
        return until_us

    # -- A person's policy or absence as it was written, with the people it names looked up --

    async def policy(self, caller: Principal, person: str, written: Document) -> Policy:
        """Raises ValidationError, which names every wrong field as it was written."""
        named = {one: await self._reached(caller, one) for one in _escalation_names(written)}
        known = {one for one, found in named.items() if found is not None} | set(self.attention.book.rotations)
        return parse_policy(written, people=known, channels=self.channels, person=person)

    async def absence(self, caller: Principal, person: str, written: Document) -> Absence:
        """Without `from` it begins now."""
        written = {"from": to_text(self.now_us), **written}
        asked = written.get("delegate")
        found = await self._reached(caller, asked) if isinstance(asked, str) and not text_problem(asked) else None
        chain = await self.attention.stand_ins(found)
        absence = parse_absence(
            {**written, "delegate": found or asked}, person=person, people=chain.keys(), absences=chain
        )
        if absence.end_us <= self.now_us:
            raise ValidationError.of([FieldError("until", "must lie in the future", "in_the_past")])
        if absence.end_us > self.now_us + seconds(LONGEST_ABSENCE):
            raise ValidationError.of([FieldError("until", "is more than a year ahead", "out_of_range")])
        return absence

    async def _reached(self, caller: Principal, who: str) -> str | None:
        """None also for whom the caller does not reach: a policy tells nobody who is known here."""
        found = await in_reach(caller, await self.people.called(who), self.people.called)
        return found[0].id if len(found) == 1 else None


def _sender(caller: Principal) -> str:
    if (sender := sender_of(caller)) is None:
        raise Refused(Code.POLICY_DENIED, f"{caller} sends no messages of its own")
    return sender


def _escalation_names(written: Document) -> list[str]:
    steps = written.get("escalation")
    named = [one.get("person") for one in steps if isinstance(one, Mapping)] if isinstance(steps, list) else []
    return [one for one in named if isinstance(one, str)]
