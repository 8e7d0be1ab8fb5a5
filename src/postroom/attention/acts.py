"""What callers do about notices: who may, what they said, and the answer; the same for every door."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Final, Protocol

from fastapi import APIRouter, Path, Query, Request
from mcp.server.mcpserver import Context, MCPServer
from mcp_types import ToolAnnotations
from pydantic import BaseModel, SkipValidation, WithJsonSchema

from postroom.attention.attention import Attention
from postroom.attention.model import DAYS, Decision, Policy, Preset, policy_mapping
from postroom.attention.reading import AttentionFigures, Comparison, NoticeView, SendView
from postroom.attention.rules.policy import Absence, Rules, absence_mapping, parse_absence, parse_policy
from postroom.attention.simulate import SimulatedRun
from postroom.kernel.guard.http import Caller, Verifier
from postroom.kernel.guard.tools import Rule, caller, sender_of
from postroom.kernel.serving.json_door import JsonRoute, answered, failures
from postroom.kernel.values.errors import Code, FieldError, Refused, ValidationError, failure_document
from postroom.kernel.values.fields import Fields, text_problem
from postroom.kernel.values.ids import SECOND_US, parse_text, seconds, to_text
from postroom.kernel.values.principal import OWNER, Principal
from postroom.message.channel import KnownChannels
from postroom.message.wire import MAX_NAME_CHARACTERS
from postroom.message.wishes import URGENCIES
from postroom.people.model import Person
from postroom.questions.asked_people import in_reach, several

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


# What callers say of when and of what, read with everything that is wrong with it.


MINUTE: Final = 60
HOUR: Final = 3600
DAY: Final = 86_400
LONGEST_SNOOZE: Final = 90 * DAY
LONGEST_MUTE: Final = 30 * DAY
LONGEST_ABSENCE: Final = 366 * DAY
UNTIL_UNMUTED: Final = "unmuted"
_WHAT: Final = ("agent", "thread", "category")
_NAME: Final = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class MuteCall:
    """`until_us` None: until it is unmuted."""

    agent: str | None
    thread: str | None
    category: str | None
    until_us: int | None

    @property
    def what(self) -> dict[str, str | None]:
        return {"agent": self.agent, "thread": self.thread, "category": self.category}


def read_snooze(payload: object, now_us: int) -> int:
    """Until when: an hour, unless it says otherwise, and at least a minute."""
    given = Fields(payload, whole="body")
    given.refuse_unknown(("until", "for_seconds"))
    until_us = _until(given, now_us, LONGEST_SNOOZE)
    if not given.complaints and until_us < now_us + seconds(MINUTE):
        given.complain("until", "must lie at least a minute ahead", "out_of_range")
    given.finish()
    return until_us


def read_key(payload: object) -> str:
    given = Fields(payload, whole="body")
    given.refuse_unknown(("key",))
    key = given.text("key", maximum=MAX_NAME_CHARACTERS)
    given.finish()
    return key


def read_mute(payload: object, now_us: int) -> MuteCall:
    given = Fields(payload, whole="body")
    given.refuse_unknown((*_WHAT, "until", "for_seconds"))
    what = _what(given)
    forever = given.raw("until") == UNTIL_UNMUTED
    if forever and what["agent"] is None:
        given.complain("until", "only an agent can be muted until it is unmuted", "not_allowed")
    until_us = None if forever else _until(given, now_us, LONGEST_MUTE)
    given.finish()
    return MuteCall(**what, until_us=until_us)


def read_unmute(payload: object) -> dict[str, str | None]:
    given = Fields(payload, whole="body")
    given.refuse_unknown(_WHAT)
    what = _what(given)
    given.finish()
    return what


def given_only(payload: Mapping[str, Any]) -> dict[str, Any]:
    """An absent value, an empty text and a null are the same to a tool."""
    return {name: value for name, value in payload.items() if value is not None and value != ""}


def _what(given: Fields) -> dict[str, str | None]:
    before = len(given.complaints)
    what = {name: given.optional_text(name, maximum=_NAME) for name in _WHAT}
    if not any(what.values()) and len(given.complaints) == before:
        given.complain("agent", "one of agent, thread and category is needed", "required")
    return what


def _until(given: Fields, now_us: int, most: int) -> int:
    if given.has("until") and given.has("for_seconds"):
        given.complain("until", "either this or for_seconds", "not_allowed")
    if given.has("until"):
        return _moment(given, now_us, most)
    return now_us + seconds(_length(given, most))


def _moment(given: Fields, now_us: int, most: int) -> int:
    if not (text := given.text("until", maximum=64)):
        return now_us
    try:
        until_us = parse_text(text)
    except (ValueError, OverflowError):
        given.complain("until", "must be an RFC 3339 time with an offset", "invalid")
        return now_us
    if not now_us < until_us <= now_us + seconds(most):
        given.complain("until", f"must lie in the future, {most // DAY} days ahead at most", "out_of_range")
    return until_us


def _length(given: Fields, most: int) -> int:
    asked = given.raw("for_seconds")
    if asked is None:
        return HOUR
    if isinstance(asked, int) and not isinstance(asked, bool) and MINUTE <= asked <= most:
        return asked
    given.complain("for_seconds", f"must be a whole number of seconds from {MINUTE} to {most}", "out_of_range")
    return HOUR


# Notices, policies and figures as callers read them.


def notice_document(view: NoticeView) -> dict[str, Any]:
    notice = view.standing.notice
    return {
        "notice_id": view.id,
        "person": view.person,
        "agent": view.agent,
        "channel": view.channel,
        "message": view.text,
        "state": str(view.state),
        "cell": view.cell,
        "urgency": str(view.urgency),
        "asked_urgency": str(notice.urgency),
        "category": notice.category,
        "thread": notice.thread,
        "supersedes": notice.key,
        "needs_ack": view.standing.asks,
        "created_at": to_text(view.created_us),
        "expires_at": _documents_moment(notice.expires_us),
        "until": _documents_moment(view.until_us),
        "reasons": list(dict.fromkeys(str(one.reason) for one in view.reasons)),
    }


def whole_notice_document(view: NoticeView) -> dict[str, Any]:
    """With what it was sent as, and every decision about it in order."""
    return notice_document(view) | {
        "sends": [_send(one) for one in view.sends],
        "decisions": [_decision(one) for one in view.decisions],
    }


def policy_document(policy: Policy | None, digest: str, rules: Rules, absences: Sequence[Absence]) -> dict[str, Any]:
    """`policy`: the person's own, null when there is none; `rules`: what counts, the household's policy in it."""
    return {
        "policy": policy_mapping(policy) if policy is not None else None,
        "hash": digest,
        "rules": policy_mapping(_as_policy(rules)),
        "away": [absence_mapping(one) for one in absences],
    }


def figures_document(figures: AttentionFigures) -> dict[str, Any]:
    return {
        "accepted": figures.accepted,
        "cells": dict(figures.cells),
        "states": dict(figures.states),
        "by_agent": dict(figures.by_agent),
        "unaccounted": list(figures.unaccounted),
    }


def comparison_document(made: Comparison) -> dict[str, Any]:
    """`difference` in words; `before` and `after` how often each was decided."""
    return {"difference": list(made.words), "before": _counted(made.before), "after": _counted(made.after)}


def _send(one: SendView) -> dict[str, Any]:
    send = one.send
    return {
        "kind": str(send.kind),
        "at": to_text(send.at_us),
        "person": send.person,
        "channel": send.channel,
        "outcome": str(send.outcome) if send.outcome is not None else None,
        "delivery_id": one.delivery_id,
    }


def _decision(one: Decision) -> dict[str, Any]:
    return {
        "at": to_text(one.at_us),
        "decision": str(one.kind),
        "until": _documents_moment(one.until_us),
        "reasons": [{"reason": str(why.reason), "until": _documents_moment(why.until_us)} for why in one.reasons],
        "policy_hash": one.policy_hash,
    }


def _counted(run: SimulatedRun) -> dict[str, int]:
    kinds = [str(one.kind) for one in run.decisions]
    return {kind: kinds.count(kind) for kind in sorted(set(kinds))}


def _as_policy(rules: Rules) -> Policy:
    return Policy(
        zone=rules.zone,
        quiet_hours=rules.quiet_hours,
        let_pass=rules.let_pass,
        slots=rules.slots,
        collect=rules.collect,
        budget=rules.budget,
        ceiling=rules.ceiling,
        agents=tuple(rules.agents.items()),
        categories=tuple(rules.categories.items()),
        escalation=rules.escalation,
        fallback=rules.fallback,
        repeat_seconds=rules.repeat_seconds,
        duplicate_seconds=rules.duplicate_us // SECOND_US,
        expires_seconds=None if rules.expires_us is None else rules.expires_us // SECOND_US,
        mandatory=rules.mandatory,
    )


def _documents_moment(us: int | None) -> str | None:
    return None if us is None else to_text(us)


# What the routes about attention answer.


class NoticeBody(BaseModel):
    notice_id: str
    person: str
    agent: str
    channel: str
    message: str
    state: str
    cell: str
    urgency: str
    asked_urgency: str
    category: str | None
    thread: str | None
    supersedes: str | None
    needs_ack: bool
    created_at: str
    expires_at: str | None
    until: str | None
    reasons: list[str]


class SendBody(BaseModel):
    kind: str
    at: str
    person: str
    channel: str
    outcome: str | None
    delivery_id: str | None


class WholeNoticeBody(NoticeBody):
    sends: list[SendBody]
    decisions: list[dict[str, Any]]


class NoticeAnswer(BaseModel):
    ok: bool
    notice: NoticeBody


class WholeNoticeAnswer(BaseModel):
    ok: bool
    notice: WholeNoticeBody


class NoticesAnswer(BaseModel):
    ok: bool
    notices: list[NoticeBody]


class NoticePage(BaseModel):
    ok: bool
    notices: list[NoticeBody]
    next_cursor: str | None


class PlanItemBody(BaseModel):
    at: str
    what: str
    where: str | None
    why: list[str]
    unless: str | None


class PlanAnswer(BaseModel):
    plan: list[PlanItemBody]


class PersonPlanItemBody(PlanItemBody):
    notice_id: str


class PersonPlanAnswer(BaseModel):
    plan: list[PersonPlanItemBody]


class PolicyAnswer(BaseModel):
    ok: bool
    person_id: str
    policy: dict[str, Any] | None
    hash: str
    rules: dict[str, Any]
    away: list[dict[str, Any]]


class PreviewAnswer(BaseModel):
    ok: bool
    difference: list[str]
    before: dict[str, int]
    after: dict[str, int]


class FiguresAnswer(BaseModel):
    ok: bool
    person_id: str
    accepted: int
    cells: dict[str, int]
    states: dict[str, int]
    by_agent: dict[str, int]
    unaccounted: list[str]


class MutedAnswer(BaseModel):
    ok: bool
    person_id: str
    muted: dict[str, str | None]
    until: str | None


class UnmutedAnswer(BaseModel):
    ok: bool
    person_id: str
    unmuted: dict[str, str | None]


class AwayAnswer(BaseModel):
    ok: bool
    person_id: str
    away: dict[str, Any] | None


# Notices over HTTP: look at one, see what will happen to it, acknowledge, snooze or withdraw it.


REFUSALS: Final = failures(400, 401, 403, 404, 409, 413, 422, 503)
NoticeId = Annotated[str, Path(min_length=1, max_length=64)]
Limit = Annotated[int, Query(ge=1, le=100)]
_EMPTY: Final[dict[str, Any]] = {"type": "object", "additionalProperties": False}


def notice_router(acts: AttentionActs) -> APIRouter:
    router = APIRouter(route_class=JsonRoute, tags=["attention"], responses=REFUSALS)
    _add_reading(router, acts)
    _add_acting(router, acts)
    return router


def _add_reading(router: APIRouter, acts: AttentionActs) -> None:
    @router.get("/v1/notices", operation_id="listNotices", summary="A person's notices, newest first")
    async def listed(
        caller: Caller,
        person: Annotated[
            str | None, Query(min_length=1, max_length=128, description="The caller by default; of the owner any.")
        ] = None,
        cell: Annotated[
            str | None, Query(max_length=32, description="held, in_a_digest, sent, waiting or not_sent.")
        ] = None,
        cursor: Annotated[str | None, Query(max_length=64, description="`next_cursor` of the page before.")] = None,
        limit: Limit = 50,
    ) -> NoticePage:
        found = await acts.notices(caller, person, cell=cell, limit=limit, before=cursor)
        following = found[-1]["notice_id"] if len(found) == limit else None
        return NoticePage(ok=True, notices=found, next_cursor=following)  # type: ignore[arg-type]

    @router.get(
        "/v1/notices/{notice_id}",
        operation_id="getNotice",
        summary="One notice, with every decision about it; of an agent its own",
    )
    async def one(notice_id: NoticeId, caller: Caller) -> WholeNoticeAnswer:
        return WholeNoticeAnswer(ok=True, notice=await acts.notice(caller, notice_id))  # type: ignore[arg-type]

    @router.get(
        "/v1/notices/{notice_id}/plan",
        operation_id="planNotice",
        summary="What will happen to a notice if no one does anything",
    )
    async def plan(notice_id: NoticeId, caller: Caller) -> PlanAnswer:
        return PlanAnswer(plan=await acts.notice_plan(caller, notice_id))  # type: ignore[arg-type]


def _add_acting(router: APIRouter, acts: AttentionActs) -> None:
    @router.post(
        "/v1/notices/{notice_id}/ack",
        operation_id="acknowledgeNotice",
        summary="Say that you have seen it, as the person it is for; twice is fine",
        openapi_extra=body(_EMPTY, required=False),
    )
    async def ack(request: Request, notice_id: NoticeId, caller: Caller) -> NoticeAnswer:
        nothing_but(await read_body(request))
        return _answer(await acts.ack(caller, notice_id))

    @router.post(
        "/v1/notices/{notice_id}/snooze",
        operation_id="snoozeNotice",
        summary="Show it later, as the person it is for; an hour, unless it says otherwise",
        openapi_extra=body(SNOOZE_BODY, required=False),
    )
    async def snooze(request: Request, notice_id: NoticeId, caller: Caller) -> NoticeAnswer:
        return _answer(await acts.snooze(caller, notice_id, await read_body(request)))

    @router.post(
        "/v1/notices/{notice_id}/withdraw",
        operation_id="withdrawNotice",
        summary="Take a notice of your own back; one that has left is recalled where the channel can",
        openapi_extra=body(_EMPTY, required=False),
    )
    async def withdraw(request: Request, notice_id: NoticeId, caller: Caller) -> NoticeAnswer:
        nothing_but(await read_body(request))
        return _answer(await acts.withdraw(caller, notice_id))

    @router.post(
        "/v1/notices/withdraw",
        operation_id="withdrawNotices",
        summary="Take back all that you sent with `supersedes` = `key`, also what has not come yet",
        openapi_extra=body(WITHDRAW_BODY),
    )
    async def withdraw_key(request: Request, caller: Caller) -> NoticesAnswer:
        found = await acts.withdraw_key(caller, read_key(await read_body(request)))
        return NoticesAnswer(ok=True, notices=found)  # type: ignore[arg-type]


async def read_body(request: Request) -> Any:
    """No body is an empty one."""
    written = await request.body()
    try:
        return json.loads(written) if written.strip() else {}
    except (ValueError, RecursionError):
        raise Refused(Code.INVALID_JSON, "the body is not JSON") from None


def nothing_but(body: Any) -> None:
    if body != {}:
        raise ValidationError.of([FieldError("body", "must be empty", "unknown_field")])


def _answer(notice: dict[str, Any]) -> NoticeAnswer:
    return NoticeAnswer(ok=True, notice=NoticeBody(**notice))


# What a person wants of their notices, over HTTP: the policy, mute, away, and the figures of what became of it.


LONGEST_REPLAY: Final = 90 * 86_400
PersonId = Annotated[str, Path(min_length=1, max_length=128, description="`owner` is the owner.")]
Replay = Annotated[int, Query(ge=1, le=LONGEST_REPLAY, description="How far back; a week by default.")]
_ROOT: Final = "/v1/people/{person_id}"


def attention_router(acts: AttentionActs) -> APIRouter:
    router = APIRouter(route_class=JsonRoute, tags=["attention"], responses=REFUSALS)
    _add_policy(router, acts)
    _add_looking(router, acts)
    _add_silence(router, acts)
    return router


def _add_policy(router: APIRouter, acts: AttentionActs) -> None:
    @router.get(
        f"{_ROOT}/attention",
        operation_id="getAttention",
        summary="A person's own policy, and what counts for them with the household's",
    )
    async def get(person_id: PersonId, caller: Caller) -> PolicyAnswer:
        return PolicyAnswer(ok=True, **await acts.policy(caller, person_id))

    @router.put(
        f"{_ROOT}/attention",
        operation_id="setAttention",
        summary="Set a person's policy; what is held is judged anew at once",
        openapi_extra=body(POLICY),
    )
    async def put(request: Request, person_id: PersonId, caller: Caller) -> PolicyAnswer:
        return PolicyAnswer(ok=True, **await acts.set_policy(caller, person_id, await _policy(request)))

    @router.delete(
        f"{_ROOT}/attention",
        operation_id="deleteAttention",
        summary="Take a person's own policy away: the household's alone counts",
    )
    async def delete(person_id: PersonId, caller: Caller) -> PolicyAnswer:
        return PolicyAnswer(ok=True, **await acts.set_policy(caller, person_id, None))


def _add_looking(router: APIRouter, acts: AttentionActs) -> None:
    @router.post(
        f"{_ROOT}/attention/preview",
        operation_id="previewAttention",
        summary="What this policy would have changed, over the notices that came; changes nothing",
        openapi_extra=body(POLICY),
    )
    async def preview(
        request: Request, person_id: PersonId, caller: Caller, replay_seconds: Replay = WEEK_SECONDS
    ) -> PreviewAnswer:
        shown = await acts.preview(caller, person_id, await _policy(request), replay_seconds)
        return PreviewAnswer(ok=True, **shown)

    @router.get(
        f"{_ROOT}/attention/figures",
        operation_id="countNotices",
        summary="How many notices came and where each of them is",
    )
    async def figures(person_id: PersonId, caller: Caller) -> FiguresAnswer:
        return FiguresAnswer(ok=True, **await acts.figures(caller, person_id))

    @router.get(
        f"{_ROOT}/attention/plan",
        operation_id="planPerson",
        summary="What will happen to a person's notices if no one does anything",
    )
    async def plan(person_id: PersonId, caller: Caller) -> PersonPlanAnswer:
        return PersonPlanAnswer(plan=await acts.person_plan(caller, person_id))  # type: ignore[arg-type]


def _add_silence(router: APIRouter, acts: AttentionActs) -> None:
    @router.post(
        f"{_ROOT}/mute",
        operation_id="mute",
        summary="Show nothing of an agent, a thread or a category for a while; an hour by default",
        openapi_extra=body(MUTE_BODY),
    )
    async def mute(request: Request, person_id: PersonId, caller: Caller) -> MutedAnswer:
        return MutedAnswer(ok=True, **await acts.mute(caller, person_id, await read_body(request)))

    @router.post(
        f"{_ROOT}/unmute",
        operation_id="unmute",
        summary="Let an agent, a thread or a category speak again",
        openapi_extra=body(UNMUTE_BODY),
    )
    async def unmute(request: Request, person_id: PersonId, caller: Caller) -> UnmutedAnswer:
        return UnmutedAnswer(ok=True, **await acts.unmute(caller, person_id, await read_body(request)))

    @router.post(
        f"{_ROOT}/away",
        operation_id="setAway",
        summary="Be away: notices wait, or go to the person who stands in",
        openapi_extra=body(AWAY_BODY),
    )
    async def away(request: Request, person_id: PersonId, caller: Caller) -> AwayAnswer:
        return AwayAnswer(ok=True, **await acts.away(caller, person_id, await read_body(request)))


async def _policy(request: Request) -> Any:
    """What is no object is refused as such; nothing at all takes no policy away here."""
    body = await read_body(request)
    return body if body is not None else []


# A person's policy or absence as it was sent, with the people it names looked up.


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


# The bodies of the routes about attention, for the OpenAPI document.


_TEXT: Final = {"type": "string"}
_URGENCY: Final = {"type": "string", "enum": [str(one) for one in URGENCIES]}
_COUNT: Final = {"type": "integer", "minimum": 0}
_CLOCK: Final = {"type": "string", "examples": ["07:00"]}
_UNTIL: Final = {"type": "string", "description": "RFC 3339 with an offset."}


def _object(required: tuple[str, ...] = (), /, **properties: Any) -> dict[str, Any]:
    needed = {"required": list(required)} if required else {}
    return {"type": "object", "additionalProperties": False, **needed, "properties": properties}


def _list(item: dict[str, Any]) -> dict[str, Any]:
    return {"type": "array", "items": item}


def _by_name(item: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "additionalProperties": item}


def _schemas_length(most: int) -> dict[str, Any]:
    return {"type": "integer", "minimum": MINUTE, "maximum": most, "description": "Instead of until; one hour."}


_SCHEMAS_WHAT: Final = dict.fromkeys(("agent", "thread", "category"), _TEXT)

WITHDRAW_BODY: Final = _object(("key",), key={**_TEXT, "maxLength": MAX_NAME_CHARACTERS})
SNOOZE_BODY: Final = _object(until=_UNTIL, for_seconds=_schemas_length(LONGEST_SNOOZE))
MUTE_BODY: Final = _object(
    **_SCHEMAS_WHAT,
    until={**_UNTIL, "description": f"RFC 3339 with an offset; of an agent also `{UNTIL_UNMUTED}`."},
    for_seconds=_schemas_length(LONGEST_MUTE),
)
UNMUTE_BODY: Final = _object(**_SCHEMAS_WHAT)
AWAY_BODY: Final = _object(
    back={"type": "boolean", "description": "Alone: no longer away."},
    **{"from": {**_UNTIL, "description": "RFC 3339 with an offset; now by default."}},
    until=_UNTIL,
    delegate={**_TEXT, "description": "Who stands in; without one everything waits."},
    let_pass=_list(_URGENCY),
    categories={**_list(_TEXT), "description": "What the delegate may see; everything by default."},
)
POLICY: Final = _object(
    preset={"type": "string", "enum": [str(one) for one in Preset]},
    zone={**_TEXT, "examples": ["Europe/Vienna"]},
    quiet_hours=_list(
        _object(
            ("from", "until"),
            **{"days": _list({"type": "string", "enum": list(DAYS)}), "from": _CLOCK, "until": _CLOCK},
        )
    ),
    let_pass=_list(_URGENCY),
    slots=_list(_CLOCK),
    collect=_object(("window_seconds",), window_seconds=_COUNT, most=_COUNT),
    budget=_object(per_hour=_COUNT, per_day=_COUNT),
    ceiling=_URGENCY,
    agents=_by_name(_object(ceiling=_URGENCY, critical={"type": "boolean"})),
    categories=_by_name(_object(ceiling=_URGENCY)),
    escalation=_list(_object(("after_seconds",), id=_TEXT, after_seconds=_COUNT, channel=_TEXT, person=_TEXT)),
    fallback=_list(_TEXT),
    repeat_seconds=_list(_COUNT),
    duplicate_seconds=_COUNT,
    expires_seconds=_COUNT,
    mandatory=_list(_TEXT),
)


def body(schema: dict[str, Any], *, required: bool = True) -> dict[str, Any]:
    return {"requestBody": {"required": required, "content": {"application/json": {"schema": schema}}}}


# `ack`, `snooze`, `mute`, `away` and `withdraw` as MCP tools: for whom, the token says.


PERSONS_TOOLS: Final = ("ack", "snooze", "mute", "away")  # in a person's name
AGENTS_TOOLS: Final = ("withdraw",)
_CHANGES: Final = ToolAnnotations(
    read_only_hint=False, destructive_hint=False, idempotent_hint=True, open_world_hint=False
)

ACK: Final = "Say that the person has seen a notice. Only with the person's own token; an agent's is refused."
SNOOZE: Final = (
    "Show a notice later: `until`, or after `for_seconds`; an hour by default. Only with the person's own token."
)
MUTE: Final = (
    "Show nothing of an `agent`, a `thread` or a `category`: `until`, or for `for_seconds`; an hour by default. "
    "Only with the person's own token."
)
AWAY: Final = (
    "The person is away `until` then: notices wait, or go to the `delegate`. `back` ends it. "
    "Only with the person's own token."
)
WITHDRAW: Final = (
    "Take back a message of your own that is no longer true: by its `notice_id`, or all that you sent with "
    "`supersedes` = `key`. What was not shown yet never is; what was shown is corrected where the channel can."
)


# Not validated by the framework, so that a wrong type gets our answer and not its.
Text = Annotated[str, SkipValidation, WithJsonSchema({"anyOf": [{"type": "string"}, {"type": "null"}]})]
Until = Annotated[
    str,
    SkipValidation,
    WithJsonSchema({"anyOf": [{"type": "string"}, {"type": "null"}], "description": "RFC 3339 with an offset"}),
]
Seconds = Annotated[Any, WithJsonSchema({"anyOf": [{"type": "integer", "minimum": MINUTE}, {"type": "null"}]})]
Back = Annotated[Any, WithJsonSchema({"anyOf": [{"type": "boolean"}, {"type": "null"}]})]
Names = Annotated[Any, WithJsonSchema({"anyOf": [{"type": "array", "items": {"type": "string"}}, {"type": "null"}]})]
Whose = Annotated[
    str,
    SkipValidation,
    WithJsonSchema({"anyOf": [{"type": "string"}, {"type": "null"}], "description": "the caller by default"}),
]


@dataclass(frozen=True, slots=True, kw_only=True)
class AttentionToolParts:
    """`verifier` knows the tokens of those who come to this server."""

    acts: AttentionActs
    verifier: Verifier

    def who(self, context: Context[Any, Any]) -> Principal:
        return caller(context, self.verifier)


def add_attention_tools(server: MCPServer[Any], parts: AttentionToolParts) -> None:
    _add_notice_tools(server, parts)
    _add_person_tools(server, parts)
    _add_withdraw(server, parts)


def _add_notice_tools(server: MCPServer[Any], parts: AttentionToolParts) -> None:
    @answered(failure_document)
    async def ack(context: Context[Any, Any], notice_id: Text = "") -> dict[str, Any]:
        return _done(notice=await parts.acts.ack(parts.who(context), _needed("notice_id", notice_id)))

    @answered(failure_document)
    async def snooze(
        context: Context[Any, Any], notice_id: Text = "", until: Until = "", for_seconds: Seconds = None
    ) -> dict[str, Any]:
        when = given_only({"until": until, "for_seconds": for_seconds})
        return _done(notice=await parts.acts.snooze(parts.who(context), _needed("notice_id", notice_id), when))

    server.add_tool(ack, description=ACK, annotations=_CHANGES)
    server.add_tool(snooze, description=SNOOZE, annotations=_CHANGES)


def _add_person_tools(server: MCPServer[Any], parts: AttentionToolParts) -> None:
    @answered(failure_document)
    async def mute(
        context: Context[Any, Any],
        agent: Text = "",
        thread: Text = "",
        category: Text = "",
        until: Until = "",
        for_seconds: Seconds = None,
        person: Whose = "",
    ) -> dict[str, Any]:
        what = {"agent": agent, "thread": thread, "category": category, "until": until, "for_seconds": for_seconds}
        return _done(**await parts.acts.mute(parts.who(context), _optional("person", person), given_only(what)))

    @answered(failure_document)
    async def away(
        context: Context[Any, Any],
        until: Until = "",
        delegate: Text = "",
        let_pass: Names = None,
        back: Back = None,
        person: Whose = "",
    ) -> dict[str, Any]:
        what = given_only({"until": until, "delegate": delegate, "let_pass": let_pass, "back": back})
        return _done(**await parts.acts.away(parts.who(context), _optional("person", person), what))

    server.add_tool(mute, description=MUTE, annotations=_CHANGES)
    server.add_tool(away, description=AWAY, annotations=_CHANGES)


def _add_withdraw(server: MCPServer[Any], parts: AttentionToolParts) -> None:
    @answered(failure_document)
    async def withdraw(context: Context[Any, Any], notice_id: Text = "", key: Text = "") -> dict[str, Any]:
        one, several = _optional("notice_id", notice_id), _optional("key", key)
        if (one is None) == (several is None):
            raise ValidationError.of([FieldError("notice_id", "either this or a key is needed", "required")])
        if one is not None:
            return _done(notices=[await parts.acts.withdraw(parts.who(context), one)])
        return _done(notices=await parts.acts.withdraw_key(parts.who(context), several or ""))

    server.add_tool(withdraw, description=WITHDRAW, annotations=_CHANGES)


def _done(**answer: Any) -> dict[str, Any]:
    return {"ok": True, **answer}


def _needed(name: str, value: object) -> str:
    if (given := _optional(name, value)) is None:
        raise ValidationError.of([FieldError(name, "is required", "required")])
    return given


def _optional(name: str, value: object) -> str | None:
    given = Fields({name: value if value != "" else None})
    text = given.optional_text(name, maximum=MAX_NAME_CHARACTERS)
    given.finish()
    return text


# Who may do what about notices.
#
# acting for a person that person with a token of their own, and the owner: acknowledge, snooze, mute, away, policy.
# No butler, program or connector may: an agent must not silence what others have to say to a person, nor say in a
# person's name that something was seen. A notice that reached another person, as a step of an escalation or standing
# in, that person acknowledges or snoozes, too. reading the same people; an agent sees its own notices, one at a time,
# by their ids. withdrawing the agent whose notice it is, and the owner.


@dataclass(frozen=True, slots=True)
class WhoMay:
    """`decides`: whose token is a person's own."""

    decides: Rule

    def act_for(self, caller: Principal, person: str) -> None:
        if not self.decides(caller):
            raise Refused(Code.POLICY_DENIED, f"{caller} may not do this: it needs a person's own token")
        if not caller.is_owner and caller.name != person:
            raise Refused(Code.POLICY_DENIED, f"{caller} may not do this for another person")

    def see(self, caller: Principal, view: NoticeView) -> bool:
        return self._concerns(caller, view) or view.agent == sender_of(caller)

    def act_on(self, caller: Principal, view: NoticeView) -> None:
        """What an agent sees is its own, so it hears why not."""
        if not self._concerns(caller, view):
            self.act_for(caller, view.person)

    def withdraws_as(self, caller: Principal, view: NoticeView | None) -> str:
        """In whose name; of a key it is always the caller's own."""
        if view is not None and caller.is_owner:
            return view.agent
        if (sender := sender_of(caller)) is None:
            raise Refused(Code.POLICY_DENIED, f"{caller} sends no messages of its own")
        return sender

    def _concerns(self, caller: Principal, view: NoticeView) -> bool:
        people = {view.person, *(person for person, _ in view.standing.reached)}
        return self.decides(caller) and (caller.is_owner or caller.name in people)


def no_such_notice() -> Refused:
    return Refused(Code.NOT_FOUND, "there is no such notice")
