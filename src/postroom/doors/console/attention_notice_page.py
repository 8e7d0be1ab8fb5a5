"""One notice: its whole story, what will happen next, and what a person may do about it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Final

from starlette.exceptions import HTTPException
from starlette.responses import Response

from postroom.domain.errors import Code, Refused, ValidationError
from postroom.doors.console.attention_people import AttentionPeople, Whose, own_id
from postroom.doors.console.attention_shown import coming, shown, story_lines
from postroom.doors.console.attention_times import end_of_today, later, this_evening
from postroom.doors.console.attention_words import CELL_WORDS, local_time
from postroom.doors.console.visit import Visit
from postroom.work.attention.attention import Attention
from postroom.work.attention.views import NoticeView

_LONGEST_ID: Final = 255


@dataclass(frozen=True, slots=True, kw_only=True)
class NoticePages:
    attention: Attention
    people: AttentionPeople

    async def show(self, visit: Visit) -> Response:
        view, whose = await self._found(visit)
        names = await self.people.names()
        plan = await self.attention.plan(view.id)
        notice = view.standing.notice
        evening = this_evening(whose.zone, visit.now_us)
        return visit.show(
            "attention_notice.html",
            whose=whose,
            them=(await visit.names(ids=[whose.id])).of(whose.id, whose.name),
            one=shown(view, whose.zone),
            about=notice,
            created=local_time(notice.created_us, whose.zone),
            cell=CELL_WORDS[view.cell],
            story=story_lines(view, await self.attention.reading.story(view), names, whose.zone),
            coming=[coming(item, names, whose.zone, notice) for item in plan],
            evening=evening is not None,
            may_withdraw=visit.principal.is_owner,
        )

    async def ok(self, visit: Visit) -> Response:
        view, whose = await self._found(visit)
        back = whose.address(cell=view.cell) if visit.form.get("from") == "list" else _page(view)
        return await self._done(visit, back, "OK. It is settled.", lambda: self.attention.ack(view.id, own_id(visit)))

    async def later(self, visit: Visit) -> Response:
        view, whose = await self._found(visit)
        try:
            until_us = later(visit.form.get("wish"), visit.form.get("until"), whose.zone, visit.now_us)
        except ValidationError as error:
            return visit.go(_page(view), f"Not put off: the time {error.fields[0].error}.", "bad")
        said = f"It comes again on {local_time(until_us, whose.zone)}."
        act = self.attention.snooze
        return await self._done(visit, _page(view), said, lambda: act(view.id, until_us, own_id(visit)))

    async def withdraw(self, visit: Visit) -> Response:
        """By the agent it is of: the owner acts in its place."""
        view, _ = await self._found(visit)
        if not visit.principal.is_owner:
            raise HTTPException(404)
        said = "Withdrawn. If it had left, a correction goes after it."
        return await self._done(visit, _page(view), said, lambda: self.attention.withdraw(view.agent, view.id))

    async def mute(self, visit: Visit) -> Response:
        view, whose = await self._found(visit)
        until_us = end_of_today(whose.zone, visit.now_us)
        said = f"{view.agent} is muted until midnight. Security and approvals still come."
        act = self.attention.mute
        return await self._done(visit, _page(view), said, lambda: act(whose.id, agent=view.agent, until_us=until_us))

    async def _found(self, visit: Visit) -> tuple[NoticeView, Whose]:
        view = await self.attention.notice(visit.path["id"][:_LONGEST_ID])
        if view is None:
            raise HTTPException(404)
        return view, await self.people.whose(visit, view.person)

    async def _done(self, visit: Visit, back: str, said: str, act: Callable[[], Awaitable[object]]) -> Response:
        try:
            await act()
        except Refused as error:
            if error.code is Code.NOT_FOUND:
                raise HTTPException(404) from None
            return visit.go(back, f"Nothing was done: {error.message}.", "bad")
        except ValidationError as error:
            return visit.go(back, f"Nothing was done: {error.message}", "bad")
        return visit.go(back, said)


def _page(view: NoticeView) -> str:
    return f"/attention/notices/{view.id}"
