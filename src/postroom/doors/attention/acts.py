"""What callers do about notices: who may, what they said, and the answer; the same for every door."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from postroom.domain.principal import OWNER, Principal
from postroom.domain.time import seconds, to_text
from postroom.doors.attention.arguments import read_mute, read_snooze, read_unmute
from postroom.doors.attention.documents import (
    comparison_document,
    figures_document,
    notice_document,
    policy_document,
    whole_notice_document,
)
from postroom.doors.attention.policy_body import PolicyBodies
from postroom.doors.attention.who_may import WhoMay, no_such_notice
from postroom.work.attention.absence import absence_mapping
from postroom.work.attention.attention import Attention
from postroom.work.attention.views import NoticeView

Document = dict[str, Any]
WEEK_SECONDS: Final = 7 * 86_400


@dataclass(frozen=True, slots=True, kw_only=True)
class AttentionActs:
    attention: Attention
    bodies: PolicyBodies
    may: WhoMay

    @property
    def _now_us(self) -> int:
        return self.attention.book.clock.now_us()

    async def notice(self, caller: Principal, notice_id: str) -> Document:
        return whole_notice_document(await self._seen(caller, notice_id))

    async def notice_plan(self, caller: Principal, notice_id: str) -> list[Document]:
        await self._seen(caller, notice_id)
        return [one.mapping() for one in await self.attention.plan(notice_id)]

    async def ack(self, caller: Principal, notice_id: str) -> Document:
        view = await self._theirs(caller, notice_id)
        return notice_document(await self.attention.ack(view.id, by=_by(caller)))

    async def snooze(self, caller: Principal, notice_id: str, payload: object) -> Document:
        until_us = read_snooze(payload, self._now_us)
        view = await self._theirs(caller, notice_id)
        return notice_document(await self.attention.snooze(view.id, until_us, by=_by(caller)))

    async def withdraw(self, caller: Principal, notice_id: str) -> Document:
        view = await self._seen(caller, notice_id)
        agent = self.may.withdraws_as(caller, view)
        (withdrawn,) = await self.attention.withdraw(agent, notice_id=notice_id)
        return notice_document(withdrawn)

    async def withdraw_key(self, caller: Principal, key: str) -> list[Document]:
        """All that the caller sent under this key; what has not come yet is withdrawn when it does."""
        agent = self.may.withdraws_as(caller, None)
        return [notice_document(one) for one in await self.attention.withdraw(agent, key=key)]

    async def notices(
        self, caller: Principal, who: str | None, *, cell: str | None, limit: int, before: str | None
    ) -> list[Document]:
        person = await self.person(caller, who)
        found = await self.attention.notices(person, cell, limit, before)
        return [notice_document(one) for one in found]

    async def mute(self, caller: Principal, who: str | None, payload: object) -> Document:
        asked = read_mute(payload, self._now_us)
        person = await self.person(caller, who)
        await self.attention.mute(person, **asked.what, until_us=asked.until_us)
        until = to_text(asked.until_us) if asked.until_us is not None else None
        return {"person_id": person, "muted": asked.what, "until": until}

    async def unmute(self, caller: Principal, who: str | None, payload: object) -> Document:
        what = read_unmute(payload)
        person = await self.person(caller, who)
        await self.attention.unmute(person, **what)
        return {"person_id": person, "unmuted": what}

    async def away(self, caller: Principal, who: str | None, payload: object) -> Document:
        person = await self.person(caller, who)
        absence = await self.bodies.absence(caller, person, payload, self._now_us)
        await self.attention.away(person, absence)
        return {"person_id": person, "away": absence_mapping(absence) if absence is not None else None}

    async def policy(self, caller: Principal, who: str | None) -> Document:
        return await self._policy(await self.person(caller, who))

    async def set_policy(self, caller: Principal, who: str | None, payload: object) -> Document:
        """None takes the person's own away."""
        person = await self.person(caller, who)
        policy = await self.bodies.policy(caller, person, payload) if payload is not None else None
        await self.attention.set_policy(person, policy)
        return await self._policy(person)

    async def person_plan(self, caller: Principal, who: str | None) -> list[Document]:
        person = await self.person(caller, who)
        return [{"notice_id": one.notice, **one.mapping()} for one in await self.attention.person_plan(person)]

    async def preview(
        self, caller: Principal, who: str | None, payload: object, replay_seconds: int = WEEK_SECONDS
    ) -> Document:
        person = await self.person(caller, who)
        policy = await self.bodies.policy(caller, person, payload) if payload is not None else None
        since_us = self._now_us - seconds(replay_seconds)
        return comparison_document(await self.attention.simulate(person, policy, since_us))

    async def figures(self, caller: Principal, who: str | None) -> Document:
        person = await self.person(caller, who)
        return {"person_id": person, **figures_document(await self.attention.figures(person))}

    async def person(self, caller: Principal, who: str | None) -> str:
        """Of the owner any person; of another person themselves, whom they need not name."""
        if caller.is_owner:
            return await self.bodies.person(who or OWNER)
        self.may.act_for(caller, who or caller.name)
        return await self.bodies.person(caller.name)

    async def _policy(self, person: str) -> Document:
        policy, digest = await self.attention.policy(person)
        rules, absences = await self.attention.rules(person), await self.attention.absences(person)
        return {"person_id": person, **policy_document(policy, digest, rules, absences)}

    async def _seen(self, caller: Principal, notice_id: str) -> NoticeView:
        view = await self.attention.notice(notice_id)
        if view is None or not self.may.see(caller, view):
            raise no_such_notice()
        return view

    async def _theirs(self, caller: Principal, notice_id: str) -> NoticeView:
        view = await self._seen(caller, notice_id)
        self.may.act_on(caller, view)
        return view


def _by(caller: Principal) -> str:
    return OWNER if caller.is_owner else caller.name
