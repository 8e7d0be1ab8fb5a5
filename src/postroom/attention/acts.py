"""What callers do about notices, and what people want of theirs."""

from __future__ import annotations

import re
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any, Final

from pydantic import AfterValidator, AliasPath, BeforeValidator, Field

from postroom.attention.model import DAYS, Preset, policy_mapping
from postroom.attention.rules.policy import Absence, absence_mapping
from postroom.kernel.acts.declaration import (
    CHANGES,
    Act,
    Answer,
    Call,
    Command,
    CommandOption,
    Complain,
    HttpRoute,
    Shape,
    Tool,
    act,
    said,
)
from postroom.kernel.acts.reading import At, Moment, Name, PageCursor, Whatever, judged, moment_or
from postroom.kernel.values.errors import Mistyped
from postroom.kernel.values.fields import Document
from postroom.kernel.values.ids import seconds, to_text
from postroom.kernel.values.principal import EVERYONE, OWNER, PEOPLE
from postroom.message.wishes import URGENCIES, Urgency

if TYPE_CHECKING:
    from postroom.attention.desk import AttentionDesk
    from postroom.attention.reading import NoticeView
    from postroom.attention.rules.simulate import SimulatedRun

    Desk = Call[AttentionDesk]

MINUTE: Final = 60
HOUR: Final = 3600
_DAY: Final = 86_400
WEEK_SECONDS: Final = 7 * _DAY
LONGEST_SNOOZE: Final = 90 * _DAY
LONGEST_MUTE: Final = 30 * _DAY
_LONGEST_REPLAY: Final = 90 * _DAY
UNTIL_UNMUTED: Final = "unmuted"
_TAG: Final = "attention"
_PERSON: Final = "A name, an alias or an id; by default the caller."
_NOTICE_ID: Final = "From the answer of `notify`."
_UNTIL: Final = "RFC 3339 with an offset."
_OWNER: Final = {"person": OWNER}

NoticeId = Annotated[str, Field(min_length=1, max_length=64)]
PersonName = Annotated[str, Field(min_length=1, max_length=128)]
MutedUntil = Annotated[str, Field(max_length=64), AfterValidator(moment_or(UNTIL_UNMUTED))]


# -- Answers --


Reasons = Annotated[
    list[str], BeforeValidator(lambda reasons: [*dict.fromkeys(str(getattr(one, "reason", one)) for one in reasons)])
]


def _of_notice(name: str) -> Any:
    return Field(validation_alias=AliasPath("standing", "notice", name))


class NoticeBody(Shape):
    notice_id: str = Field(validation_alias="id")
    person: str
    agent: str
    channel: str = _of_notice("channel")
    message: str = _of_notice("text")
    state: str
    cell: str
    urgency: str
    asked_urgency: str = _of_notice("urgency")
    category: str | None = _of_notice("category")
    thread: str | None = _of_notice("thread")
    supersedes: str | None = _of_notice("key")
    needs_ack: bool = Field(validation_alias=AliasPath("standing", "asks"))
    created_at: At = Field(validation_alias="created_us")
    expires_at: At | None = _of_notice("expires_us")
    until: At | None = Field(validation_alias="until_us")
    reasons: Reasons


def _of_send(name: str) -> Any:
    return Field(validation_alias=AliasPath("send", name))


class SendBody(Shape):
    kind: str = _of_send("kind")
    at: At = _of_send("at_us")
    person: str = _of_send("person")
    channel: str = _of_send("channel")
    outcome: str | None = _of_send("outcome")
    delivery_id: str | None


class ReasonBody(Shape):
    reason: str
    until: At | None = Field(validation_alias="until_us")


class DecisionBody(Shape):
    at: At = Field(validation_alias="at_us")
    decision: str = Field(validation_alias="kind")
    until: At | None = Field(validation_alias="until_us")
    reasons: list[ReasonBody]
    policy_hash: str


class WholeNoticeBody(NoticeBody):
    """With what it was sent as, and every decision about it in order."""

    sends: list[SendBody]
    decisions: list[DecisionBody]


