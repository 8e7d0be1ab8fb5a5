"""When a person may be shown a question, and until when it then waits."""

from __future__ import annotations

from postroom.domain.question import Urgency
from postroom.work.attention.quiet import after_open_time
from postroom.work.attention.rules import Rules


def shown_at(rules: Rules, urgency: Urgency, now_us: int) -> int:
    """Now, or when quiet hours end."""
    return rules.quiet_until(urgency, now_us) or now_us


def open_deadline(rules: Rules, urgency: Urgency, asked_us: int, deadline_us: int) -> int:
    """The deadline, later by all the quiet time before it: it does not run out while the person is not shown it."""
    if rules.passes(urgency):
        return deadline_us
    return after_open_time(rules.quiet_hours, rules.zone, asked_us, max(deadline_us - asked_us, 0))
