"""How notices, reasons, decisions and policies are said to a person."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final

from postroom.domain.attention import Because, HoldReason
from postroom.domain.notice_states import NoticeState
from postroom.domain.risk_and_urgency import Urgency
from postroom.domain.spoken_time import duration
from postroom.domain.time import to_datetime
from postroom.domain.wall_clock import known_zone
from postroom.doors.console.attention_week import span_words
from postroom.work.attention.decisions import DecisionKind
from postroom.work.attention.policy import DAYS, EscalationStep, Policy, Preset, QuietWindow
from postroom.work.attention.why import REASONS

_B, _K, _S = Because, DecisionKind, NoticeState

CELL_WORDS: Final = {
    "held": "held",
    "in_a_digest": "in a digest",
    "waiting": "waiting for an OK",
    "escalated": "escalated",
    "sent": "sent",
    "not_sent": "not sent",
}
STATE_WORDS: Final = {
    _S.ACCEPTED: ("Just accepted", "wait"),
    _S.HELD: ("Held", "ask"),
    _S.DIGESTING: ("Leaving in a digest", "wait"),
    _S.RELEASED: ("Leaving", "wait"),
    _S.SENT: ("Sent", "good"),
    _S.DIGESTED: ("Sent in a digest", "good"),
    _S.WAITING: ("Waiting for an OK", "ask"),
    _S.ACKNOWLEDGED: ("OK", "good"),
    _S.UNANSWERED: ("Never answered", "bad"),
    _S.MUTED: ("Muted", "wait"),
    _S.MERGED: ("Merged with another", "wait"),
    _S.WITHDRAWN: ("Withdrawn", "wait"),
    _S.RECALLED: ("Recalled", "warn"),
    _S.EXPIRED: ("Too old to be sent", "warn"),
    _S.UNDELIVERABLE: ("Could not be delivered", "bad"),
    _S.REFUSED: ("Refused by a person", "bad"),
}
# As everywhere, but to be read by the person themselves as well as by the owner.
REASON_WORDS: Final = REASONS | {
    _B.QUIET: "quiet hours",
    _B.SNOOZE: "put off by the person",
    _B.SLOT: "it can wait for the next set time",
    _B.AWAY: "the person is away",
    _B.MUTED: "muted by the person",
    _B.STEP: "the next step of the escalation",
    _B.REPEAT: "repeated until there is an OK",
}
DECISION_WORDS: Final = {
    _K.HOLD: ("Held", "ask"),
    _K.JOIN_DIGEST: ("Put into the next digest", "ask"),
    _K.RELEASE: ("Sent on its way", "good"),
    _K.DELEGATE: ("Sent to the person who stands in", "good"),
    _K.CLOSE_DIGEST: ("Sent on its way in a digest", "good"),
    _K.MERGE: ("Merged with another", "plain"),
    _K.MUTE: ("Not sent: muted", "plain"),
    _K.EXPIRE: ("Not sent: too old", "warn"),
    _K.WITHDRAW: ("Withdrawn", "plain"),
    _K.REPEAT: ("Repeated", "warn"),
    _K.ESCALATE: ("Escalated", "warn"),
    _K.GIVE_UP: ("Given up: no one answered", "bad"),
    _K.FAIL: ("Given up: no way was left", "bad"),
    _K.CORRECT: ("Corrected after it was sent", "warn"),
}
COMING_WORDS: Final = {
    _K.HOLD: "waits on",
    _K.JOIN_DIGEST: "goes into the next digest",
    _K.RELEASE: "leaves",
    _K.DELEGATE: "leaves for the person who stands in",
    _K.CLOSE_DIGEST: "leaves in a digest",
    _K.MERGE: "is merged with another",
    _K.MUTE: "is not sent: muted",
    _K.EXPIRE: "is not sent: too old by then",
    _K.WITHDRAW: "is withdrawn",
    _K.REPEAT: "is repeated",
    _K.ESCALATE: "is escalated",
    _K.GIVE_UP: "is given up: no one answered",
    _K.FAIL: "is given up: no way is left",
    _K.CORRECT: "is corrected",
}
URGENCY_WORDS: Final = {
    Urgency.PASSIVE: "can wait",
    Urgency.NORMAL: "ordinary",
    Urgency.TIME_SENSITIVE: "urgent",
    Urgency.CRITICAL: "critical",
}
PRESET_WORDS: Final = {
    Preset.EVERYTHING: ("Everything", "Everything leaves at once. Only quiet hours hold it."),
    Preset.CALM: (
        "Calm",
        "An agent's first message leaves at once; what it says in the ten minutes after is collected into one. What "
        "can wait comes at 08:00, 12:30 and 18:00. One agent may interrupt 6 times an hour and 20 times a day.",
    ),
    Preset.FOCUS: (
        "Focus",
        "Like calm, and ordinary messages wait for the set times, too. Only what is urgent interrupts.",
    ),
}
_ELSEWHERE: Final = ("collect", "categories", "repeat_seconds", "duplicate_seconds", "expires_seconds", "mandatory")


def local_time(at_us: int, zone: str) -> str:
    return to_datetime(at_us).astimezone(known_zone(zone)).strftime("%a %-d %b %Y, %H:%M")


def reason_words(reasons: Iterable[HoldReason], zone: str, said_us: int | None = None) -> list[str]:
    """The latest first: that is the one which binds. `said_us`: a moment that stands beside them already."""
    ordered = sorted(reasons, key=lambda one: -(one.until_us or 0))
    return [_reason(one, zone, said_us) for one in ordered]


def _reason(one: HoldReason, zone: str, said_us: int | None) -> str:
    is_new = one.until_us is not None and one.until_us != said_us
    until = f", until {local_time(one.until_us, zone)}" if is_new and one.until_us is not None else ""
    return REASON_WORDS[one.reason] + until


def window_words(window: QuietWindow) -> str:
    if window.days is None or set(window.days) == set(DAYS):
        days = "every day"
    else:
        days = ", ".join(day.capitalize() for day in DAYS if day in window.days)
    return f"{days} {span_words(window)}"


def policy_words(policy: Policy) -> list[tuple[str, str]]:
    """What is set, each with its name; what is not set is not said."""
    found = [
        ("Preset", PRESET_WORDS[policy.preset][0] if policy.preset else ""),
        ("Time zone", policy.zone or ""),
        ("Quiet hours", _listed(policy.quiet_hours, window_words)),
        ("Pass through quiet hours", _listed(policy.let_pass, lambda one: URGENCY_WORDS[one])),
        ("Set times", _listed(policy.slots, lambda one: one.isoformat("minutes"))),
        ("Interruptions by one agent", _budget_words(policy)),
        ("At most", URGENCY_WORDS[policy.ceiling] if policy.ceiling else ""),
        ("Agents", "; ".join(_agent_words(policy))),
        ("Escalation", _listed(policy.escalation, _step_words)),
        ("If a channel is down", _listed(policy.fallback, str)),
        ("Also set", ", ".join(name for name in _ELSEWHERE if getattr(policy, name) is not None)),
    ]
    return [(name, words) for name, words in found if words]


def _listed(values: Sequence[Any] | None, say: Any) -> str:
    return "" if values is None else "; ".join(say(one) for one in values) or "none"


def _budget_words(policy: Policy) -> str:
    budget = policy.budget
    if budget is None:
        return ""
    limits = ((budget.per_hour, "an hour"), (budget.per_day, "a day"))
    return ", ".join(f"{most} {each}" for most, each in limits if most is not None)


def _agent_words(policy: Policy) -> Iterable[str]:
    for name, rule in policy.agents or ():
        said = [f"at most {URGENCY_WORDS[rule.ceiling]}"] if rule.ceiling else []
        said += ["may be critical"] if rule.critical else []
        if said:
            yield f"{name} {' and '.join(said)}"


def _step_words(step: EscalationStep) -> str:
    return f"after {duration(step.after_seconds)} {'by ' + step.channel if step.channel else 'to ' + str(step.person)}"
