"""What a decision sends, as a message that does not change any more."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from postroom.domain.delivery import Format
from postroom.domain.ids import DeliveryId
from postroom.domain.outgoing import SEVERAL_AGENTS, Outgoing
from postroom.work.attention.decisions import Decision, DecisionKind
from postroom.work.attention.digest import Digest, render
from postroom.work.attention.state import AttentionState

ORIGIN: Final = "attention"  # in whose name several agents speak at once
_MAIL: Final = "email"


def frozen_message(
    state: AttentionState,
    decision: Decision,
    messages: Mapping[str, Outgoing],
    revises: DeliveryId | None = None,
) -> Outgoing:
    """
    Under the send's own key, so that the ledger keeps one delivery however often it is handed over.

    `revises`: the delivery it changes where the channel can; files and buttons need a message of their own.
    """
    message = _message(state, decision, messages)
    if revises is not None and not message.attachments and message.markup is None:
        message = replace(message, revises=revises, deletes=decision.kind is DecisionKind.CORRECT)
    return replace(message, idempotency_key=decision.send, released=True, wish=None)


def _message(state: AttentionState, decision: Decision, messages: Mapping[str, Outgoing]) -> Outgoing:
    if decision.digest is not None and len(decision.digest.members) > 1:
        return _digest(decision.digest, messages)
    placed = _placed(state, decision, messages[decision.notice])
    if decision.kind is DecisionKind.CORRECT:
        return _corrected(state, decision, placed)
    return placed


def _placed(state: AttentionState, decision: Decision, asked: Outgoing) -> Outgoing:
    """As it was asked for where it goes where it was meant to; elsewhere to the person, by id."""
    notice = state.notices[decision.notice].notice
    person, channel = decision.person or notice.person, decision.channel or notice.channel
    if (person, channel) == (notice.person, notice.channel):
        return asked
    markup = asked.markup if channel == notice.channel else None  # another channel may have no buttons
    return replace(asked, channel=channel, recipient=person, markup=markup)


def _corrected(state: AttentionState, decision: Decision, placed: Outgoing) -> Outgoing:
    text = f"Withdrawn: {state.notices[decision.notice].notice.text}"
    return replace(placed, message=text, format=Format.PLAIN, attachments=(), markup=None)


def _digest(digest: Digest, messages: Mapping[str, Outgoing]) -> Outgoing:
    agents = sorted({messages[name].origin_butler for name in digest.members})
    return Outgoing(
        origin_butler=ORIGIN,
        asker=SEVERAL_AGENTS.join(agents),
        channel=digest.channel,
        recipient=digest.person,
        message=render(digest, [messages[name] for name in digest.members]),
        subject=f"{len(digest.members)} notices" if digest.channel == _MAIL else None,
    )