class NoticeAnswer(Shape):
    ok: bool = True
    notice: NoticeBody


class WholeNoticeAnswer(Shape):
    ok: bool = True
    notice: WholeNoticeBody


class NoticesAnswer(Shape):
    ok: bool = True
    notices: list[NoticeBody]


class NoticePage(Shape):
    ok: bool = True
    notices: list[NoticeBody]
    next_cursor: str | None


class PlanItemBody(Shape):
    at: At = Field(validation_alias="at_us")
    what: str
    where: str | None
    why: Reasons
    unless: str | None


class PlanAnswer(Shape):
    plan: list[PlanItemBody]


class PersonPlanItemBody(PlanItemBody):
    notice_id: str = Field(validation_alias="notice")


class PersonPlanAnswer(Shape):
    plan: list[PersonPlanItemBody]


class PolicyAnswer(Shape):
    ok: bool = True
    person_id: str
    policy: Document | None
    hash: str
    rules: Document
    away: list[Document]


class PreviewAnswer(Shape):
    ok: bool = True
    difference: list[str]
    before: dict[str, int]
    after: dict[str, int]


class FiguresAnswer(Shape):
    ok: bool = True
    person_id: str
    accepted: int
    cells: dict[str, int]
    states: dict[str, int]
    by_agent: dict[str, int]
    unaccounted: list[str]


class MutedAnswer(Shape):
    ok: bool = True
    person_id: str
    muted: dict[str, str | None]
    until: At | None


class UnmutedAnswer(Shape):
    ok: bool = True
    person_id: str
    unmuted: dict[str, str | None]


class AwayAnswer(Shape):
    ok: bool = True
    person_id: str
    away: Document | None


def notice_body(view: NoticeView) -> NoticeBody:
    return NoticeBody.model_validate(view)


def _moment(us: int | None) -> str | None:
    return None if us is None else to_text(us)


# -- One notice: look at it, see what will happen to it, acknowledge, snooze or withdraw it --


@act(by=EVERYONE, route=HttpRoute("GET /v1/notices", _TAG))
class ListNotices(Act[NoticePage]):
    """A person's notices, newest first"""

    person: PersonName | None = said("The caller by default; of the owner any.")
    cell: Annotated[str, Field(max_length=32)] | None = said("held, in_a_digest, sent, waiting or not_sent.")
    cursor: PageCursor | None = said("`next_cursor` of the page before.")
    limit: Annotated[int, Field(ge=1, le=100)] = said("How many.", 50)

    async def do(self, call: Desk) -> NoticePage:
        person = await call.work.person(call.caller, self.person)
        found = await call.work.attention.notices(person, self.cell, self.limit, self.cursor)
        following = found[-1].id if len(found) == self.limit else None
        return NoticePage(notices=[notice_body(one) for one in found], next_cursor=following)


class _OfNotice(Act[Answer]):
    notice_id: NoticeId = said(_NOTICE_ID, ...)


@act(by=EVERYONE, route=HttpRoute("GET /v1/notices/{notice_id}", _TAG))
class GetNotice(_OfNotice[WholeNoticeAnswer]):
    """One notice, with every decision about it; of an agent its own"""

    async def do(self, call: Desk) -> WholeNoticeAnswer:
        return WholeNoticeAnswer(
            notice=WholeNoticeBody.model_validate(await call.work.seen(call.caller, self.notice_id))
        )


@act(by=EVERYONE, route=HttpRoute("GET /v1/notices/{notice_id}/plan", _TAG))
class PlanNotice(_OfNotice[PlanAnswer]):
    """What will happen to a notice if no one does anything"""

    async def do(self, call: Desk) -> PlanAnswer:
        await call.work.seen(call.caller, self.notice_id)
        found = await call.work.attention.plan(self.notice_id)
        return PlanAnswer(plan=[PlanItemBody.model_validate(one) for one in found])


