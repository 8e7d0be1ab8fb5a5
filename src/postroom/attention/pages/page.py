"""What is held for a person and why, what will happen next, who is muted, and one notice with its whole story."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Final

from starlette.exceptions import HTTPException
from starlette.responses import Response

from postroom.attention.attention import Attention
from postroom.attention.pages.policy_form import PolicyPages
from postroom.attention.pages.shown import (
    CELL_WORDS,
    AttentionPeople,
    ShownNotice,
    Whose,
    absence_words,
    coming,
    end_of_today,
    is_somebody,
    later,
    local_time,
    own_id,
    policy_words,
    shown,
    story_lines,
    this_evening,
    together,
    week,
)
from postroom.attention.reading import MOST_LISTED, AttentionFigures, NoticeView
from postroom.attention.rules.policy import Absence, parse_absence
from postroom.attention.rules.times import typed_moment
from postroom.console.frame import NavigationGroup
from postroom.console.lists import Found, ListPage, ListQuery, Shelves, paged
from postroom.console.visit import ConsolePage, ConsoleSection, Handler, Visit
from postroom.console.words import figure
from postroom.kernel.values.errors import Code, FieldError, Refused, ValidationError
from postroom.kernel.values.ids import to_text
from postroom.message.outgoing import known_as
from postroom.people.signing_in.rules import ROOT

PAGE_SIZE: Final = 20
ESCALATED: Final = "escalated"
_MOST_COMING: Final = 12
_MOST_PAGES: Final = 20
_LONGEST: Final = 255
_LONGEST_ID: Final = 255


# -- The page of a person --


@dataclass(frozen=True, slots=True, kw_only=True)
class TypedAbsence:
    """What could not be taken as it was typed."""

    fields: Mapping[str, str] = field(default_factory=dict)
    complaints: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class AttentionPages:
    attention: Attention
    people: AttentionPeople

    async def show(self, visit: Visit) -> Response:
        return await self._page(visit, await self.people.whose(visit, visit.query.get("of", "")), TypedAbsence())

    async def unmute(self, visit: Visit) -> Response:
        whose = await self.people.whose(visit, visit.form.get("of"))
        what = {name: visit.form.get(name)[:_LONGEST] or None for name in ("agent", "thread", "category")}
        try:
            await self.attention.unmute(whose.id, **what)
        except ValidationError as error:
            return visit.go(whose.address(), f"Nothing was done: {error.message}", "bad")
        return visit.go(whose.address(), "Heard again from now on. What was muted stays unsent.")

    async def away(self, visit: Visit) -> Response:
        whose = await self.people.whose(visit, visit.form.get("of"))
        try:
            absence = await self._absence(visit, whose)
        except ValidationError as error:
            complaints = {one.field: one.error for one in error.fields}
            return await self._page(visit, whose, TypedAbsence(fields=dict(visit.form.fields), complaints=complaints))
        await self.attention.away(whose.id, absence)
        return visit.go(whose.address(), f"Away until {local_time(absence.end_us, whose.zone)}.")

    async def back(self, visit: Visit) -> Response:
        whose = await self.people.whose(visit, visit.form.get("of"))
        await self.attention.away(whose.id, None)
        return visit.go(whose.address(), "Back. What waited only for that leaves now.")

    async def _absence(self, visit: Visit, whose: Whose) -> Absence:
        start = visit.form.get("from").strip()
        start_us = typed_moment("from", start, whose.zone) if start else visit.now_us
        end_us = typed_moment("until", visit.form.get("until").strip(), whose.zone)
        if end_us <= visit.now_us:
            raise ValidationError.of([FieldError("until", "must lie in the future", "in_the_past")])
        delegate = visit.form.get("delegate")[:_LONGEST] or None
        written = {
            "from": to_text(start_us),
            "until": to_text(end_us),
            "delegate": delegate,
            "let_pass": ["time_sensitive"] if visit.form.get("let_pass") == "yes" else [],
        }
        names = await self.people.names()
        return parse_absence(written, person=whose.id, people=names, absences=await self.attention.stand_ins(delegate))

    async def _page(self, visit: Visit, whose: Whose, typed: TypedAbsence) -> Response:
        figures = await self.attention.figures(whose.id)
        own, _ = await self.attention.policy(whose.id)
        is_kept = bool(figures.accepted) or own is not None or self.attention.book.household is not None
        escalated = await self._escalated(whose.id) if figures.cells["waiting"] else []
        counts = {**figures.cells, ESCALATED: len(escalated)}
        listed = ListPage(
            title="Attention",
            parts="attention.html",
            find=partial(self._find, whose, typed, figures, escalated),
            shelves=Shelves("cell", _shelves(counts, visit.query.get("cell", ""))) if is_kept else None,
            live="sse:deliveries throttle:3s, every 30s",
            said="Attention was brought up to date.",
            kept={"of": whose.of},
            path=f"{ROOT}/attention",
            status=422 if typed.complaints else 200,
        )
        return await listed.show(visit)

    async def _find(
        self,
        whose: Whose,
        typed: TypedAbsence,
        figures: AttentionFigures,
        escalated: Sequence[NoticeView],
        visit: Visit,
        asked: ListQuery,
    ) -> Found[ShownNotice]:
        counts = {**figures.cells, ESCALATED: len(escalated)}
        notices, older = escalated, None
        if asked.shelf != ESCALATED:
            found = await self.attention.notices(whose.id, asked.shelf or "held", PAGE_SIZE + 1, asked.before)
            notices, older = paged(found, PAGE_SIZE, lambda one: one.id)
        others = await self.people.others(whose.id)
        return Found(
            rows=[shown(one, whose.zone) for one in notices],
            older=older,
            counts={name: figure(many) for name, many in counts.items()},
            around={
                "whose": whose,
                "them": (await visit.names(ids=[whose.id])).of(whose.id, whose.name),
                "others": others if visit.principal.is_owner else [],
                "delegates": others,
                "typed": typed,
                "figures": figures,
                "counts": counts,
                "cells": CELL_WORDS,
                **await self._around(visit, whose),
                **await self._policy(whose),
            },
        )

    async def _around(self, visit: Visit, whose: Whose) -> dict[str, object]:
        """What will happen, what is muted, and who is away."""
        state, _ = await self.attention.present(whose.id)
        names = await self.people.names()
        plan = [
            coming(one, names, whose.zone, state.notices[one.notice].notice if one.notice in state.notices else None)
            for one in await self.attention.person_plan(whose.id)
        ]
        lines = together(plan)
        muted = [one for one in state.silences if one.until_us is None or one.until_us > visit.now_us]
        away = [one for one in state.absences if one.end_us > visit.now_us]
        return {
            "coming": lines[:_MOST_COMING],
            "more_coming": max(0, len(lines) - _MOST_COMING),
            "muted": [(one, local_time(one.until_us, whose.zone) if one.until_us else "") for one in muted],
            "absences": [absence_words(one, names, whose.zone, visit.now_us) for one in away],
        }

    async def _policy(self, whose: Whose) -> dict[str, object]:
        own, _ = await self.attention.policy(whose.id)
        rules = await self.attention.rules(whose.id)
        household = self.attention.book.household
        return {
            "policy": policy_words(own) if own is not None else None,
            "household": policy_words(household) if household is not None else None,
            "week": week(rules.quiet_hours, rules.slots),
            "week_zone": rules.zone,
        }

    async def _escalated(self, person: str) -> list[NoticeView]:
        """Of those that wait for an answer, or had none: the ones that were taken further."""
        found: list[NoticeView] = []
        before: str | None = None
        for _ in range(_MOST_PAGES):
            page = await self.attention.notices(person, "waiting", MOST_LISTED, before)
            found += [one for one in page if one.standing.steps]
            if len(page) < MOST_LISTED:
                break
            before = page[-1].id
        return found


def _shelves(counts: Mapping[str, int], wanted: str) -> dict[str, str]:
    """What was taken further has a shelf only where something was."""
    named = {name: f"{words[:1].upper()}{words[1:]}" for name, words in CELL_WORDS.items()}
    return {name: words for name, words in named.items() if name != ESCALATED or counts[name] or wanted == name}


# -- The page of a notice, and what may be done about it --


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
            story=story_lines(view, await self.attention.story(view), names, whose.zone),
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
        return await self._done(visit, _page(view), said, lambda: self.attention.snooze(view.id, until_us))

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
        said = f"{known_as(view.agent)} is muted until midnight. Security and approvals still come."
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


# -- Everything below /console/attention --


def attention_section(people: AttentionPeople) -> ConsoleSection:
    attention = people.attention
    pages = AttentionPages(attention=attention, people=people)
    notices = NoticePages(attention=attention, people=people)
    policies = PolicyPages(attention=attention, people=people)
    return ConsoleSection(
        name="Attention",
        group=NavigationGroup.YOURS,
        pages=(
            _get("/attention", pages.show),
            _post("/attention/unmute", pages.unmute),
            _post("/attention/away", pages.away),
            _post("/attention/back", pages.back),
            _get("/attention/policy", policies.show),
            _post("/attention/policy", policies.change),
            _get("/attention/notices/{id}", notices.show),
            _post("/attention/notices/{id}/ok", notices.ok),
            _post("/attention/notices/{id}/later", notices.later),
            _post("/attention/notices/{id}/withdraw", notices.withdraw),
            _post("/attention/notices/{id}/mute", notices.mute),
        ),
    )


def _get(path: str, handler: Handler) -> ConsolePage:
    return ConsolePage(path, handler, open_to=is_somebody)


def _post(path: str, handler: Handler) -> ConsolePage:
    return ConsolePage(path, handler, "POST", open_to=is_somebody)
