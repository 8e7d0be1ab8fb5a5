"""What callers do about notices and the wishes of people, and the MCP tools that agents and people have for it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Final, Protocol

from mcp.server.mcpserver import Context, MCPServer
from mcp_types import ToolAnnotations
from pydantic import SkipValidation, WithJsonSchema

from postroom.attention.attention import Attention
from postroom.attention.model import Policy
from postroom.attention.reading import NoticeView
from postroom.attention.rules.policy import LONGEST_ABSENCE, Absence, absence_mapping, parse_absence, parse_policy
from postroom.attention.wire import (
    MINUTE,
    comparison_document,
    figures_document,
    given_only,
    notice_document,
    policy_document,
    read_mute,
    read_snooze,
    read_unmute,
    whole_notice_document,
)
from postroom.kernel.guard.http import Verifier
from postroom.kernel.guard.tools import Rule, caller, sender_of
from postroom.kernel.serving.json_door import answered
from postroom.kernel.values.errors import Code, FieldError, Refused, ValidationError, failure_document
from postroom.kernel.values.fields import Fields, text_problem
from postroom.kernel.values.ids import seconds, to_text
from postroom.kernel.values.principal import OWNER, Principal
from postroom.message.channel import KnownChannels
from postroom.message.wire import MAX_NAME_CHARACTERS
from postroom.people.model import Person
from postroom.questions.asked_people import in_reach, several

Document = dict[str, Any]
WEEK_SECONDS: Final = 7 * 86_400
_MOST_HOPS: Final = 20


# -- Who may do what about notices --


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


def _no_such_notice() -> Refused:
    return Refused(Code.NOT_FOUND, "there is no such notice")


# -- A person's policy or absence as it was sent, with the people it names looked up --


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


# -- The acts: who may, what they asked, and the answer, the same for every door --


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
            raise _no_such_notice()
        return view

    async def _theirs(self, caller: Principal, notice_id: str) -> NoticeView:
        view = await self._seen(caller, notice_id)
        self.may.act_on(caller, view)
        return view


def _by(caller: Principal) -> str:
    return OWNER if caller.is_owner else caller.name


# -- MCP tools: for whom, the token says --

PERSONS_TOOLS: Final = ("ack", "snooze", "mute", "away")  # in a person's name
AGENTS_TOOLS: Final = ("withdraw",)
_CHANGES: Final = ToolAnnotations(
    read_only_hint=False, destructive_hint=False, idempotent_hint=True, open_world_hint=False
)
_ACK: Final = "Say that the person has seen a notice. Only with the person's own token; an agent's is refused."
SNOOZE: Final = (
    "Show a notice later: `until`, or after `for_seconds`; an hour by default. Only with the person's own token."
)
_MUTE: Final = (
    "Show nothing of an `agent`, a `thread` or a `category`: `until`, or for `for_seconds`; an hour by default. "
    "Only with the person's own token."
)
_AWAY: Final = (
    "The person is away `until` then: notices wait, or go to the `delegate`. `back` ends it. "
    "Only with the person's own token."
)
_WITHDRAW: Final = (
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

    server.add_tool(ack, description=_ACK, annotations=_CHANGES)
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

    server.add_tool(mute, description=_MUTE, annotations=_CHANGES)
    server.add_tool(away, description=_AWAY, annotations=_CHANGES)


def _add_withdraw(server: MCPServer[Any], parts: AttentionToolParts) -> None:
    @answered(failure_document)
    async def withdraw(context: Context[Any, Any], notice_id: Text = "", key: Text = "") -> dict[str, Any]:
        one, several = _optional("notice_id", notice_id), _optional("key", key)
        if (one is None) == (several is None):
            raise ValidationError.of([FieldError("notice_id", "either this or a key is needed", "required")])
        if one is not None:
            return _done(notices=[await parts.acts.withdraw(parts.who(context), one)])
        return _done(notices=await parts.acts.withdraw_key(parts.who(context), several or ""))

    server.add_tool(withdraw, description=_WITHDRAW, annotations=_CHANGES)


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