@act(
    by=EVERYONE,
    tool=Tool("ack", CHANGES, by=PEOPLE, answers=("notice",)),
    route=HttpRoute("POST /v1/notices/{notice_id}/ack", _TAG, operation="acknowledgeNotice"),
    command=Command("attention ack", ("notice_id",), {"notice_id": CommandOption(metavar="NOTICE")}),
)
class AckNotice(_OfNotice[NoticeAnswer]):
    """Say that you have seen a notice, as the person it is for; nothing more is sent of it, and twice is fine"""

    async def do(self, call: Desk) -> NoticeAnswer:
        view = await call.work.theirs(call.caller, self.notice_id)
        return NoticeAnswer(notice=notice_body(await call.work.attention.ack(view.id, by=_by(call))))


@act(
    by=EVERYONE,
    tool=Tool("snooze", CHANGES, by=PEOPLE, answers=("notice",)),
    route=HttpRoute("POST /v1/notices/{notice_id}/snooze", _TAG),
    command=Command("attention snooze", ("notice_id",), {"notice_id": CommandOption(metavar="NOTICE")}),
)
class SnoozeNotice(_OfNotice[NoticeAnswer]):
    """Show a notice later, as the person it is for: `until`, or after `for_seconds`; an hour by default"""

    until: Moment | None = said(_UNTIL)
    for_seconds: Annotated[int, Field(ge=MINUTE, le=LONGEST_SNOOZE)] | None = said("Instead of until; an hour")

    def check(self, complain: Complain) -> None:
        _either(self.until, self.for_seconds, complain)

    async def do(self, call: Desk) -> NoticeAnswer:
        until_us = call.work.end(self.until, self.for_seconds or HOUR, LONGEST_SNOOZE, MINUTE)
        view = await call.work.theirs(call.caller, self.notice_id)
        return NoticeAnswer(notice=notice_body(await call.work.attention.snooze(view.id, until_us)))


@act(by=EVERYONE, route=HttpRoute("POST /v1/notices/{notice_id}/withdraw", _TAG))
class WithdrawNotice(_OfNotice[NoticeAnswer]):
    """Take a notice of your own back; one that has left is recalled where the channel can"""

    async def do(self, call: Desk) -> NoticeAnswer:
        (withdrawn,) = await call.work.withdraw(call.caller, self.notice_id, None)
        return NoticeAnswer(notice=notice_body(withdrawn))


@act(by=EVERYONE, route=HttpRoute("POST /v1/notices/withdraw", _TAG))
class WithdrawNotices(Act[NoticesAnswer]):
    """Take back all that you sent with `supersedes` = `key`, also what has not come yet"""

    key: Name = said("All that you sent with this `supersedes`.", ...)

    async def do(self, call: Desk) -> NoticesAnswer:
        return NoticesAnswer(
            notices=[notice_body(one) for one in await call.work.withdraw(call.caller, None, self.key)]
        )


def _by(call: Desk) -> str:
    return OWNER if call.caller.is_owner else call.caller.name


def _either(until: str | None, for_seconds: int | None, complain: Complain) -> None:
    if until is not None and for_seconds is not None:
        complain("until", "either this or for_seconds", "not_allowed")


# -- One person: policy, mute, away, and what became of their notices --

_TEXT: Final = {"type": "string"}
_URGENCY: Final = {"type": "string", "enum": [str(one) for one in URGENCIES]}
_COUNT: Final = {"type": "integer", "minimum": 0}
_CLOCK: Final = {"type": "string", "examples": ["07:00"]}


def _object(required: tuple[str, ...] = (), /, **properties: Any) -> Document:
    needed = {"required": list(required)} if required else {}
    return {"type": "object", "additionalProperties": False, **needed, "properties": properties}


def _list(item: Document) -> Document:
    return {"type": "array", "items": item}


def _by_name(item: Document) -> Document:
    return {"type": "object", "additionalProperties": item}


_DAYS: Final = _list({"type": "string", "enum": list(DAYS)})
_WINDOW: Final = _object(("from", "until"), **{"days": _DAYS, "from": _CLOCK, "until": _CLOCK})
_STEP: Final = _object(("after_seconds",), id=_TEXT, after_seconds=_COUNT, channel=_TEXT, person=_TEXT)
_AGENT: Final = _object(ceiling=_URGENCY, critical={"type": "boolean"})


