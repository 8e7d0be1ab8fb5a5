"""What the person who decides is shown."""

from __future__ import annotations

from dataclasses import replace

from tests.clock import START_US
from tests.work.approvals.parked import content, pending_action

from postroom.approvals.card import detail, rule_shape, summary, warnings
from postroom.approvals.model import (
    ActionStatus,
    ApprovalEvent,
    ApprovalEventType,
    Constraint,
    ConstraintKind,
    StandingRule,
)


def test_a_summary_hides_nothing_and_promises_no_more_than_a_preview() -> None:
    long = content(message="a\u202e" + "x" * 500, address="p\u0430ypal")

    shown = summary(pending_action(content=long, content_hash=long.hash))

    assert shown["preview"] == "a⟦U+202E RIGHT-TO-LEFT OVERRIDE⟧" + "x" * 198
    assert shown["recipient"] == "p\u0430⟦U+0430 CYRILLIC SMALL LETTER A⟧ypal"
    assert "decided_by" not in shown


def test_a_decided_action_says_by_whom() -> None:
    shown = summary(pending_action(status=ActionStatus.REJECTED, decided_by="user:ann", decided_at_us=START_US))

    assert (shown["decided_by"], shown["decided_at"]) == ("user:ann", "2026-01-01T00:00:00.000000Z")


def test_the_detail_is_exact_and_says_when_somebody_changed_the_row() -> None:
    event = ApprovalEvent(id="e", type=ApprovalEventType.ACTION_QUEUED, actor="butler:general", at_us=START_US)
    action = pending_action()

    shown = detail(action, [event])
    changed = detail(replace(action, content=content(message="other")), [])

    assert shown["content"]["message"] == shown["visible"]["message"] == action.content.message
    assert (shown["intact"], changed["intact"]) == (True, False)
    assert [one["type"] for one in shown["events"]] == ["action_queued"]


def test_warnings_name_the_field_and_the_place() -> None:
    assert warnings(content(subject="ab\u200b")) == [
        {"field": "subject", "kind": "invisible", "character": "U+200B ZERO WIDTH SPACE", "position": 2}
    ]


def test_a_rule_is_shown_as_it_can_be_written() -> None:
    constraints = {"channel": Constraint(ConstraintKind.ANY), "recipient": Constraint(ConstraintKind.EXACT, "5")}
    rule = StandingRule(id="r", constraints=constraints, description="d", created_by="operator", created_at_us=START_US)

    shown = rule_shape(rule, START_US)

    assert shown["constraints"] == {"channel": {"type": "any"}, "recipient": {"type": "exact", "value": "5"}}
    assert (shown["active"], shown["specificity"], shown["expires_at"]) == (True, 2, None)
