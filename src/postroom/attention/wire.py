"""Words of callers about notices as values, and notices, policies and figures as documents."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from postroom.attention.model import Decision, Policy, policy_mapping
from postroom.attention.reading import AttentionFigures, Comparison, NoticeView, SendView
from postroom.attention.rules.policy import Absence, Rules, absence_mapping
from postroom.attention.rules.simulate import SimulatedRun
from postroom.kernel.values.fields import Fields
from postroom.kernel.values.ids import SECOND_US, parse_text, seconds, to_text
from postroom.message.wire import MAX_NAME_CHARACTERS

MINUTE: Final = 60
HOUR: Final = 3600
_DAY: Final = 86_400
LONGEST_SNOOZE: Final = 90 * _DAY
LONGEST_MUTE: Final = 30 * _DAY
UNTIL_UNMUTED: Final = "unmuted"
_WHAT: Final = ("agent", "thread", "category")
_NAME: Final = 200


# -- Of when and of what: read with everything that is wrong with it --


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
        given.complain("until", f"must lie in the future, {most // _DAY} days ahead at most", "out_of_range")
    return until_us


def _length(given: Fields, most: int) -> int:
    asked = given.raw("for_seconds")
    if asked is None:
        return HOUR
    if isinstance(asked, int) and not isinstance(asked, bool) and MINUTE <= asked <= most:
        return asked
    given.complain("for_seconds", f"must be a whole number of seconds from {MINUTE} to {most}", "out_of_range")
    return HOUR


# -- Documents --


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


def policy_document(policy: Policy | None, digest: str, rules: Rules, absences: Sequence[Absence]) -> dict[str, Any]:
    """`policy`: the person's own, null when there is none; `rules`: what counts, the household's policy in it."""
    return {
        "policy": policy_mapping(policy) if policy is not None else None,
        "hash": digest,
        "rules": policy_mapping(_as_policy(rules)),
        "away": [absence_mapping(one) for one in absences],
    }


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


def _counted(run: SimulatedRun) -> dict[str, int]:
    kinds = [str(one.kind) for one in run.decisions]
    return {kind: kinds.count(kind) for kind in sorted(set(kinds))}


def _documents_moment(us: int | None) -> str | None:
    return None if us is None else to_text(us)