class _OfPerson(Act[Answer]):
    """Of the owner any person; of another person themselves."""

    person: PersonName = said("A name, an alias or an id; the owner by default.", OWNER)


_COLLECT: Final = _object(("window_seconds",), window_seconds=_COUNT, most=_COUNT)


class _WithPolicy(_OfPerson[Answer]):
    """A policy as it is written: what it may hold, the rules of policies judge, here as in a file."""

    preset: Whatever = judged("What it begins with; the rest changes that.", type="string", enum=list(Preset))
    zone: Whatever = judged("Time zone of its hours.", type="string", examples=["Europe/Vienna"])
    quiet_hours: Whatever = judged("When notices wait.", **_list(_WINDOW))
    let_pass: Whatever = judged("How urgent a notice is that is shown all the same.", **_list(_URGENCY))
    slots: Whatever = judged("When digests are shown.", **_list(_CLOCK))
    collect: Whatever = judged("How long notices of a thread are collected.", **_COLLECT)
    budget: Whatever = judged("How many are shown at most.", **_object(per_hour=_COUNT, per_day=_COUNT))
    ceiling: Whatever = judged("How urgent a notice counts at most.", **_URGENCY)
    agents: Whatever = judged("Of single senders, by name.", **_by_name(_AGENT))
    categories: Whatever = judged("Of single categories, by name.", **_by_name(_object(ceiling=_URGENCY)))
    escalation: Whatever = judged("What follows while nobody has seen an urgent one.", **_list(_STEP))
    fallback: Whatever = judged("Channels, where the first does not work.", **_list(_TEXT))
    repeat_seconds: Whatever = judged("After how long what must be acknowledged is shown again.", **_list(_COUNT))
    duplicate_seconds: Whatever = judged("How long the same text counts as the same.", **_COUNT)
    expires_seconds: Whatever = judged("After how long what still waits is dropped.", **_COUNT)
    mandatory: Whatever = judged("Categories that cannot be muted.", **_list(_TEXT))

    def written(self) -> Document:
        return self.model_dump(include=set(_WithPolicy.model_fields) - {"person"}, exclude_unset=True)


def _quiet_window(text: str) -> dict[str, str]:
    """`22:00-07:00`; which hours there are is the policy's to say."""
    if (found := _HOURS.fullmatch(text.strip())) is None:
        raise Mistyped(f"--quiet: '{text}' is no pair of times; write it like 22:00-07:00.")
    return {"from": found[1], "until": found[2]}


_HOURS: Final = re.compile(r"(\d\d:\d\d)-(\d\d:\d\d)", re.ASCII)
_TYPED: Final = {
    "preset": CommandOption(words="everything, calm or focus; the rest stays."),
    "quiet_hours": CommandOption(
        ("--quiet",), _quiet_window, "Quiet hours, 22:00-07:00; may be given again. The rest stays."
    ),
    "zone": CommandOption(words="Time zone of these hours, such as Europe/Vienna."),
}
_WRITTEN: Final = set(_WithPolicy.model_fields) - {"person"}
SHOW: Final = Command("attention show", ("person",))
SET: Final = Command("attention set", ("person",), _TYPED, without=_WRITTEN - _TYPED.keys())
SIMULATE: Final = Command(
    "attention simulate", ("person",), {"replay_seconds": CommandOption(("--replay",))}, without=_WRITTEN
)


@act(by=EVERYONE, route=HttpRoute("GET /v1/people/{person}/attention", _TAG, absent=_OWNER), command=SHOW)
class GetAttention(_OfPerson[PolicyAnswer]):
    """A person's own policy, and what counts for them with the household's"""

    async def do(self, call: Desk) -> PolicyAnswer:
        return await _policy_answer(call, await call.work.person(call.caller, self.person))


@act(by=EVERYONE, route=HttpRoute("PUT /v1/people/{person}/attention", _TAG, absent=_OWNER), command=SET)
class SetAttention(_WithPolicy[PolicyAnswer]):
    """Set a person's policy; what is held is judged anew at once"""

    async def do(self, call: Desk) -> PolicyAnswer:
        person = await call.work.person(call.caller, self.person)
        await call.work.attention.set_policy(person, await call.work.policy(call.caller, person, self.written()))
        return await _policy_answer(call, person)


