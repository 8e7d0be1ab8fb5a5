"""Notices, policies and figures as callers read them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from postroom.domain.time import SECOND_US, to_text
from postroom.work.attention.absence import Absence, absence_mapping
from postroom.work.attention.decisions import Decision
from postroom.work.attention.policy import Policy, policy_mapping
from postroom.work.attention.rules import Rules
from postroom.work.attention.simulate import SimulatedRun
from postroom.work.attention.views import AttentionFigures, Comparison, NoticeView, SendView


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
        "expires_at": _moment(notice.expires_us),
        "until": _moment(view.until_us),
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
        "until": _moment(one.until_us),
        "reasons": [{"reason": str(why.reason), "until": _moment(why.until_us)} for why in one.reasons],
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


def _moment(us: int | None) -> str | None:
    return None if us is None else to_text(us)
