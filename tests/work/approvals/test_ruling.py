"""What a decision comes to."""

from __future__ import annotations

import pytest
from tests.clock import START_US
from tests.work.approvals.parked import HOUR_US, content, pending_action

from postroom.domain.approval import Action, ActionStatus, Ruling
from postroom.work.approvals.ruling import approval, expiration, rejection

NOW = START_US + HOUR_US


def approve(action: Action, seen_hash: str | None = None, now_us: int = NOW) -> Ruling:
    return approval(action, actor="user:ann", now_us=now_us, seen_hash=seen_hash, content=action.content)


def code(ruling: Ruling) -> str | None:
    return ruling.refusal.code if ruling.refusal else None


def test_a_person_who_names_the_right_hash_is_heard() -> None:
    action = pending_action()

    ruling = approve(action, action.content_hash)

    assert ruling.decision is not None and ruling.decision.status is ActionStatus.APPROVED
    assert ruling.decision.content == action.content
    assert ruling.refusal is None


def test_a_hash_of_something_else_is_refused_and_worth_a_line_in_the_audit() -> None:
    ruling = approve(pending_action(), content(message="other").hash)

    assert (code(ruling), ruling.decision) == ("hash_mismatch", None)
    assert ruling.refused == ("user:ann", NOW)


def test_a_changed_byte_in_the_ledger_is_refused_even_when_nobody_names_a_hash() -> None:
    ruling = approve(pending_action(content=content(message="See you at nine")))

    assert (code(ruling), ruling.decision) == ("content_changed", None)


@pytest.mark.parametrize("late_us", [0, 1, 1000 * HOUR_US])
def test_from_the_moment_of_expiry_every_decision_is_too_late_and_ends_the_action(late_us: int) -> None:
    action = pending_action()
    now = action.expires_at_us + late_us

    for ruling in (
        approve(action, action.content_hash, now),
        rejection(action, actor="user:ann", now_us=now, reason="no"),
    ):
        assert code(ruling) == "too_late"
        assert ruling.decision is not None and ruling.decision.status is ActionStatus.EXPIRED


def test_one_moment_before_the_expiry_is_in_time() -> None:
    action = pending_action()

    assert approve(action, now_us=action.expires_at_us - 1).refusal is None


@pytest.mark.parametrize("status", [one for one in ActionStatus if one is not ActionStatus.PENDING])
def test_a_decision_is_taken_once(status: ActionStatus) -> None:
    action = pending_action(status=status, decided_by="user:bob", decided_at_us=NOW)

    for ruling in (approve(action), rejection(action, actor="user:ann", now_us=NOW, reason="no")):
        assert (code(ruling), ruling.decision) == ("already_decided", None)


def test_the_sender_is_told_why_it_was_not_sent() -> None:
    rejected = rejection(pending_action(), actor="user:ann", now_us=NOW, reason="not today").decision
    expired = expiration(pending_action(), NOW)

    assert rejected is not None
    assert rejected.failure == "a person rejected this message: not today"
    assert expired.failure == "nobody approved this message within 48 hours"