@act(by=EVERYONE, route=HttpRoute("DELETE /v1/people/{person}/attention", _TAG))
class DeleteAttention(_OfPerson[PolicyAnswer]):
    """Take a person's own policy away: the household's alone counts"""

    async def do(self, call: Desk) -> PolicyAnswer:
        person = await call.work.person(call.caller, self.person)
        await call.work.attention.set_policy(person, None)
        return await _policy_answer(call, person)


@act(
    by=EVERYONE,
    route=HttpRoute("POST /v1/people/{person}/attention/preview", _TAG, in_query=("replay_seconds",), absent=_OWNER),
    command=SIMULATE,
)
class PreviewAttention(_WithPolicy[PreviewAnswer]):
    """What this policy would have changed, over the notices that came; changes nothing"""

    replay_seconds: Annotated[int, Field(ge=1, le=_LONGEST_REPLAY)] = said(
        "How far back; a week by default.", WEEK_SECONDS
    )

    async def do(self, call: Desk) -> PreviewAnswer:
        person = await call.work.person(call.caller, self.person)
        policy = await call.work.policy(call.caller, person, self.written())
        made = await call.work.attention.simulate(person, policy, call.work.now_us - seconds(self.replay_seconds))
        return PreviewAnswer(difference=list(made.words), before=_counted(made.before), after=_counted(made.after))


@act(by=EVERYONE, route=HttpRoute("GET /v1/people/{person}/attention/figures", _TAG))
class CountNotices(_OfPerson[FiguresAnswer]):
    """How many notices came and where each of them is"""

    async def do(self, call: Desk) -> FiguresAnswer:
        person = await call.work.person(call.caller, self.person)
        return FiguresAnswer(person_id=person, **asdict(await call.work.attention.figures(person)))


@act(by=EVERYONE, route=HttpRoute("GET /v1/people/{person}/attention/plan", _TAG))
class PlanPerson(_OfPerson[PersonPlanAnswer]):
    """What will happen to a person's notices if no one does anything"""

    async def do(self, call: Desk) -> PersonPlanAnswer:
        found = await call.work.attention.person_plan(await call.work.person(call.caller, self.person))
        return PersonPlanAnswer(plan=[PersonPlanItemBody.model_validate(one) for one in found])


MUTE: Final = Command("attention mute", ("agent",))


class _Silence(Act[Answer]):
    """Of what: one of three."""

    person: PersonName | None = said(_PERSON)
    agent: Name | None = said("A butler's or a program's name.")
    thread: Name | None = said("As senders wrote it.")
    category: Name | None = said("As senders wrote it.")

    @property
    def what(self) -> dict[str, str | None]:
        return {"agent": self.agent, "thread": self.thread, "category": self.category}

    def check(self, complain: Complain) -> None:
        if not any(self.what.values()):
            complain("agent", "one of agent, thread and category is needed", "required")


@act(
    by=EVERYONE,
    tool=Tool("mute", CHANGES, by=PEOPLE, answers=("until",)),
    route=HttpRoute("POST /v1/people/{person}/mute", _TAG, absent=_OWNER),
    command=MUTE,
)
class Mute(_Silence[MutedAnswer]):
    """
    Show nothing of an `agent`, a `thread` or a `category` for a while: `until`, or for `for_seconds`; an hour by
    default
    """

    until: MutedUntil | None = said("RFC 3339 with an offset; of an agent also `unmuted`.")
    for_seconds: Annotated[int, Field(ge=MINUTE, le=LONGEST_MUTE)] | None = said("Instead of until; an hour")

    def check(self, complain: Complain) -> None:
        super().check(complain)
        _either(self.until, self.for_seconds, complain)
        if self.until == UNTIL_UNMUTED and self.agent is None:
            complain("until", "only an agent can be muted until it is unmuted", "not_allowed")

    async def do(self, call: Desk) -> MutedAnswer:
        until_us = None
        if self.until != UNTIL_UNMUTED:
            until_us = call.work.end(self.until, self.for_seconds or HOUR, LONGEST_MUTE)
        person = await call.work.person(call.caller, self.person)
        await call.work.attention.mute(person, **self.what, until_us=until_us)
        return MutedAnswer(person_id=person, muted=self.what, until=_moment(until_us))


@act(by=EVERYONE, route=HttpRoute("POST /v1/people/{person}/unmute", _TAG, absent=_OWNER))
class Unmute(_Silence[UnmutedAnswer]):
    """Let an agent, a thread or a category speak again"""

    async def do(self, call: Desk) -> UnmutedAnswer:
        person = await call.work.person(call.caller, self.person)
        await call.work.attention.unmute(person, **self.what)
        return UnmutedAnswer(person_id=person, unmuted=self.what)


@act(
    by=EVERYONE,
    route=HttpRoute("POST /v1/people/{person}/away", _TAG, absent=_OWNER),
    command=Command("attention away", ("person",), without=("start", "let_pass", "categories")),
)
class SetAway(Act[AwayAnswer]):
    """Be away: notices wait `until` then, or go to the person who stands in; `back` ends it"""

    person: PersonName | None = said(_PERSON)
    start: Moment | None = said("RFC 3339 with an offset; now by default.", alias="from")
    until: Moment | None = said(_UNTIL)
    for_seconds: Annotated[int, Field(ge=MINUTE)] | None = said("Instead of until.")
    delegate: Name | None = said("Who stands in; without one everything waits.")
    let_pass: list[Urgency] | None = said("How urgent a notice is that is shown all the same.")
    categories: list[Name] | None = said("What the delegate may see; everything by default.")
    back: bool | None = said("Alone: no longer away.")

    def check(self, complain: Complain) -> None:
        _either(self.until, self.for_seconds, complain)
        others = (self.start, self.until, self.for_seconds, self.delegate, self.let_pass, self.categories)
        if self.back and any(one is not None for one in others):
            complain("back", "is true and alone, or false", "not_allowed")
        elif not self.back and self.until is None and self.for_seconds is None:
            complain("until", "is required", "required")

    async def do(self, call: Desk) -> AwayAnswer:
        person = await call.work.person(call.caller, self.person)
        absence = None if self.back else await self._absence(call, person)
        await call.work.attention.away(person, absence)
        return AwayAnswer(person_id=person, away=None if absence is None else absence_mapping(absence))

    async def _absence(self, call: Desk, person: str) -> Absence:
        written = self.model_dump(
            mode="json", by_alias=True, exclude={"person", "for_seconds", "back"}, exclude_none=True
        )
        if self.for_seconds is not None:
            written["until"] = to_text(call.work.now_us + seconds(self.for_seconds))
        return await call.work.absence(call.caller, person, written)


async def _policy_answer(call: Desk, person: str) -> PolicyAnswer:
    """`policy`: the person's own, null when there is none; `rules`: what counts, the household's policy in it."""
    attention = call.work.attention
    policy, digest = await attention.policy(person)
    return PolicyAnswer(
        person_id=person,
        policy=policy_mapping(policy) if policy is not None else None,
        hash=digest,
        rules=(await attention.rules(person)).written(),
        away=[absence_mapping(one) for one in await attention.absences(person)],
    )


def _counted(run: SimulatedRun) -> dict[str, int]:
    """How often each was decided."""
    kinds = [str(one.kind) for one in run.decisions]
    return {kind: kinds.count(kind) for kind in sorted(set(kinds))}


ACTS: Final = (
    ListNotices,
    WithdrawNotices,
    GetNotice,
    PlanNotice,
    AckNotice,
    SnoozeNotice,
    WithdrawNotice,
    GetAttention,
    SetAttention,
    DeleteAttention,
    PreviewAttention,
    CountNotices,
    PlanPerson,
    Mute,
    Unmute,
    SetAway,
)
"""In the order of the routes: a path with a name in it stands after those that it would swallow."""
